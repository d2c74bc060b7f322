// All steps from text to tokens, without files and threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/tokenizer/subword/added_tokens.h"
#include "data_pipeline/tokenizer/subword/normalizer.h"
#include "data_pipeline/tokenizer/subword/pre_tokenizer.h"
#include "data_pipeline/tokenizer/subword/subword_model.h"
#include "data_pipeline/tokenizer/subword/token_cuts.h"

namespace segue {

struct SubwordPipeline {
  explicit SubwordPipeline(bool finds_special) : added(finds_special), added_normalized(finds_special) {}

  AddedTokens added;             // found in the text itself
  AddedTokens added_normalized;  // found in normalised text
  std::vector<std::unique_ptr<Normalizer>> normalizers;
  std::vector<std::unique_ptr<PreTokenizer>> pre_tokenizers;
  std::optional<TokenCuts> cuts;  // for a model that would be given whole texts
  std::unique_ptr<SubwordModel> model;
  int64_t unknown = -1;
  bool fuses_unknown = false;

  AlignedText normalize(AlignedText text, const TextPlace& place) const;
  // Text, which is UTF-8, as the model is given it. Places in the source count from the beginning of `text`. Throws
  // SubwordError.
  std::vector<PieceText> pieces(std::string_view text, const TextPlace& place) const;
};

// Remembers the tokens of short pieces.
class PieceCache {
 public:
  explicit PieceCache(const SubwordPipeline& pipeline) : pipeline_(pipeline), slots_(kFewestSlots) {}
  // Adds the tokens of a piece.
  void encode(std::string_view piece, bool is_part, std::vector<SubwordToken>& tokens);

 private:
  static constexpr size_t kFewestSlots = size_t{1} << 8;  // powers of two
  static constexpr size_t kMostSlots = size_t{1} << 16;
  static constexpr size_t kLongestPiece = 64;  // bytes
  static constexpr size_t kMostTokens = 1000;
  static constexpr size_t kMostBytes = size_t{4} << 20;

  struct Slot {
    uint64_t hash = 0;
    uint32_t text = 0;  // where the piece begins in texts_
    uint32_t token = 0;
    uint16_t bytes = 0;  // 0: the slot is free
    uint16_t tokens = 0;
  };
  void clear(size_t slots);
  void remember(Slot& slot, uint64_t hash, std::string_view piece, const std::vector<SubwordToken>& tokens,
                size_t first);

  const SubwordPipeline& pipeline_;
  std::vector<Slot> slots_;
  size_t remembered_ = 0;
  std::string texts_;
  std::vector<SubwordToken> tokens_;
};

}  // namespace segue
