// What other programs call the keys and flags of this one: nanoGPT, the trainers of Hugging Face, fairseq and
// Megatron-LM, and the authors' codes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace segue {

struct MeantKey {
  std::string key;          // one of those known
  std::string_view remark;  // where it is not quite the same: "counts steps"; mostly empty

  // "training.max_step, which counts steps"
  std::string text() const;
};

// The one of `known` (paths of keys such as "training.max_step", or flags as "mem_len") that other programs call
// `word`; nothing when there is none. Neither case counts nor dashes.
std::optional<MeantKey> meant_by_others(std::string_view word, std::span<const std::string> known);

}  // namespace segue
