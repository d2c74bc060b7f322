// Open addressing with linear probing.
#include "data_pipeline/tokenizer/word_table.h"

#include <cstring>

#include "base/error.h"

namespace segue {
namespace {

constexpr size_t kFirstSlots = 1024;

uint64_t mixed(uint64_t value) {
  value *= 0x9e3779b97f4a7c15U;  // 2^64 by the golden ratio
  return value ^ (value >> 29);
}

// Eight bytes at a time, the last ones padded with their number.
uint64_t slot_hash(std::string_view word) {
  uint64_t hash = word.size();
  while (word.size() >= sizeof(uint64_t)) {
    uint64_t part = 0;
    std::memcpy(&part, word.data(), sizeof part);
    hash = mixed(hash ^ part);
    word.remove_prefix(sizeof part);
  }
  uint64_t part = 0;
  for (const char c : word) part = part << 8 | static_cast<uint8_t>(c);
  return mixed(mixed(hash ^ part));
}

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

WordTable::WordTable() : slots_(kFirstSlots) {}

std::string_view WordTable::word(int64_t index) const {
  const auto i = static_cast<size_t>(index);
  return std::string_view(bytes_).substr(begins_[i], begins_[i + 1] - begins_[i]);
}

// The slot of the word, or the free one where it belongs.
size_t WordTable::slot_of(std::string_view word, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].index >= 0 && (slots_[at].tag != tag_of(hash) || this->word(slots_[at].index) != word))
    at = (at + 1) & mask;
  return at;
}

int64_t WordTable::find(std::string_view word) const { return slots_[slot_of(word, slot_hash(word))].index; }

int64_t WordTable::add(std::string_view word) {
  const uint64_t hash = slot_hash(word);
  const size_t at = slot_of(word, hash);
  if (slots_[at].index >= 0) return slots_[at].index;
  if (size() == kMostWords || static_cast<int64_t>(bytes_.size() + word.size()) > kMostBytes)
    throw DataError("vocabulary: expected at most {} different words with {} bytes together, found more", kMostWords,
                    kMostBytes);
  const int64_t index = size();
  bytes_ += word;
  begins_.push_back(static_cast<uint32_t>(bytes_.size()));
  slots_[at] = {tag_of(hash), static_cast<int32_t>(index)};
  if (2 * static_cast<size_t>(size()) > slots_.size()) grow();
  return index;
}

void WordTable::grow() {
  slots_ = std::vector<Slot>(2 * slots_.size());
  for (int64_t index = 0; index < size(); ++index) {
    const uint64_t hash = slot_hash(word(index));
    slots_[slot_of(word(index), hash)] = {tag_of(hash), static_cast<int32_t>(index)};
  }
}

}  // namespace segue
