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

  // What a word is looked up by.
  struct Key {
    uint64_t head = 0;  // the first eight bytes, zeros behind a shorter word
    uint64_t hash = 0;
  };
  static Key key_of(std::string_view word);

  WordTable();
  // The word's number; a new word gets the next one. Throws DataError at a new word beyond the limits.
  int64_t add(std::string_view word) { return add(word, key_of(word)); }
  int64_t add(std::string_view word, const Key& key);
  int64_t find(std::string_view word) const { return find(word, key_of(word)); }  // -1 when it is not there
  int64_t find(std::string_view word, const Key& key) const;
  // Begins to load from memory what add() or find() will look at.
  void prefetch(const Key& key) const { __builtin_prefetch(&slots_[key.hash & (slots_.size() - 1)]); }
  std::string_view word(int64_t index) const;
  int64_t size() const { return std::ssize(places_); }

 private:
  // Most words are no longer than their head, so that they are found without a look elsewhere.
  struct Slot {
    uint64_t head = 0;
    uint32_t tag = 0;  // of the word's hash and size
    int32_t index = -1;
  };
  struct Place {
    uint32_t begin = 0;  // in bytes_
    uint32_t size = 0;
  };
  bool is_at(const Slot& slot, std::string_view word, const Key& key) const;
  size_t slot_of(std::string_view word, const Key& key) const;
  void grow();

  std::string bytes_;
  std::vector<Place> places_;  // of each word
  std::vector<Slot> slots_;    // a power of two of them, at most three quarters in use
};

}  // namespace segue
