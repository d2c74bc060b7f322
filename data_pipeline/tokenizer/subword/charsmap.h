// SentencePiece's table of normalised characters, as tokenizer.json holds it ("precompiled_charsmap").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/tokenizer/subword/subword_text.h"

namespace segue {

struct CharsmapError {
  std::string found;
};

class Charsmap {
 public:
  // The table's bytes: the size of an automaton, the automaton, and texts that each end in a zero byte. Throws
  // CharsmapError.
  explicit Charsmap(std::string_view bytes);

  // Replaces characters and short grapheme clusters as tokenizers do it, which differs from SentencePiece where a
  // cluster's beginning has an entry: that entry replaces the whole cluster.
  AlignedText apply(const AlignedText& text) const;

 private:
  // The replacement of the shortest entry that begins `part`.
  std::optional<std::string_view> replacement(std::string_view part) const;

  std::vector<uint32_t> units_;  // a double array: where its children lie, whether it has a value, its byte
  std::string texts_;
};

}  // namespace segue
