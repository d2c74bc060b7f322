#include "data_pipeline/hdf5/bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace segue {

namespace {

// The bound of one structure; those of files that hold a few rows take some kilobytes.
constexpr uint64_t kLargestPiece = uint64_t{8} << 20;

struct Mixture {
  uint32_t a, b, c;

  void mix() {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }

  void finish() {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }

  void add(std::span<const std::byte> bytes) {
    std::array<uint32_t, 3> words{};  // what is missing of twelve bytes counts as zero
    std::memcpy(words.data(), bytes.data(), bytes.size());
    a += words[0], b += words[1], c += words[2];
  }
};

}  // namespace

Hdf5Bytes::Hdf5Bytes(const std::filesystem::path& path)
    : source_(path.string()),
      file_(std::make_unique<const FileReader>(path)),
      size_(static_cast<uint64_t>(file_->size())) {}

Hdf5Bytes::Hdf5Bytes(std::string source, std::span<const std::byte> bytes)
    : source_(std::move(source)), memory_(bytes), size_(bytes.size()) {}

void Hdf5Bytes::read(uint64_t offset, std::span<std::byte> block, std::string_view what) const {
  if (offset > size_ || block.size() > size_ - offset)
    fail("{} is said to lie at byte {} with {} bytes, in a file of {}", what, offset, block.size(), size_);
  if (file_ == nullptr) {
    std::ranges::copy(memory_.subspan(offset, block.size()), block.begin());
  } else if (file_->read_at(static_cast<int64_t>(offset), block).size() < block.size()) {
    fail("has become shorter while it was read");
  }
}

std::vector<std::byte> Hdf5Bytes::piece(uint64_t offset, uint64_t length, std::string_view what) const {
  if (length > kLargestPiece) fail("{}: expected at most {} bytes, found {}", what, kLargestPiece, length);
  if (offset > size_ || length > size_ - offset)
    fail("{} is said to lie at byte {} with {} bytes, in a file of {}", what, offset, length, size_);
  std::vector<std::byte> bytes(length);
  read(offset, bytes, what);
  return bytes;
}

uint64_t hdf5_bytes_of_number(uint64_t largest) { return (static_cast<uint64_t>(std::bit_width(largest)) + 7) / 8; }

uint64_t Hdf5Cursor::number(size_t bytes) {
  uint64_t value = 0;
  const std::span<const std::byte> digits = block(bytes);
  std::memcpy(&value, digits.data(), digits.size());
  return value;
}

std::span<const std::byte> Hdf5Cursor::block(uint64_t bytes) {
  if (bytes > rest_.size()) file_->fail("{} ends within", what_);
  const std::span<const std::byte> taken = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return taken;
}

bool Hdf5Cursor::take_signature(std::string_view signature) {
  if (rest_.size() < signature.size() || std::memcmp(rest_.data(), signature.data(), signature.size()) != 0)
    return false;
  skip(signature.size());
  return true;
}

void Hdf5Cursor::expect_signature(std::string_view signature) {
  if (!take_signature(signature)) file_->fail("{}: expected to begin with {}, found other bytes", what_, signature);
}

void Hdf5Cursor::expect_version(uint64_t expected) {
  if (const uint64_t found = number(1); found != expected)
    file_->fail("{}: expected version {}, found {}", what_, expected, found);
}

std::string_view hdf5_text(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

uint32_t hdf5_checksum(std::span<const std::byte> bytes) {
  constexpr uint32_t kStart = 0xdeadbeef;
  constexpr size_t kBlock = 12;
  const uint32_t start = kStart + static_cast<uint32_t>(bytes.size());
  Mixture state{start, start, start};
  for (; bytes.size() > kBlock; bytes = bytes.subspan(kBlock)) {
    state.add(bytes.first(kBlock));
    state.mix();
  }
  if (bytes.empty()) return state.c;
  state.add(bytes);
  state.finish();
  return state.c;
}

void check_hdf5_seal(const Hdf5Bytes& file, std::span<const std::byte> piece, std::string_view what) {
  uint32_t found = 0;
  if (piece.size() < kHdf5SealBytes) file.fail("{} ends within", what);
  std::memcpy(&found, piece.last(kHdf5SealBytes).data(), kHdf5SealBytes);
  if (found != hdf5_checksum(piece.first(piece.size() - kHdf5SealBytes)))
    file.fail("{} is damaged: wrong checksum", what);
}

}  // namespace segue
