// Distinct words, numbered in the order in which they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace segue {

// A hash table whose words lie one behind another in one string. Memory: the words and about 40 bytes for each.
class WordTable {
 public:
  static constexpr int64_t kMostWords = int64_t{1} << 25;
  static constexpr int64_t kMostBytes = int64_t{1} << 29;  // of all words together

  WordTable();
  // The word's number; a new word gets the next one. Throws DataError at a new word beyond the limits.
  int64_t add(std::string_view word);
  int64_t find(std::string_view word) const;  // -1 when it is not there
  std::string_view word(int64_t index) const;
  int64_t size() const { return std::ssize(places_); }

 private:
  // `tag` holds bits of the hash, so that other words are hardly ever looked at.
  struct Slot {
    uint32_t tag = 0;
    int32_t index = -1;
  };
  // Most words are no longer than their head, which tells them apart without their bytes.
  struct Place {
    uint64_t head = 0;   // the first eight bytes, zeros behind a shorter word
    uint32_t begin = 0;  // in bytes_
    uint32_t size = 0;
  };
  bool is_at(const Place& place, std::string_view word, uint64_t head) const;
  size_t slot_of(std::string_view word, uint64_t head, uint64_t hash) const;
  void grow();

  std::string bytes_;
  std::vector<Place> places_;  // of each word
  std::vector<Slot> slots_;    // a power of two of them, at most half in use
};

}  // namespace segue
