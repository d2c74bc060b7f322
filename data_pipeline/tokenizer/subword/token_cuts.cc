// Text may be cut between two characters that stand side by side in no token.
#include "data_pipeline/tokenizer/subword/token_cuts.h"

#include <utility>

namespace segue {

// Calls visit(left, right, where the right one begins).
template <typename Visit>
void TokenCuts::for_each_neighbours(std::string_view text, const Visit& visit) const {
  char32_t left = 0;
  for (size_t at = 0; at < text.size();) {
    const char32_t here = bytes_ ? static_cast<uint8_t>(text[at]) : decode_character(text, at);
    if (at > 0) visit(left, here, at);
    left = here;
    at += bytes_ ? 1 : character_size(text[at]);
  }
}

void TokenCuts::add_token(std::string_view text) {
  for_each_neighbours(text, [this](char32_t left, char32_t right, size_t) {
    if (left < 128 && right < 128) {
      ascii_[left][right] = true;
    } else {
      pairs_.set(pair_key(left, right), 1);
    }
  });
}

bool TokenCuts::spans(char32_t left, char32_t right) const {
  return left < 128 && right < 128 ? ascii_[left][right] : pairs_.contains(pair_key(left, right));
}

void TokenCuts::cut(PieceText& text) const {
  std::vector<Piece> pieces;
  for (const Piece& piece : text.pieces) {
    if (piece.token >= 0) {
      pieces.push_back(piece);
      continue;
    }
    Piece part{.begin = piece.begin, .end = piece.end, .joined = piece.joined, .is_part = piece.is_part};
    for_each_neighbours(text.text.view(piece.begin, piece.end), [&](char32_t left, char32_t right, size_t at) {
      if (spans(left, right)) return;
      part.end = piece.begin + at;
      part.is_part = true;
      pieces.push_back(part);
      part = {.begin = part.end, .end = piece.end, .joined = true, .is_part = true};
    });
    pieces.push_back(part);
  }
  text.pieces = std::move(pieces);
}

}  // namespace segue
