// Options come before overrides, overrides before what the model says.
#include "core/generate/length_overrides.h"

namespace segue {

Lengths lengths_of(const StoredModel& stored, const LengthOptions& options, std::string_view source,
                   OptionNames names) {
  Lengths lengths{.tgt_len = options.tgt_len.value_or(stored.tgt_len),
                  .use = use_of(stored.model, options.set, option_name(names, "set"))};
  const auto refuse = [&](std::string_view key, std::string_view field) {
    refuse_override(options.set, key, option_name(names, field), option_name(names, "set"));
  };
  if (options.mem_len) refuse("model.mem_len", "mem_len");
  if (options.clamp_len) refuse("model.position.clamp_len", "clamp_len");
  if (options.same_length) {
    const bool is_negated = names == OptionNames::kFlags && !*options.same_length;
    refuse("model.visibility.same_length", is_negated ? "no_same_length" : "same_length");
  }
  ModelUse& use = lengths.use;
  use.mem_len = options.mem_len.value_or(use.mem_len);
  use.clamp_len = options.clamp_len.value_or(use.clamp_len);
  use.same_length = options.same_length.value_or(use.same_length);
  check_use(stored.model, use, lengths.tgt_len, source,
            options.mem_len ? option_name(names, "mem_len") : "model.mem_len");
  return lengths;
}

}  // namespace segue
