// Lookup of n-grams (Jelassi et al. 2024, "Repeat after me", 4.2): random symbols, a mark, `key_tokens` symbols that
// stand among them once, and as the answer the `items` symbols that followed those; published: 26 symbols, a context of
// 220.
//
// Of the `length` rows, all but the last `key_tokens` + `items` are the context. The last tokens of the vocabulary are
// the mark and filler, the others symbols.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

class Ngram : public Task {
 public:
  explicit Ngram(const TaskSpec& spec) : key_tokens_(spec.key_tokens), symbols_(spec.vocabulary - 2) {}

  int64_t filler() const override { return symbols_ + 1; }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_least(2 * (key_tokens_ + part.items), "length", part.length,
                          fmt::format("for keys of {} and answers of {}, twice", key_tokens_, part.items));
    place.expect_at_most(count_of_strings(symbols_, key_tokens_) + key_tokens_ + part.items, "length", part.length,
                         fmt::format("for keys of {} of {} symbols that stand but once", key_tokens_, symbols_));
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    std::vector<int64_t> starts;
    while (starts.empty()) {  // at the limit of check(), a third of the keys stand but once
      example.clear();
      for (int64_t i = key_tokens_ + part.items; i < part.length; ++i) example.add(random.below(symbols_));
      starts = single_keys(example, example.size() - key_tokens_ - part.items);
    }
    const int64_t start = starts[static_cast<size_t>(random.below(std::ssize(starts)))];
    example.add(symbols_);
    for (int64_t i = 0; i < key_tokens_; ++i) example.add(example.tokens[static_cast<size_t>(start + i)]);
    for (int64_t i = 0; i < part.items; ++i) example.add_copy(start + key_tokens_ + i, i == 0);
  }

 private:
  // Where keys that stand once begin, none of them after `last`.
  std::vector<int64_t> single_keys(const TaskExample& example, int64_t last) const {
    const auto key_at = [&](int64_t start) {
      return std::span(example.tokens).subspan(static_cast<size_t>(start), static_cast<size_t>(key_tokens_));
    };
    const auto equal = [&](int64_t a, int64_t b) { return std::ranges::equal(key_at(a), key_at(b)); };
    std::vector<int64_t> sorted(static_cast<size_t>(example.size() - key_tokens_ + 1));
    std::iota(sorted.begin(), sorted.end(), 0);
    std::ranges::sort(sorted,
                      [&](int64_t a, int64_t b) { return std::ranges::lexicographical_compare(key_at(a), key_at(b)); });
    std::vector<int64_t> single;
    for (size_t i = 0; i < sorted.size(); ++i) {
      const bool as_before = i > 0 && equal(sorted[i - 1], sorted[i]);
      const bool as_after = i + 1 < sorted.size() && equal(sorted[i], sorted[i + 1]);
      if (!as_before && !as_after && sorted[i] <= last) single.push_back(sorted[i]);
    }
    return single;
  }

  int64_t key_tokens_;
  int64_t symbols_;
};

}  // namespace

std::unique_ptr<Task> make_ngram(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(4, "vocabulary", spec.vocabulary, "for two symbols, a mark and filler");
  return std::make_unique<Ngram>(spec);
}

}  // namespace segue
