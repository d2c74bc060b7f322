// A trie over bytes: every entry that begins a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "data_pipeline/tokenizer/subword/pair_map.h"

namespace segue {

class ByteTrie {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;

  ByteTrie() : values_{-1} {}

  // The value replaces that of an equal entry.
  void insert(std::string_view bytes, int64_t value) {
    Node node = kRoot;
    for (const char c : bytes) {
      const uint64_t key = key_of(node, c);
      if (const uint64_t* next = edges_.find(key)) {
        node = static_cast<Node>(*next);
      } else {
        const auto made = static_cast<Node>(values_.size());
        edges_.set(key, made);
        values_.push_back(-1);
        node = made;
      }
    }
    values_[node] = value;
  }

  std::optional<Node> step(Node node, char byte) const {
    const uint64_t* next = edges_.find(key_of(node, byte));
    if (next == nullptr) return std::nullopt;
    return static_cast<Node>(*next);
  }
  std::optional<Node> walk(std::string_view bytes) const {
    std::optional<Node> node = kRoot;
    for (const char c : bytes)
      if (node) node = step(*node, c);
    return node;
  }
  int64_t value(Node node) const { return values_[node]; }  // -1: no entry ends here

  // Calls visit(length, value) for every entry that begins `text`, from the shortest on.
  template <typename Visit>
  void for_each_prefix(std::string_view text, Node from, const Visit& visit) const {
    Node node = from;
    for (size_t i = 0; i < text.size(); ++i) {
      const uint64_t* next = edges_.find(key_of(node, text[i]));
      if (next == nullptr) return;
      node = static_cast<Node>(*next);
      if (values_[node] >= 0) visit(i + 1, values_[node]);
    }
  }

  struct Match {
    size_t length = 0;
    int64_t value = -1;
  };
  Match longest_prefix(std::string_view text, Node from = kRoot) const {
    Match longest;
    for_each_prefix(text, from, [&](size_t length, int64_t value) { longest = {length, value}; });
    return longest;
  }

 private:
  static uint64_t key_of(Node node, char byte) { return (uint64_t{node} << 8) | static_cast<uint8_t>(byte); }

  PairMap edges_;
  std::vector<int64_t> values_;
};

}  // namespace segue
