// Keys below model.memory of kinds that come from an extension: MemoryConfig has no members for them.
//
//   constexpr OwnOption<int64_t> kKeyWidth{"key_width", 16};
//   fields.optional(kKeyWidth.key, memory.own[kKeyWidth], {.meaning = "...", .kinds = ...});  // describes it
//   const int64_t width = memory.own[kKeyWidth];                                              // reads it
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/error.h"

namespace segue {

// A key and its default: of bool, int64_t, double, or text, whose default is a std::string_view.
template <typename T>
struct OwnOption {
  std::string_view key;
  T otherwise = {};
};

class OwnOptions {
 public:
  template <typename T>
  using Held = std::conditional_t<std::is_same_v<T, std::string_view>, std::string, T>;

  // Its value, which is the default until something else is written to it. Throws ContractError where the key holds a
  // value of another type.
  template <typename T>
  Held<T>& operator[](const OwnOption<T>& option) {
    return as<Held<T>>(values_.try_emplace(std::string(option.key), Held<T>(option.otherwise)).first->second,
                       option.key);
  }
  template <typename T>
  Held<T> operator[](const OwnOption<T>& option) const {
    const auto found = values_.find(option.key);
    return found == values_.end() ? Held<T>(option.otherwise) : as<const Held<T>>(found->second, option.key);
  }

  bool operator==(const OwnOptions&) const = default;

 private:
  template <typename T>
  static T& as(auto& value, std::string_view key) {
    T* const held = std::get_if<std::remove_const_t<T>>(&value);
    if (held == nullptr) throw ContractError("the key {} of an extension has two types", key);
    return *held;
  }

  std::map<std::string, std::variant<bool, int64_t, double, std::string>, std::less<>> values_;
};

}  // namespace segue
