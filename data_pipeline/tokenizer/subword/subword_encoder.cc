// Where parts end, the threads that encode them, and what their tokens stand for.
#include "data_pipeline/tokenizer/subword/subword_encoder.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"
#include "base/utf8.h"
#include "data_pipeline/tokenizer/utf8_lines.h"

namespace segue {
namespace {

constexpr size_t kLeastContext = 512;  // bytes on each side of a cut that are encoded together and apart

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A piece as it can be compared with that of another text.
struct ComparedPiece {
  std::string bytes;
  std::vector<uint32_t> sources;
  int64_t token = -1;
  bool joined = false;
  bool is_part = false;
  bool operator==(const ComparedPiece&) const = default;
};

void add_compared(const std::vector<PieceText>& texts, uint32_t shift, std::vector<ComparedPiece>& compared) {
  for (const PieceText& text : texts)
    for (const Piece& piece : text.pieces) {
      ComparedPiece made{.bytes = std::string(text.text.view(piece.begin, piece.end)),
                         .sources = {},
                         .token = piece.token,
                         .joined = piece.joined,
                         .is_part = piece.is_part};
      for (size_t at = piece.begin; at < piece.end; ++at) made.sources.push_back(text.text.source(at) + shift);
      compared.push_back(std::move(made));
    }
}

}  // namespace

SubwordEncoder::SubwordEncoder(const SubwordParts& parts)
    : parts_(parts),
      context_bytes_(
          std::max({kLeastContext, 2 * parts.pipeline.added.longest(), 2 * parts.pipeline.added_normalized.longest()})),
      threads_(std::max(1U, std::thread::hardware_concurrency())) {}

void SubwordEncoder::start_file(const std::string& file, int64_t offset) {
  file_ = file;
  offset_ = offset;
  last_.reset();
  pending_.clear();
  valid_ = 0;
  begin_ = 0;
  target_ = kPartBytes;
  place_ = {.begins_source = true};
}

void SubwordEncoder::encode(std::string_view text) {
  pending_ += text;
  check_utf8(false);
  find_parts(false);
  if (begin_ >= 2 * threads_ * kPartBytes) encode_parts();
}

void SubwordEncoder::finish_document() {
  check_utf8(true);
  find_parts(true);
  place_ = {.begins_source = true};
}

void SubwordEncoder::finish_file() {
  check_utf8(true);
  find_parts(true);
  encode_parts();
}

void SubwordEncoder::check_utf8(bool ended) {
  valid_ += valid_utf8_bytes(std::string_view(pending_).substr(valid_));
  constexpr size_t kLongestCharacter = 4;
  const size_t left = pending_.size() - valid_;
  if (left == 0 || (!ended && left < kLongestCharacter)) return;
  throw DataError("{}: byte {}: expected UTF-8, found byte 0x{:02x}", file_, offset_ + static_cast<int64_t>(valid_),
                  static_cast<uint8_t>(pending_[valid_]));
}

void SubwordEncoder::end_part(size_t end, bool goes_on_left) {
  TextPlace place = place_;
  place.goes_on_right = end < valid_;
  waiting_.push_back({begin_, end, place});
  begin_ = end;
  target_ = kPartBytes;
  place_ = {.goes_on_left = goes_on_left};
}

// What is found depends on the text alone, not on how it comes in.
void SubwordEncoder::find_parts(bool ended) {
  while (valid_ - begin_ >= target_ + kSearchBytes + context_bytes_) {
    const size_t first = begin_ + target_;
    if (cut_between(first, first + kSearchBytes)) continue;
    target_ += kSearchBytes;
    if (target_ < kMostPartBytes) continue;
    size_t end = begin_ + target_;
    while (continues_character(pending_[end])) --end;
    end_part(end, true);
  }
  if (ended && begin_ < valid_) end_part(valid_, false);
}

// At the beginning of a line, else before a space, else at any character.
bool SubwordEncoder::cut_between(size_t first, size_t last) {
  const auto begins_line = [this](size_t at) { return pending_[at - 1] == '\n' && !is_blank(pending_[at]); };
  const auto begins_space = [this](size_t at) { return pending_[at] == ' ' && !is_blank(pending_[at - 1]); };
  const auto begins_character = [this](size_t at) { return !continues_character(pending_[at]); };
  const auto try_where = [&](const auto& is_candidate) {
    constexpr int kMostTries = 16;
    int tries = 0;
    for (size_t at = first; at < last && tries < kMostTries; ++at) {
      if (continues_character(pending_[at]) || !is_candidate(at)) continue;
      ++tries;
      if (try_cut(at)) return true;
    }
    return false;
  };
  return try_where(begins_line) || try_where(begins_space) || try_where(begins_character);
}

bool SubwordEncoder::try_cut(size_t at) {
  const auto character_from = [this](size_t position) {
    while (position < valid_ && continues_character(pending_[position])) ++position;
    return position;
  };
  const size_t left = character_from(std::max(begin_, at - std::min(at, context_bytes_)));
  const size_t right = character_from(std::min(valid_, at + context_bytes_));
  const std::string_view text(pending_);
  TextPlace place = left == begin_ ? place_ : TextPlace{.goes_on_left = true};
  place.goes_on_right = true;
  try {
    std::vector<ComparedPiece> together;
    add_compared(parts_.pipeline.pieces(text.substr(left, right - left), place), 0, together);
    for (const bool goes_on : {true, false}) {
      std::vector<ComparedPiece> apart;
      add_compared(parts_.pipeline.pieces(text.substr(left, at - left), place), 0, apart);
      add_compared(
          parts_.pipeline.pieces(text.substr(at, right - at), {.goes_on_left = goes_on, .goes_on_right = true}),
          static_cast<uint32_t>(at - left), apart);
      if (apart != together) continue;
      end_part(at, goes_on);
      return true;
    }
  } catch (const RegexError&) {  // the part that holds this place says so
  } catch (const SubwordError&) {
  }
  return false;
}

void SubwordEncoder::encode_parts() {
  std::vector<EncodedPart> encoded(waiting_.size());
  std::atomic<size_t> next = 0;
  const size_t workers = std::max<size_t>(1, std::min(threads_, waiting_.size()));
  while (caches_.size() < workers) caches_.emplace_back(parts_.pipeline);
  const auto work = [&](PieceCache& cache) {
    for (size_t i = next++; i < waiting_.size(); i = next++) encoded[i] = encode_part(waiting_[i], cache);
  };
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < workers; ++i) others.push_back(std::async(std::launch::async, work, std::ref(caches_[i])));
  if (!waiting_.empty()) work(caches_[0]);
  for (std::future<void>& other : others) other.get();
  for (size_t i = 0; i < waiting_.size(); ++i) take(waiting_[i], encoded[i]);
  waiting_.clear();
  pending_.erase(0, begin_);
  offset_ += static_cast<int64_t>(begin_);
  valid_ -= begin_;
  begin_ = 0;
}

