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
// Members may be bool, int64_t, double, std::string, std::filesystem::path, an enum (see base/choices.h), another
// described struct, a std::vector of any of these, or a std::optional, which is not written while it holds nothing. An
// absent optional key leaves the member as it is; an absent struct is read as {}, so that the keys it requires are
// still asked for.
//
// A struct with a `kind` may have keys that only some kinds read:
//
//   fields.kind(kind, {.meaning = "how the learning rate falls"});
//   fields.optional("patience", patience, {.meaning = "...", .kinds = Kinds(ScheduleKind::kPlateau)});
//
// Any key is read, so that it does not matter what says the kind first; check_kinds refuses those that do nothing, and
// what is written has none of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/field_info.h"
#include "base/json_text.h"

namespace segue {

class JsonFields;

template <typename T>
concept DescribedStruct = requires(T& value, JsonFields& fields) {
  value.describe(fields);
};

// A struct describes itself to this interface; the reader, the writer and the schema implement it.
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
  // The key "kind", before those that only some kinds read.
  template <NamedEnum T>
  void kind(T& value, const FieldInfo& info) {
    field("kind", value, info, false);
    kinds_.back() = {static_cast<size_t>(value), choices_of(value)};
  }

 protected:
  // The kind of the current struct, where it has one.
  struct Kind {
    size_t index = 0;
    std::span<const std::string_view> names = {};
  };
  const Kind& kind_here() const { return kinds_.back(); }
  bool is_read(const FieldInfo& info) const;
  std::vector<std::string_view> readers_of(const FieldInfo& info) const;  // names of the kinds

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
  struct IsOptional : std::false_type {};
  template <typename T>
  struct IsOptional<std::optional<T>> : std::true_type {};

  template <typename T>
  void field(std::string_view key, T& value, const FieldInfo& info, bool is_required) {
    FieldInfo told = info;
    if constexpr (TabledEnum<T>) told.words = table_of(value).explained();
    if constexpr (IsOptional<T>::value) told.presence = value ? Presence::kPresent : Presence::kAbsent;
    if (!enter_key(key, told, is_required, DescribedStruct<T>)) return;
    visit(value, told);
    leave();
  }

  void visit(bool& value, const FieldInfo& /*info*/) { visit_bool(value); }
  void visit(int64_t& value, const FieldInfo& info) { visit_integer(value, info); }
  void visit(double& value, const FieldInfo& info) { visit_number(value, info); }
  void visit(std::string& value, const FieldInfo& /*info*/) { visit_text(value); }

  void visit(std::filesystem::path& value, const FieldInfo& /*info*/) {
    std::string text = value.string();
    visit_text(text);
    value = text;
  }

  template <typename T>
  void visit(std::optional<T>& value, const FieldInfo& info) {
    T held = value.value_or(T{});
    visit(held, info);
    value = std::move(held);
  }

  template <NamedEnum T>
  void visit(T& value, const FieldInfo& /*info*/) {
    auto index = static_cast<size_t>(value);
    visit_choice(index, choices_of(value));
    value = static_cast<T>(index);
  }

  template <DescribedStruct T>
  void visit(T& value, const FieldInfo& /*info*/) {
    begin_struct();
    kinds_.emplace_back();
    value.describe(*this);
    kinds_.pop_back();
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

  std::vector<Kind> kinds_{Kind{}};  // of the structs from the root to the current one
};

using Describe = std::function<void(JsonFields&)>;

// kOfKind: without those that the kind beside them does not read.
enum class WrittenKeys : uint8_t { kOfKind, kEvery };

// kWhole: absent required keys are errors. kPresentKeys: they are not; only what is there is read.
enum class ReadMode : uint8_t { kWhole, kPresentKeys };

// The untyped halves of the templates below. `prototype` describes a default-built struct.
void read_described(const Json& document, std::string_view source, RaiseError raise, ReadMode mode,
                    const Describe& describe, const Describe& prototype);
OrderedJson write_described(const Describe& describe, WrittenKeys keys = WrittenKeys::kOfKind);
OrderedJson schema_of_described(const Describe& prototype);
void check_kinds_described(std::string_view source, std::string_view path, RaiseError raise, const Describe& describe,
                           const Describe& prototype);

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

// In the order of the description. Throws ContractError when a number is not finite: JSON cannot say it.
template <DescribedStruct T>
OrderedJson write_fields(T value) {
  return write_described([&value](JsonFields& fields) { value.describe(fields); });
}

// Throws Error naming source, key, expected and found when a member breaks its own description.
template <typename Error, DescribedStruct T>
void check_fields(const T& value, std::string_view source) {
  static_cast<void>(read_fields<Error, T>(write_fields(value), source));
}

// Throws Error naming source, key, kind, expected and found when a key that the kind beside it does not read has
// another value than a default-built T gives it; T is what lies at `path` (empty: the document). Lists are not looked
// into.
template <typename Error, DescribedStruct T>
void check_kinds(T value, std::string_view source, std::string_view path = "") {
  check_kinds_described(
      source, path, &raise_as<Error>, [&value](JsonFields& fields) { value.describe(fields); },
      [](JsonFields& fields) { T{}.describe(fields); });
}

// JSON Schema (draft 2020-12) of T, with meanings, units, ranges, choices, the defaults of a default-built T, and as
// "x-kinds" the kinds that read a key, where not all do.
template <DescribedStruct T>
OrderedJson schema_of() {
  return schema_of_described([](JsonFields& fields) { T{}.describe(fields); });
}

}  // namespace segue
