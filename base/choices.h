// Enums that configs write as words.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

namespace segue {

// The words of an enum, in the order of its enumerators.
using Words = std::span<const std::string_view>;

// A word and its meaning for people; empty where the meaning of the key says it.
struct ExplainedWord {
  std::string_view word;
  std::string_view meaning;
};

// An enumerator, its word and its meaning.
template <typename T>
struct Choice {
  T value;
  std::string_view word;
  std::string_view meaning = {};
};

// All choices of an enum, in the order in which people see them. Words that follow one another and mean the same are
// explained together. Does not compile unless the rows are of the first kSize enumerators.
template <typename T, size_t kSize>
class ChoiceTable {
 public:
  explicit consteval ChoiceTable(const Choice<T> (&rows)[kSize]) {
    for (size_t i = 0; i < kSize; ++i) {
      const auto place = static_cast<size_t>(rows[i].value);
      if (place >= kSize || !words_[place].empty()) throw "rows of other enumerators, or two of one";
      words_[place] = rows[i].word;
      explained_[i] = {rows[i].word, rows[i].meaning};
    }
  }

  constexpr Words words() const { return words_; }
  constexpr std::span<const ExplainedWord> explained() const { return explained_; }

 private:
  std::array<std::string_view, kSize> words_ = {};
  std::array<ExplainedWord, kSize> explained_ = {};
};

// An enum beside which stands a function `table_of(Enum)` that returns its ChoiceTable.
template <typename T>
concept TabledEnum = std::is_enum_v<T> && requires(T value) {
  table_of(value).words();
};

template <TabledEnum T>
Words choices_of(T value) {
  return table_of(value).words();
}

// An enum whose enumerators count from 0, written as strings: a TabledEnum, or one beside which stands a function
// `Words choices_of(Enum)`.
template <typename T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  { choices_of(value) } -> std::convertible_to<Words>;
};

template <NamedEnum T>
std::string_view name_of_choice(T value) {
  return choices_of(value)[static_cast<size_t>(value)];
}

}  // namespace segue
