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

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

WordTable::WordTable() : slots_(kFirstSlots) {}

std::string_view WordTable::word(int64_t index) const {
  const Place& place = places_[static_cast<size_t>(index)];
  return std::string_view(bytes_).substr(place.begin, place.size);
}

bool WordTable::is_at(const Place& place, std::string_view word, uint64_t head) const {
  return place.head == head && place.size == word.size() &&
         (word.size() <= kHeadBytes || std::memcmp(bytes_.data() + place.begin, word.data(), word.size()) == 0);
}

// The slot of the word, or the free one where it belongs.
size_t WordTable::slot_of(std::string_view word, uint64_t head, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].index >= 0 &&
         (slots_[at].tag != tag_of(hash) || !is_at(places_[static_cast<size_t>(slots_[at].index)], word, head)))
    at = (at + 1) & mask;
  return at;
}

int64_t WordTable::find(std::string_view word) const {
  const uint64_t head = head_of(word);
  return slots_[slot_of(word, head, slot_hash(word, head))].index;
}

int64_t WordTable::add(std::string_view word) {
  const uint64_t head = head_of(word);
  const uint64_t hash = slot_hash(word, head);
  const size_t at = slot_of(word, head, hash);
  if (slots_[at].index >= 0) return slots_[at].index;
  if (size() == kMostWords || static_cast<int64_t>(bytes_.size() + word.size()) > kMostBytes)
    throw DataError("vocabulary: expected at most {} different words with {} bytes together, found more", kMostWords,
                    kMostBytes);
  const int64_t index = size();
  places_.push_back({head, static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(word.size())});
  bytes_ += word;
  slots_[at] = {tag_of(hash), static_cast<int32_t>(index)};
  if (2 * static_cast<size_t>(size()) > slots_.size()) grow();
  return index;
}

void WordTable::grow() {
  slots_ = std::vector<Slot>(2 * slots_.size());
  for (int64_t index = 0; index < size(); ++index) {
    const uint64_t head = places_[static_cast<size_t>(index)].head;
    const uint64_t hash = slot_hash(word(index), head);
    slots_[slot_of(word(index), head, hash)] = {tag_of(hash), static_cast<int32_t>(index)};
  }
}

}  // namespace segue
