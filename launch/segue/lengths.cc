// --tgt-len, --mem-len, --clamp-len, --same-length.
#include "launch/segue/lengths.h"

#include "launch/segue/options.h"

namespace segue {

void add_length_options(CLI::App& command, const std::shared_ptr<LengthOptions>& lengths) {
  command.add_option("--tgt-len", lengths->tgt_len, "Tokens per segment (default: as trained)")->check(at_least(1));
  command.add_option("--mem-len", lengths->mem_len, "Memory rows per layer (default: as trained)")->check(at_least(0));
  command.add_option("--clamp-len", lengths->clamp_len, "Largest distance told apart; 0: none (default: as trained)");
  // As a function, since CLI11 makes an absent flag of std::optional false.
  command.add_flag_function(
      "--same-length,!--no-same-length", [lengths](int64_t count) { lengths->same_length = count > 0; },
      "Every query sees the same number of keys (default: as trained)");
}

StoredModel with_lengths(StoredModel stored, const LengthOptions& lengths, std::string_view source) {
  stored.tgt_len = lengths.tgt_len.value_or(stored.tgt_len);
  stored.model.mem_len = lengths.mem_len.value_or(stored.model.mem_len);
  stored.model.position.clamp_len = lengths.clamp_len.value_or(stored.model.position.clamp_len);
  stored.model.visibility.same_length = lengths.same_length.value_or(stored.model.visibility.same_length);
  check_model(stored.model, source);
  return stored;
}

}  // namespace segue
