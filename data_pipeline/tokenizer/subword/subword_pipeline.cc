// The steps in their order, and a table of pieces that were met before.
#include "data_pipeline/tokenizer/subword/subword_pipeline.h"

#include <fmt/format.h>

#include <utility>

#include "base/checksum.h"

namespace segue {

AlignedText SubwordPipeline::normalize(AlignedText text, const TextPlace& place) const {
  for (const std::unique_ptr<Normalizer>& normalizer : normalizers) text = normalizer->apply(std::move(text), place);
  return text;
}

std::vector<PieceText> SubwordPipeline::pieces(std::string_view text, const TextPlace& place) const {
  std::vector<PieceText> found;
  for (const Piece& section : added.find(text)) {
    PieceText part;
    part.text =
        AlignedText(text.substr(section.begin, section.end - section.begin), static_cast<uint32_t>(section.begin));
    if (section.token >= 0) {
      part.pieces = {{.begin = 0, .end = part.text.size(), .token = section.token}};
      found.push_back(std::move(part));
      continue;
    }
    const TextPlace here{.begins_source = place.begins_source && section.begin == 0,
                         .goes_on_left = place.goes_on_left && section.begin == 0,
                         .goes_on_right = place.goes_on_right && section.end == text.size()};
    part.text = normalize(std::move(part.text), here);
    part.pieces = added_normalized.find(part.text.bytes());
    for (const std::unique_ptr<PreTokenizer>& cutter : pre_tokenizers) cutter->cut(part, here);
    if (here.goes_on_left && cuts && !part.pieces.empty() && part.pieces.front().token < 0) {
      part.pieces.front().joined = true;
      part.pieces.front().is_part = true;
    }
    if (here.goes_on_right && cuts && !part.pieces.empty()) part.pieces.back().is_part = true;
    if (cuts) cuts->cut(part);
    found.push_back(std::move(part));
  }
  return found;
}

void PieceCache::encode(std::string_view piece, bool is_part, std::vector<SubwordToken>& tokens) {
  if (piece.size() > kLongestPiece || piece.empty()) return pipeline_.model->encode(piece, is_part, tokens);
  const uint64_t hash = hash_of(piece) ^ (is_part ? 1U : 0U);
  Slot& slot = slots_[(hash >> 1) & (slots_.size() - 1)];
  if (slot.bytes == piece.size() && slot.hash == hash &&
      std::string_view(texts_).substr(slot.text, slot.bytes) == piece) {
    const auto known = tokens_.begin() + slot.token;
    tokens.insert(tokens.end(), known, known + slot.tokens);
    return;
  }
  const size_t first = tokens.size();
  pipeline_.model->encode(piece, is_part, tokens);
  if (tokens.size() - first <= kMostTokens) remember(slot, hash, piece, tokens, first);
  if (remembered_ > slots_.size() && slots_.size() < kMostSlots) clear(4 * slots_.size());
  if (texts_.size() + tokens_.size() * sizeof(SubwordToken) > kMostBytes) clear(slots_.size());
}

void PieceCache::clear(size_t slots) {
  slots_.assign(slots, {});
  remembered_ = 0;
  texts_.clear();
  tokens_.clear();
}

void PieceCache::remember(Slot& slot, uint64_t hash, std::string_view piece, const std::vector<SubwordToken>& tokens,
                          size_t first) {
  ++remembered_;
  slot = {.hash = hash,
          .text = static_cast<uint32_t>(texts_.size()),
          .token = static_cast<uint32_t>(tokens_.size()),
          .bytes = static_cast<uint16_t>(piece.size()),
          .tokens = static_cast<uint16_t>(tokens.size() - first)};
  texts_ += piece;
  tokens_.insert(tokens_.end(), tokens.begin() + static_cast<int64_t>(first), tokens.end());
}

}  // namespace segue
