// One description per struct: it reads the struct's JSON strictly, writes it, and gives its JSON Schema.
//
//   struct Shard {
//     std::string file;
//     int64_t tokens = 0;
//     void describe(JsonFields& fields) {
//       fields.required("file", file, {.meaning = "name of the shard in the dataset directory"});
//       fields.optional("tokens", tokens, {.meaning = "tokens in it", .unit = "tokens", .minimum = 0});
//     }
//   };
//   const auto shard = read_fields<DataError, Shard>(parse_json<DataError>(text, path), path);
//
// Members may be bool, int64_t, double, std::string, an enum (see NamedEnum), another described struct, or a
// std::vector of any of these. An absent optional key leaves the member as it is; an absent struct is read as {}, so
// that the keys it requires are still asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_text.h"

namespace segue {

class JsonFields;

// What people are told about a key, and the range of its value (of each element, for a list).
struct FieldInfo {
  std::string_view meaning;
  std::string_view unit = {};
  double minimum = -std::numeric_limits<double>::infinity();
  double above = -std::numeric_limits<double>::infinity();  // the value must be greater than this
  double maximum = std::numeric_limits<double>::infinity();
  double below = std::numeric_limits<double>::infinity();  // the value must be less than this
  std::string_view role = {};                              // the schema's "x-role"; empty: none
};

template <typename T>
concept DescribedStruct = requires(T& value, JsonFields& fields) {
  value.describe(fields);
};

// An enum whose enumerators count from 0, written as strings: beside it stands a function
// `std::span<const std::string_view> choices_of(Enum)` with one name per enumerator, in their order.
template <typename T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  { choices_of(value) } -> std::convertible_to<std::span<const std::string_view>>;
};

template <NamedEnum T>
std::string_view name_of_choice(T value) {
  return choices_of(value)[static_cast<size_t>(value)];
}

// What a struct describes itself to; the reader, the writer and the schema are its implementations.
class JsonFields {
 public:
  virtual ~JsonFields() = default;
  template <typename T>
  void required(std::string_view key, T& value, const FieldInfo& info) {
    field(key, value, info, true);
  }
  template <typename T>
  void optional(std::string_view key, T& value, const FieldInfo& info) {
    field(key, value, info, false);
  }

 protected:
  // Turns to a member of the current object, or to an element of the current list; false: nothing there to visit.
  virtual bool enter_key(std::string_view key, const FieldInfo& info, bool required, bool is_struct) = 0;
  virtual void enter_element(int64_t index) = 0;
  virtual void leave() = 0;
  // The current value is of this kind.
  virtual void visit_bool(bool& value) = 0;
  virtual void visit_integer(int64_t& value, const FieldInfo& info) = 0;
  virtual void visit_number(double& value, const FieldInfo& info) = 0;
  virtual void visit_text(std::string& value) = 0;
  virtual void visit_choice(size_t& index, std::span<const std::string_view> names) = 0;
  virtual int64_t visit_list(int64_t size) = 0;  // returns how many elements follow
  virtual void begin_struct() = 0;
  virtual void end_struct() = 0;

 private:
  template <typename T>
  void field(std::string_view key, T& value, const FieldInfo& info, bool is_required) {
    if (!enter_key(key, info, is_required, DescribedStruct<T>)) return;
    visit(value, info);
    leave();
  }

  void visit(bool& value, const FieldInfo& /*info*/) { visit_bool(value); }
  void visit(int64_t& value, const FieldInfo& info) { visit_integer(value, info); }
  void visit(double& value, const FieldInfo& info) { visit_number(value, info); }
  void visit(std::string& value, const FieldInfo& /*info*/) { visit_text(value); }

  template <NamedEnum T>
  void visit(T& value, const FieldInfo& /*info*/) {
    auto index = static_cast<size_t>(value);
    visit_choice(index, choices_of(value));
    value = static_cast<T>(index);
  }

  template <DescribedStruct T>
  void visit(T& value, const FieldInfo& /*info*/) {
    begin_struct();
    value.describe(*this);
    end_struct();
  }

  template <typename T>
  void visit(std::vector<T>& list, const FieldInfo& info) {
    const int64_t size = visit_list(static_cast<int64_t>(list.size()));
    list.resize(static_cast<size_t>(size));
    for (size_t i = 0; i < list.size(); ++i) {
      T element = std::move(list[i]);  // by value: a std::vector<bool> has no references to give
      enter_element(static_cast<int64_t>(i));
      visit(element, info);
      leave();
      list[i] = std::move(element);
    }
  }
};

using Describe = std::function<void(JsonFields&)>;

// kWhole: absent required keys are errors. kPresentKeys: they are not; only what is there is read.
enum class ReadMode : uint8_t { kWhole, kPresentKeys };

// The untyped halves of the templates below. `prototype` describes a default-built struct.
void read_described(const Json& document, std::string_view source, RaiseError raise, ReadMode mode,
                    const Describe& describe, const Describe& prototype);
OrderedJson write_described(const Describe& describe);
OrderedJson schema_of_described(const Describe& prototype);

// Reads over the values already in `value`. Any of these throws Error naming source, JSON path, expected and found:
// a wrong type, a number out of range or not whole where an integer is asked, an unknown choice, a missing required
// key, an unknown key (with the nearest known one, wherever in the document it belongs).
template <typename Error, DescribedStruct T>
void read_fields_into(T& value, const Json& document, std::string_view source, ReadMode mode = ReadMode::kWhole) {
  read_described(
      document, source, &raise_as<Error>, mode, [&value](JsonFields& fields) { value.describe(fields); },
      [](JsonFields& fields) { T{}.describe(fields); });
}

template <typename Error, DescribedStruct T>
T read_fields(const Json& document, std::string_view source) {
  T value;
  read_fields_into<Error>(value, document, source);
  return value;
}

// Every key, in the order of the description. Throws ContractError when a number is not finite: JSON cannot say it.
template <DescribedStruct T>
OrderedJson write_fields(T value) {
  return write_described([&value](JsonFields& fields) { value.describe(fields); });
}

// JSON Schema (draft 2020-12) of T, with meanings, units, ranges, choices and the defaults of a default-built T.
template <DescribedStruct T>
OrderedJson schema_of() {
  return schema_of_described([](JsonFields& fields) { T{}.describe(fields); });
}

}  // namespace segue