SubwordEncoder::EncodedPart SubwordEncoder::encode_part(const Part& part, PieceCache& cache) const {
  const SubwordPipeline& pipeline = parts_.pipeline;
  EncodedPart encoded;
  std::vector<SubwordToken> tokens;
  int64_t at = offset_ + static_cast<int64_t>(part.begin);  // for messages
  bool is_first = true;
  try {
    for (const PieceText& text :
         pipeline.pieces(std::string_view(pending_).substr(part.begin, part.end - part.begin), part.place))
      for (const Piece& piece : text.pieces) {
        tokens.clear();
        at = offset_ + static_cast<int64_t>(part.begin + text.text.source(piece.begin));
        if (piece.token >= 0) {
          tokens.push_back({static_cast<uint32_t>(piece.token), 0});
        } else {
          cache.encode(text.text.view(piece.begin, piece.end), piece.is_part, tokens);
        }
        if (is_first) encoded.begins_joined = piece.joined;
        is_first = false;
        const bool goes_on = piece.joined && pipeline.fuses_unknown && !encoded.tokens.empty() &&
                             encoded.tokens.back().token == pipeline.unknown && !tokens.empty() &&
                             tokens.front().token == pipeline.unknown;
        for (size_t i = goes_on ? 1 : 0; i < tokens.size(); ++i)
          encoded.tokens.push_back({tokens[i].token, text.text.source(piece.begin + tokens[i].begin)});
      }
    encoded.changed = count_changed(part, encoded.tokens);
  } catch (const SubwordError& error) {
    throw DataError("{}: byte {}: {}", file_, at, error.reason);
  } catch (const RegexError& error) {
    throw DataError("{}: from byte {} on: a pattern of the tokenizer takes too long: {}", file_,
                    offset_ + static_cast<int64_t>(part.begin), printable_line(error.reason, 100));
  }
  return encoded;
}

int64_t SubwordEncoder::count_changed(const Part& part, const std::vector<SubwordToken>& tokens) const {
  int64_t changed = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t begin = part.begin + tokens[i].begin;
    const size_t end = i + 1 < tokens.size() ? part.begin + tokens[i + 1].begin : part.end;
    if (std::string_view(pending_).substr(begin, end - begin) != parts_.texts.text(tokens[i].token)) ++changed;
  }
  return changed;
}

void SubwordEncoder::take(const Part& part, const EncodedPart& encoded) {
  if (part.place.begins_source) last_.reset();
  const bool goes_on = encoded.begins_joined && parts_.pipeline.fuses_unknown && last_ &&
                       *last_ == parts_.pipeline.unknown && !encoded.tokens.empty() &&
                       encoded.tokens.front().token == parts_.pipeline.unknown;
  changed_ += encoded.changed;
  for (size_t i = goes_on ? 1 : 0; i < encoded.tokens.size(); ++i)
    give(encoded.tokens[i].token, offset_ + static_cast<int64_t>(part.begin + encoded.tokens[i].begin));
}

void SubwordEncoder::give(uint32_t token, int64_t begin) {
  last_ = token;
  ++given_;
  token == parts_.pipeline.unknown ? put_unknown(token, begin) : put(token, begin);
}

std::string SubwordEncoder::note() const {
  if (changed_ == 0) return {};
  return fmt::format("{} of {} tokens do not come back as the text that they stand for: the tokenizer changes text",
                     human_count(changed_), human_count(given_));
}

}  // namespace segue
