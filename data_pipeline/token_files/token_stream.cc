#include "data_pipeline/token_files/token_stream.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace segue {
namespace {

constexpr int64_t kBlockTokens = int64_t{1} << 16;

template <typename T>
bool is_token(T value, int64_t limit) {
  if constexpr (std::numeric_limits<T>::is_signed) {
    return value >= 0 && static_cast<int64_t>(value) < limit;
  } else {
    return static_cast<uint64_t>(value) < static_cast<uint64_t>(limit);
  }
}

class TokenStream : public ByteStream {
 public:
  TokenStream(std::unique_ptr<ByteStream> elements, TokenStreamOptions options)
      : elements_(std::move(elements)),
        options_(std::move(options)),
        token_bytes_(static_cast<size_t>(bytes_of(options_.type))),
        element_bytes_(static_cast<size_t>(bytes_of(options_.element))),
        left_(options_.next_document ? 0 : std::numeric_limits<int64_t>::max()),
        block_(static_cast<size_t>(kBlockTokens) * element_bytes_) {}

  std::span<std::byte> read(std::span<std::byte> block) override {
    size_t done = 0;
    while (block.size() - done >= token_bytes_ && !ended_) {
      if (left_ == 0) {
        done += begin_document(block.subspan(done));
        continue;
      }
      done += read_tokens(block.subspan(done));
    }
    return block.first(done);
  }

 private:
  // Returns the bytes of the separator that it put before the document.
  size_t begin_document(std::span<std::byte> room) {
    left_ = options_.next_document();
    ended_ = left_ == 0;
    if (ended_ || !std::exchange(begun_, true) || !options_.separator) return 0;
    put(room, 0, static_cast<uint32_t>(*options_.separator));
    return token_bytes_;
  }

  size_t read_tokens(std::span<std::byte> room) {
    const auto most = static_cast<int64_t>(room.size() / token_bytes_);
    const auto wanted = static_cast<size_t>(std::min({left_, kBlockTokens, most}));
    const std::span<std::byte> bytes = elements_->read(std::span(block_).first(wanted * element_bytes_));
    const size_t count = bytes.size() / element_bytes_;
    ended_ = count < wanted;
    visit_element_type(options_.element, [&]<typename T>(T /*type*/) { convert<T>(bytes, count, room); });
    left_ -= static_cast<int64_t>(count);
    done_ += static_cast<int64_t>(count);
    return count * token_bytes_;
  }

  template <typename T>
  void convert(std::span<const std::byte> bytes, size_t count, std::span<std::byte> room) {
    for (size_t i = 0; i < count; ++i) {
      T value{};
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      if (!is_token(value, options_.limit))
        refuse_token(options_.name, place_of(done_ + static_cast<int64_t>(i)), std::to_string(value), options_.limit);
      put(room, i, static_cast<uint32_t>(value));
    }
  }

  void put(std::span<std::byte> room, size_t index, uint32_t token) const {
    std::memcpy(room.data() + index * token_bytes_, &token, token_bytes_);
  }

  std::string place_of(int64_t index) const {
    if (options_.row_tokens == 0) return fmt::format("token {}", index);
    return fmt::format("row {}, column {}", index / options_.row_tokens, index % options_.row_tokens);
  }

  std::unique_ptr<ByteStream> elements_;
  TokenStreamOptions options_;
  size_t token_bytes_;
  size_t element_bytes_;
  int64_t left_;  // of the document
  std::vector<std::byte> block_;
  int64_t done_ = 0;  // elements
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> make_token_stream(std::unique_ptr<ByteStream> elements, const TokenStreamOptions& options) {
  return std::make_unique<TokenStream>(std::move(elements), options);
}

void refuse_token(const std::string& name, const std::string& place, const std::string& value, int64_t limit) {
  const char* meaning = value.starts_with('-') ? ": padding or ignored labels? Leave them out" : "";
  throw DataError("{}: {}: expected a token from 0 to {}, found {}{}", name, place, limit - 1, value, meaning);
}

}  // namespace segue
