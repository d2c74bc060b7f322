// --tgt-len, --mem-len, --clamp-len, --same-length, --set.
#include "launch/segue/lengths.h"

#include "core/generate/lengths.h"
#include "launch/segue/options.h"

namespace segue {

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

}  // namespace segue
