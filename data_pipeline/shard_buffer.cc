#include "data_pipeline/shard_buffer.h"

#include <sys/mman.h>

#include <cstring>

#include "base/error.h"

namespace segue {

void ShardBuffer::append(std::span<const std::byte> tokens) {
  while (!tokens.empty()) {
    const size_t begin = bytes_ % kPieceBytes;
    if (begin == 0) pieces_.push_back(map_piece());
    const std::span part = tokens.first(std::min(tokens.size(), kPieceBytes - begin));
    std::memcpy(pieces_.back().get() + begin, part.data(), part.size());
    bytes_ += part.size();
    tokens = tokens.subspan(part.size());
  }
}

ShardBuffer::Piece ShardBuffer::map_piece() {
  void* piece = ::mmap(nullptr, kPieceBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (piece == MAP_FAILED) throw OutOfMemoryError("out of memory: {} bytes asked for", kPieceBytes);
  return Piece(static_cast<std::byte*>(piece));
}

void ShardBuffer::Unmap::operator()(std::byte* piece) const { ::munmap(piece, kPieceBytes); }

}  // namespace segue
