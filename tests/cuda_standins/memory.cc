// The GPU's memory as pages of the host.
#include "tests/cuda_standins/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>

namespace segue::standin {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAlignment = 256;  // cudaMalloc's

struct Block {
  std::byte* pages;
  size_t page_bytes;  // without the page behind
  size_t bytes;
  Place place;
};

using Blocks = std::map<const std::byte*, Block>;  // by their first byte
Blocks& in_use() {
  static Blocks blocks;
  return blocks;
}
Blocks& freed() {
  static Blocks blocks;
  return blocks;
}

int depth_of_work = 0;

size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

void protect(const Block& block, int how) { mprotect(block.pages, block.page_bytes, how); }

void protect_all(int how) {
  for (const auto& [first, block] : in_use()) {
    if (block.place == Place::kGpu) protect(block, how);
  }
}

void* reserve(void* at, size_t bytes) {
  const int fixed = at == nullptr ? 0 : MAP_FIXED;
  return mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

// Its addresses stay taken, without memory behind them.
void free_block(Blocks::iterator block) {
  reserve(block->second.pages, block->second.page_bytes);
  block->second.place = Place::kNowhere;
  freed().insert(in_use().extract(block));
}

// The block that holds this byte, or its page behind.
const Block* block_at(const Blocks& blocks, const std::byte* byte) {
  const auto behind = blocks.upper_bound(byte);
  if (behind != blocks.end() && byte >= behind->second.pages) return &behind->second;
  if (behind == blocks.begin()) return nullptr;
  const Block& block = std::prev(behind)->second;
  return byte < block.pages + block.page_bytes + kPage ? &block : nullptr;
}

}  // namespace

void* allocate(size_t bytes, Place place) {
  const size_t room = round_up(bytes, kAlignment);
  const size_t page_bytes = round_up(room, kPage);
  // Queues hold large blocks, whose protection changes often: of huge pages, where there are any, they have few.
  const size_t slack = page_bytes < kHugePage ? 0 : kHugePage;
  void* reserved = reserve(nullptr, page_bytes + kPage + slack);
  if (reserved == MAP_FAILED) return nullptr;
  if (slack > 0) reserved = reinterpret_cast<void*>(round_up(reinterpret_cast<uintptr_t>(reserved), kHugePage));
  const Block block{static_cast<std::byte*>(reserved), page_bytes, bytes, place};
  if (slack > 0) madvise(block.pages, page_bytes, MADV_HUGEPAGE);
  std::byte* first = block.pages + page_bytes - room;
  protect(block, PROT_READ | PROT_WRITE);
  std::memset(first, 0xFF, bytes);
  if (place == Place::kGpu && depth_of_work == 0) protect(block, PROT_NONE);
  in_use()[first] = block;
  return first;
}

bool release(void* memory, bool is_pinned) {
  const auto found = in_use().find(static_cast<std::byte*>(memory));
  if (found == in_use().end() || (found->second.place == Place::kPinned) != is_pinned) return false;
  free_block(found);
  return true;
}

void release_everything() {
  while (!in_use().empty()) free_block(in_use().begin());
}

Place place_of(const void* data, size_t bytes) {
  const auto* first = static_cast<const std::byte*>(data);
  if (block_at(freed(), first) != nullptr) return Place::kNowhere;
  const Block* block = block_at(in_use(), first);
  if (block == nullptr) return Place::kHost;
  const std::byte* begin = block->pages + block->page_bytes - round_up(block->bytes, kAlignment);
  return first >= begin && first + bytes <= begin + block->bytes ? block->place : Place::kNowhere;
}

bool gpu_reaches(const void* data, size_t bytes) {
  const Place place = place_of(data, bytes);
  return place == Place::kPinned || place == Place::kGpu;
}

size_t gpu_bytes() {
  size_t bytes = 0;
  for (const auto& [first, block] : in_use()) bytes += block.place == Place::kGpu ? block.bytes : 0;
  return bytes;
}

size_t blocks() { return in_use().size(); }

AtWork::AtWork() {
  if (depth_of_work++ == 0) protect_all(PROT_READ | PROT_WRITE);
}

AtWork::~AtWork() {
  if (--depth_of_work == 0) protect_all(PROT_NONE);
}

}  // namespace segue::standin
