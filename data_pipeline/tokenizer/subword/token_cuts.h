// Where text can be cut because no token of a vocabulary spans the cut: both sides are then encoded by themselves.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "data_pipeline/tokenizer/subword/pair_map.h"
#include "data_pipeline/tokenizer/subword/subword_text.h"

namespace segue {

class TokenCuts {
 public:
  // `bytes`: tokens are of bytes, not of characters.
  explicit TokenCuts(bool bytes) : bytes_(bytes) {}
  void add_token(std::string_view text);
  void cut(PieceText& text) const;

 private:
  template <typename Visit>
  void for_each_neighbours(std::string_view text, const Visit& visit) const;
  bool spans(char32_t left, char32_t right) const;

  bool bytes_;
  std::array<std::array<bool, 128>, 128> ascii_{};
  PairMap pairs_;  // neighbours in some token
};

}  // namespace segue
