// Blocks of tokens, hashed and checked as they pass.
#include "data_pipeline/source_reader.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace segue {
namespace {

// Read, hashed, checked and copied while it is in the cache.
constexpr int64_t kTextBlockBytes = int64_t{1} << 20;

// Calls `visit` with the tokens as what they are on disk; the block they lie in is aligned for any of the types.
template <typename Visit>
int64_t visit_tokens(std::span<const std::byte> bytes, TokenType type, Visit&& visit) {
  const auto as = [bytes]<typename T>(T /*type*/) {
    return std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  };
  switch (type) {
    case TokenType::kUInt8:
      return visit(as(uint8_t{}));
    case TokenType::kUInt16:
      return visit(as(uint16_t{}));
    case TokenType::kUInt32:
      return visit(as(uint32_t{}));
  }
  throw ContractError("token type {} is unknown", static_cast<int>(type));
}

int64_t largest_of(std::span<const std::byte> bytes, TokenType type) {
  return visit_tokens(bytes, type, []<typename T>(std::span<const T> tokens) -> int64_t {
    T largest = 0;
    for (const T token : tokens) largest = std::max(largest, token);
    return largest;
  });
}

// The index of the first token that is at least `limit`.
int64_t first_at_least(int64_t limit, std::span<const std::byte> bytes, TokenType type) {
  return visit_tokens(bytes, type, [limit](const auto& tokens) -> int64_t {
    return std::find_if(tokens.begin(), tokens.end(), [limit](int64_t token) { return token >= limit; }) -
           tokens.begin();
  });
}

// What is put between documents is no sign of anything.
std::function<void(std::string_view)> counter_of_documents(EncodingWarnings& signs) {
  return [&signs](std::string_view document) {
    signs.count(std::as_bytes(std::span(document)));
    signs.end_document();
  };
}

}  // namespace

SourceReader::SourceReader(const SourceFile& file, TokenType type, int64_t vocabulary, EncodingWarnings* signs)
    : file_(file),
      type_(type),
      vocabulary_(vocabulary),
      signs_(file.field.empty() ? signs : nullptr),
      blocks_{Buffer(kTextBlockBytes), Buffer(kTextBlockBytes)} {
  DocumentListener listener;
  if (signs != nullptr) listener.seen = counter_of_documents(*signs);
  if (file.has_texts) listener.ended = [this](size_t bytes) { ends_read_.push_back(bytes); };
  stream_ = open_source(file, vocabulary, std::move(listener));
  if (signs != nullptr) signs->begin_file(file.path.string(), file.skipped > 0, file.look);
}

std::span<const std::byte> SourceReader::next() {
  Block block = ahead_.valid() ? ahead_.get() : read();
  if (has_another_block()) ahead_ = std::async(std::launch::async, [this] { return read(); });
  document_ends_ = std::move(block.document_ends);
  return block.tokens;
}

SourceReader::Block SourceReader::read() {
  Buffer& block = blocks_.at(std::exchange(next_block_, 1 - next_block_));
  ends_read_.clear();
  const std::span<std::byte> tokens = stream_->read({block.data(), static_cast<size_t>(block.bytes())});
  const int64_t bytes = done_ + static_cast<int64_t>(tokens.size());
  if (bytes > file_.bytes || (tokens.empty() && bytes < file_.bytes))
    throw DataError("{}: expected {} bytes, found {}: the file changed while it was read", file_.path.string(),
                    file_.bytes, bytes);
  check_tokens(tokens);
  if (file_.checksum.empty()) checksum_.update(tokens);
  if (signs_ != nullptr) signs_->count(tokens);
  done_ = bytes;
  return {.tokens = tokens, .document_ends = std::move(ends_read_)};
}

void SourceReader::check_tokens(std::span<const std::byte> tokens) {
  largest_ = std::max(largest_, largest_of(tokens, type_));
  if (largest_ < vocabulary_) return;
  const int64_t offset = done_ / bytes_of(type_) + first_at_least(vocabulary_, tokens, type_);
  throw DataError(
      "{}: token {} (byte {}): expected below {} {}, found {}", file_.path.string(), offset,
      offset * bytes_of(type_) + (file_.tokens ? file_.tokens->header_bytes : 0),
      vocabulary_ == kLargestVocabulary ? "the largest vocabulary that there can be," : "the vocabulary size",
      vocabulary_, largest_);
}

}  // namespace segue
