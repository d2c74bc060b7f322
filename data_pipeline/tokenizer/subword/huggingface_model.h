// The model that a tokenizer.json asks for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data_pipeline/tokenizer/subword/json_node.h"
#include "data_pipeline/tokenizer/subword/subword_tokenizer.h"

namespace segue {

struct ReadModel {
  std::vector<std::optional<std::string>> tokens;  // as the file spells them
  int64_t count = 0;                               // of tokens that there are
  bool byte_fallback = false;
  bool is_wordpiece = false;
  std::string word_prefix = {};  // WordPiece's
  std::string suffix = {};       // BPE's

  // The token of a spelling; -1: none.
  int64_t find(std::string_view text) const { return spelled.find(text); }
  SubwordVocabulary spelled = {};
};

// Fills the vocabulary and the model of `parts`, with what is unknown and where its text can be cut. `is_byte_level`:
// tokens are spelled by the alphabet of bytes; `cuts`: text comes in words. Throws DataError naming file and path.
ReadModel read_model(const JsonNode& node, bool is_byte_level, bool cuts, SubwordParts& parts);

}  // namespace segue
