// A hash table from 64-bit keys to 64-bit values, in one block of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace segue {

constexpr uint64_t pair_key(uint32_t first, uint32_t second) { return (uint64_t{first} << 32) | second; }

// Keys are below 2^64 - 1. Open addressing at most half full: a look-up touches about one line of cache.
class PairMap {
 public:
  PairMap() : slots_(16) {}

  // Overwrites the value of a key that is there.
  void set(uint64_t key, uint64_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[slot_of(key)];
    if (slot.key == kEmpty) ++size_;
    slot = {key, value};
  }
  const uint64_t* find(uint64_t key) const {
    const Slot& slot = slots_[slot_of(key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  bool contains(uint64_t key) const { return find(key) != nullptr; }
  size_t size() const { return size_; }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    uint64_t value = 0;
  };

  size_t slot_of(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    uint64_t hash = key * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
    auto at = static_cast<size_t>(hash) & mask;
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != kEmpty) slots_[slot_of(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace segue
