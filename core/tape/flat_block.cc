#include "core/tape/flat_block.h"

#include <sys/mman.h>

namespace segue {

void UnmapBlock::operator()(std::byte* block) const { ::munmap(block, bytes); }

FlatBlock FlatBlock::planned(DType dtype, int64_t elements) {
  FlatBlock block;
  block.dtype_ = dtype;
  block.shape_ = {elements};
  const int64_t bytes = elements * bytes_of(dtype);
  if (bytes == 0) return block;
  void* const mapped = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw OutOfMemoryError("out of memory: {} bytes of addresses asked for", bytes);
  block.planned_ = {static_cast<std::byte*>(mapped), UnmapBlock{static_cast<size_t>(bytes)}};
  return block;
}

}  // namespace segue
