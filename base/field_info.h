// The description of one key of a struct (base/json_fields.h) besides its value.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/choices.h"

namespace segue {

// The choices of a struct's `kind` that read a key: by default all.
class Kinds {
 public:
  constexpr Kinds() = default;
  template <NamedEnum T, std::same_as<T>... More>
  explicit constexpr Kinds(T kind, More... more) : bits_((bit_of(kind) | ... | bit_of(more))) {}

  constexpr bool are_all() const { return bits_ == kAll; }
  constexpr bool contain(size_t kind) const { return (bits_ >> kind & 1U) != 0; }

 private:
  static constexpr uint64_t kAll = ~uint64_t{0};

  template <NamedEnum T>
  static constexpr uint64_t bit_of(T kind) {
    return uint64_t{1} << static_cast<unsigned>(kind);
  }

  uint64_t bits_ = kAll;
};

// What a key is as a flag of the command line (launch/segue/flags.h), besides its name.
struct FlagInfo {
  std::string_view value = {};  // what stands for its value in help: "FILE"; empty: its type
  std::string_view alias = {};  // "-o"
  bool is_positional = false;
  bool may_be_unnamed = false;  // words that belong to no flag are its own
  bool is_output = false;       // names a file or a directory to write
  bool is_repeated = false;     // a list, given element by element, which adds to what is there
};

// Whether a std::optional holds a value.
enum class Presence : uint8_t { kNotOptional, kPresent, kAbsent };

// What people are told about a key, and the range of its value (of each element, for a list).
struct FieldInfo {
  std::string_view meaning;
  std::string_view unit = {};
  double minimum = -std::numeric_limits<double>::infinity();
  double above = -std::numeric_limits<double>::infinity();  // the value must be greater than this
  double maximum = std::numeric_limits<double>::infinity();
  double below = std::numeric_limits<double>::infinity();  // the value must be less than this
  std::string_view role = {};                              // the schema's "x-role"; empty: none
  std::string_view of_others = {};                         // where words that are no choice may come from, in errors
  Kinds kinds = {};                                        // of the struct's `kind`, that read it
  FlagInfo flag = {};

  // Said by JsonFields of the member itself.
  std::span<const ExplainedWord> words = {};  // of a value, not of a list, with a ChoiceTable
  Presence presence = Presence::kNotOptional;
};

// "what it is; one: this; two and three: that".
std::string explained_meaning(const FieldInfo& info);
// ">= 0 and < 1"; empty: any number.
std::string range_text(const FieldInfo& info);
bool is_in_range(double value, const FieldInfo& info);
// "an integer >= 0", for errors.
std::string expected_number(std::string_view kind, const FieldInfo& info);

}  // namespace segue
