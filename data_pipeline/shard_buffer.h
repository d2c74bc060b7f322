// Buffers the tokens of a shard until it is known how many it has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace segue {

// In pieces: nothing is copied when more come, and the memory of tokens that are taken goes to the shard that is built
// of them.
class ShardBuffer {
 public:
  void append(std::span<const std::byte> tokens);
  size_t bytes() const { return bytes_; }

  // Calls `visit` with all tokens in their order, in pieces of whole ones. None are left.
  template <typename Visit>
  void take(const Visit& visit) {
    size_t left = std::exchange(bytes_, 0);
    for (Piece& piece : std::exchange(pieces_, {})) {
      const size_t filled = std::min(left, kPieceBytes);
      visit(std::span<const std::byte>(piece.get(), filled));
      left -= filled;
      piece.reset();
    }
  }

 private:
  // A multiple of what tokens of any type take in a chunk of a shard.
  static constexpr size_t kPieceBytes = size_t{4} << 20;
  // Straight from the system, and back to it: a heap would keep what lies between others.
  struct Unmap {
    void operator()(std::byte* piece) const;
  };
  using Piece = std::unique_ptr<std::byte, Unmap>;
  static Piece map_piece();

  std::vector<Piece> pieces_;  // all full but the last
  size_t bytes_ = 0;           // of all of them
};

}  // namespace segue
