// The normalizers, pre-tokenizers and decoders that a tokenizer.json asks for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data_pipeline/tokenizer/subword/json_node.h"
#include "data_pipeline/tokenizer/subword/normalizer.h"
#include "data_pipeline/tokenizer/subword/pre_tokenizer.h"

namespace segue {

// Throw DataError naming file and path for what is not read.
void read_normalizers(const JsonNode& node, std::vector<std::unique_ptr<Normalizer>>& normalizers);

struct ReadPreTokenizers {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  bool is_byte_level = false;  // the model is given bytes
  bool cuts = false;           // into words or the like, so that the model is not given whole texts
};
void read_pre_tokenizers(const JsonNode& node, ReadPreTokenizers& read);

// Each token's text by itself.
struct ReadDecoder {
  std::function<std::string(const std::string& token)> decode;
  bool drops_first_space = false;
};
ReadDecoder read_decoder(const JsonNode& node);

// A pattern {"String": ...} or {"Regex": ...}.
std::unique_ptr<Regex> read_regex(const JsonNode& node);
std::string read_pattern_text(const JsonNode& node);

}  // namespace segue
