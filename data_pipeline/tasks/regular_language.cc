// Regular languages (Deletang et al. 2022, "Neural networks and the Chomsky hierarchy"; Beck et al. 2024, "xLSTM"):
// random symbols, a mark, and as the answer what an automaton says of the symbols; published: lengths 3 to 40, tested
// to 256.
//
// `items` is the most symbols of an example, `shortest` the fewest; only the whole string is asked about, not its
// beginnings. Tokens: bits 0 and 1; of the circle the answers 0 to 4, and steps of 0, 1 and -1 as 5, 6 and 7; of
// arithmetic the digits 0 to 4, and +, -, * as 5, 6 and 7 between each two, with * before the others. The last two
// tokens of the vocabulary are the mark and filler.
#include <fmt/format.h>

#include <utility>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

constexpr int64_t kModulus = 5;     // positions of the circle, digits
constexpr int64_t kFirstOther = 5;  // the token of the first step or sign
constexpr int64_t kOthers = 3;      // steps, signs
constexpr int64_t kMinus = 1;       // among the signs
constexpr int64_t kTimes = 2;

int64_t least_vocabulary(RegularLanguage language) {
  const bool is_of_bits = language == RegularLanguage::kParity || language == RegularLanguage::kEvenPairs;
  return is_of_bits ? 4 : kModulus + kOthers + 2;
}

class RegularLanguageTask : public Task {
 public:
  explicit RegularLanguageTask(const TaskSpec& spec) : language_(spec.language), mark_(spec.vocabulary - 2) {}

  int64_t filler() const override { return mark_ + 1; }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_least(part.items + 1, "length", part.length, fmt::format("for {} symbols and a mark", part.items));
    if (language_ == RegularLanguage::kModularArithmetic)
      place.expect_at_least(fewest_items(part) | 1, "items", part.items, "for digits with a sign between each two");
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    const int64_t answer = language_ == RegularLanguage::kModularArithmetic
                               ? add_arithmetic(drawn_odd(part, random), random, example)
                               : add_symbols(draw_items(part, random), random, example);
    example.add(mark_);
    example.add_answer(answer, 0);
    example.pad(part.length + 1, filler());
  }

 private:
  static int64_t drawn_odd(const TaskPart& part, TaskRandom& random) {
    const int64_t fewest = fewest_items(part) | 1;
    return fewest + 2 * random.below((part.items - fewest) / 2 + 1);
  }

  // Adds so many symbols and returns what the automaton says of them.
  int64_t add_symbols(int64_t count, TaskRandom& random, TaskExample& example) const {
    const bool has_steps = language_ == RegularLanguage::kCycleNavigation;
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t drawn = random.below(has_steps ? kOthers : 2);
      example.add(has_steps ? kFirstOther + drawn : drawn);
      sum += has_steps && drawn == 2 ? -1 : drawn;
    }
    if (has_steps) return (sum % kModulus + kModulus) % kModulus;
    return language_ == RegularLanguage::kParity ? sum % 2 : example.tokens.front() ^ example.tokens.back();
  }

  // The same for digits and signs.
  static int64_t add_arithmetic(int64_t count, TaskRandom& random, TaskExample& example) {
    int64_t sum = 0;   // of the terms that have ended
    int64_t term = 0;  // the one that has not
    for (int64_t i = 0; i < count; i += 2) {
      const int64_t sign = i == 0 ? 0 : random.below(kOthers);
      const int64_t digit = random.below(kModulus);
      if (i > 0) example.add(kFirstOther + sign);
      example.add(digit);
      if (sign != kTimes) sum = (sum + std::exchange(term, 1)) % kModulus;
      term = term * (sign == kMinus ? kModulus - digit : digit) % kModulus;
    }
    return (sum + term) % kModulus;
  }

  RegularLanguage language_;
  int64_t mark_;
};

}  // namespace

std::unique_ptr<Task> make_regular_language(const TaskSpec& spec, const SpecPlace& place) {
  place.expect_at_least(least_vocabulary(spec.language), "vocabulary", spec.vocabulary,
                        fmt::format("for {}", name_of_choice(spec.language)));
  return std::make_unique<RegularLanguageTask>(spec);
}

}  // namespace segue
