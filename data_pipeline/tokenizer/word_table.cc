// Open addressing with linear probing.
#include "data_pipeline/tokenizer/word_table.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace segue {
namespace {

constexpr size_t kFirstSlots = 1024;
constexpr size_t kHeadBytes = sizeof(uint64_t);

template <typename T>
uint64_t bytes_at(const char* at) {
  T value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// By two loads that overlap, since a loop over so few bytes would cost more than all else.
uint64_t head_of(std::string_view word) {
  const char* begin = word.data();
  const size_t size = word.size();
  if (size >= kHeadBytes) return bytes_at<uint64_t>(begin);
  if (size >= 4) return bytes_at<uint32_t>(begin) | bytes_at<uint32_t>(begin + size - 4) << 8 * (size - 4);
  if (size >= 2) return bytes_at<uint16_t>(begin) | bytes_at<uint16_t>(begin + size - 2) << 8 * (size - 2);
  return size == 1 ? bytes_at<uint8_t>(begin) : 0;
}

uint64_t mixed(uint64_t value) {
  value *= 0x9e3779b97f4a7c15U;  // 2^64 by the golden ratio
  return value ^ (value >> 29);
}

// Eight bytes at a time; the last eight may have been taken in part before.
uint64_t slot_hash(std::string_view word, uint64_t head) {
  uint64_t hash = mixed(head ^ word.size());
  for (size_t at = kHeadBytes; at < word.size(); at += kHeadBytes)
    hash = mixed(hash ^ bytes_at<uint64_t>(word.data() + std::min(at, word.size() - kHeadBytes)));
  return mixed(hash);
}

// Bits of the hash, so that other words are hardly ever compared, and the size, exact where the head is all of a word.
uint32_t tag_of(std::string_view word, uint64_t hash) {
  constexpr size_t kMostInTag = 255;
  return static_cast<uint32_t>(hash >> 40 << 8 | std::min(word.size(), kMostInTag));
}

}  // namespace

WordTable::WordTable() : slots_(kFirstSlots) {}

std::string_view WordTable::word(int64_t index) const {
  const Place& place = places_[static_cast<size_t>(index)];
  return std::string_view(bytes_).substr(place.begin, place.size);
}

WordTable::Key WordTable::key_of(std::string_view word) {
  const uint64_t head = head_of(word);
  return {head, slot_hash(word, head)};
}

bool WordTable::is_at(const Slot& slot, std::string_view word, const Key& key) const {
  if (slot.head != key.head || slot.tag != tag_of(word, key.hash)) return false;
  if (word.size() <= kHeadBytes) return true;
  const Place& place = places_[static_cast<size_t>(slot.index)];
  return place.size == word.size() &&
         std::memcmp(bytes_.data() + place.begin + kHeadBytes, word.data() + kHeadBytes, word.size() - kHeadBytes) == 0;
}

// The slot of the word, or the free one where it belongs.
size_t WordTable::slot_of(std::string_view word, const Key& key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = key.hash & mask;
  while (slots_[at].index >= 0 && !is_at(slots_[at], word, key)) at = (at + 1) & mask;
  return at;
}

int64_t WordTable::find(std::string_view word, const Key& key) const { return slots_[slot_of(word, key)].index; }

int64_t WordTable::add(std::string_view word, const Key& key) {
  const size_t at = slot_of(word, key);
  if (slots_[at].index >= 0) return slots_[at].index;
  if (size() == kMostWords || static_cast<int64_t>(bytes_.size() + word.size()) > kMostBytes)
    throw DataError("vocabulary: expected at most {} different words with {} bytes together, found more", kMostWords,
                    kMostBytes);
  const int64_t index = size();
  places_.push_back({static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(word.size())});
  bytes_ += word;
  slots_[at] = {key.head, tag_of(word, key.hash), static_cast<int32_t>(index)};
  if (4 * static_cast<size_t>(size()) > 3 * slots_.size()) grow();
  return index;
}

// The words differ, so that none needs to be compared.
void WordTable::grow() {
  slots_ = std::vector<Slot>(2 * slots_.size());
  const size_t mask = slots_.size() - 1;
  for (int64_t index = 0; index < size(); ++index) {
    const Key key = key_of(word(index));
    size_t at = key.hash & mask;
    while (slots_[at].index >= 0) at = (at + 1) & mask;
    slots_[at] = {key.head, tag_of(word(index), key.hash), static_cast<int32_t>(index)};
  }
}

}  // namespace segue
