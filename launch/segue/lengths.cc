// --tgt-len, --mem-len, --clamp-len, --same-length, --set.
#include "launch/segue/lengths.h"

#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr double kLongest = 1 << 20;  // as of the keys of a config

}  // namespace

void add_length_options(CLI::App& command, const std::shared_ptr<LengthOptions>& lengths) {
  command.add_option("--tgt-len", lengths->tgt_len, "Tokens per segment (default: as trained)")
      ->check(between(1, kLongest));
  command.add_option("--mem-len", lengths->mem_len, "Memory rows per layer (default: as trained)")
      ->check(between(0, kLongest));
  command.add_option("--clamp-len", lengths->clamp_len, "Largest distance told apart; 0: none (default: as trained)")
      ->check(between(0, kLongest));
  // As a function, since CLI11 makes an absent flag of std::optional false.
  command.add_flag_function(
      "--same-length,!--no-same-length", [lengths](int64_t count) { lengths->same_length = count > 0; },
      "Every query sees the same number of keys (default: as trained)");
  command
      .add_option("--set", lengths->set,
                  "KEY=VALUE in place of what the model's config says of its use, e.g. model.memory.initial=zeros")
      ->allow_extra_args(false);
}

Lengths lengths_of(const StoredModel& stored, const LengthOptions& options, std::string_view source) {
  Lengths lengths{.tgt_len = options.tgt_len.value_or(stored.tgt_len), .use = use_of(stored.model, options.set)};
  if (options.mem_len) refuse_override(options.set, "model.mem_len", "--mem-len");
  if (options.clamp_len) refuse_override(options.set, "model.position.clamp_len", "--clamp-len");
  if (options.same_length)
    refuse_override(options.set, "model.visibility.same_length",
                    *options.same_length ? "--same-length" : "--no-same-length");
  ModelUse& use = lengths.use;
  use.mem_len = options.mem_len.value_or(use.mem_len);
  use.clamp_len = options.clamp_len.value_or(use.clamp_len);
  use.same_length = options.same_length.value_or(use.same_length);
  check_use(stored.model, use, lengths.tgt_len, source, options.mem_len ? "--mem-len" : "model.mem_len");
  return lengths;
}

}  // namespace segue
