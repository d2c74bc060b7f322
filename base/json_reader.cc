// Reads a described struct from a document, strictly.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/json_fields.h"
#include "base/json_paths.h"
#include "base/text.h"

namespace segue {
namespace {

// ".memory.mem_len" of {"memory": {"mem_len": 4}}, as an override makes it; "" of what is no object with one key.
std::string single_keys_in(const Json& value) {
  if (!value.is_object() || value.size() != 1) return {};
  return fmt::format(".{}{}", join_json_path("", value.begin().key()), single_keys_in(value.begin().value()));
}

// The number that a text has: "30", or with another mark than a point: "0,5", "1,000". Null where it has none.
Json number_of_text(std::string text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const size_t comma = text.find(',');
  if (comma != std::string::npos) {
    const bool is_of_thousands = text.size() - comma > 3 && std::ranges::all_of(text.substr(comma + 1), [&](char c) {
                                   return is_digit(c) || c == ',';
                                 });
    if (is_of_thousands) {
      std::erase(text, ',');
    } else {
      text[comma] = '.';
    }
  }
  std::erase(text, '_');
  const Json number = Json::accept(text) ? Json::parse(text) : Json();
  return number.is_number() ? number : Json();
}

// Of a number in quotes that would be taken without them.
std::string hint_at_number(const Json& found, const FieldInfo& info) {
  const Json number = found.is_string() ? number_of_text(found.get<std::string>()) : Json();
  if (number.is_null() || !is_in_range(number.get<double>(), info)) return {};
  const bool is_as_written = number.dump() == found.get_ref<const std::string&>();
  return fmt::format("; write {}{}", is_as_written ? "it without quotes: " : "", number.dump());
}

// "; write 100000" of 1e5, where that would be taken.
std::string hint_at_integer(const Json& found, const FieldInfo& info) {
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  const bool is_text = found.is_string();
  const Json number = is_text ? number_of_text(found.get<std::string>()) : found;
  if (number.is_number_integer()) return is_text ? hint_at_number(found, info) : "";
  if (!number.is_number()) return {};
  const double value = number.get<double>();
  if (std::floor(value) != value || std::abs(value) > kLargestExact || !is_in_range(value, info)) return {};
  return fmt::format("; write {}", static_cast<int64_t>(value));
}

std::string hint_at_bool(const Json& found) {
  constexpr std::array<std::string_view, 4> kYes{"true", "yes", "on", "1"};
  constexpr std::array<std::string_view, 4> kNo{"false", "no", "off", "0"};
  std::string word = found.is_string() ? found.get<std::string>() : found.dump();
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (std::ranges::find(kYes, word) != kYes.end()) return "; write true";
  return std::ranges::find(kNo, word) != kNo.end() ? "; write false" : "";
}

// Where an object stands for an element of the list, or an element for the list.
std::string hint_at_list(const Json& found, const std::string& path) {
  if (found.is_object() && found.size() == 1) {
    const std::string& key = found.begin().key();
    const bool is_index = !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
    return did_you_mean(is_index ? fmt::format("{}[{}]{}", path, key, single_keys_in(found.begin().value()))
                                 : fmt::format("{}[0]{}", path, single_keys_in(found)));
  }
  if (found.is_string()) {
    const auto& text = found.get_ref<const std::string&>();
    const std::string list = fmt::format("[{}]", text);
    const bool is_of_numbers = !text.empty() && text.find_first_not_of("0123456789.,-+eE ") == std::string::npos;
    return is_of_numbers && Json::accept(list) ? fmt::format("; write {}", list) : "";
  }
  constexpr std::string_view kLayers = "layers";  // others count them by this name
  if (found.is_number() && path.ends_with(kLayers))
    return did_you_mean(path.substr(0, path.size() - kLayers.size()) + "n_layer");
  return found.is_number() ? fmt::format("; write [{}]", found.dump()) : "";
}

class Reader : public JsonFields {
 public:
  Reader(const Json& document, std::string_view source, RaiseError raise) : source_(source), raise_(raise) {
    places_.push_back({&document, {}, 0, {}, {}});
  }

  void visit_document(const Describe& describe) {
    begin_struct();
    describe(*this);
    end_struct();
  }

  // Unknown keys come before missing ones: a mistyped key is both, and its own name helps more.
  void report_keys(ReadMode mode, const Describe& prototype) const {
    if (!unknown_.empty()) report_unknown(prototype);
    if (mode == ReadMode::kWhole && !missing_.empty()) raise_(missing_);
  }

 protected:
  bool enter_key(std::string_view key, const FieldInfo& info, bool required, bool is_struct) override {
    Place& object = places_.back();
    object.known.push_back(key);
    const auto found = object.value->find(key);
    const bool present = found != object.value->end();
    if (!present && required && missing_.empty())
      missing_ =
          fmt::format("{}: {}: required key is missing ({})", source_, join_json_path(path(), key), info.meaning);
    if (!present && !is_struct) return false;
    places_.push_back({present ? &*found : &absent_struct_, key, 0, info.of_others, {}});
    return true;
  }

  void enter_element(int64_t index) override {
    places_.push_back({&(*places_.back().value)[static_cast<size_t>(index)], {}, index, {}, {}});
  }

  void leave() override { places_.pop_back(); }

  void visit_bool(bool& value) override {
    if (!found().is_boolean()) fail("true or false", hint_at_bool(found()));
    value = found().get<bool>();
  }

  void visit_integer(int64_t& value, const FieldInfo& info) override {
    const bool fits = found().is_number_integer() && (!found().is_number_unsigned() || found().get<int64_t>() >= 0);
    if (!fits || !is_in_range(found().get<double>(), info))
      fail(expected_number("an integer", info), hint_at_integer(found(), info));
    value = found().get<int64_t>();
  }

  void visit_number(double& value, const FieldInfo& info) override {
    const bool finite = found().is_number() && std::isfinite(found().get<double>());
    if (!finite || !is_in_range(found().get<double>(), info))
      fail(expected_number("a number", info), hint_at_number(found(), info));
    value = found().get<double>();
  }

  void visit_text(std::string& value) override {
    if (!found().is_string())
      fail("a string", found().is_primitive() && !found().is_null()
                           ? fmt::format("; in double quotes it is one: \"{}\"", found().dump())
                           : "");
    // No file and no message has one, and whoever reads C's strings stops there.
    if (found().get_ref<const std::string&>().find('\0') != std::string::npos) fail("a string without NUL (\\u0000)");
    value = found().get<std::string>();
  }

  void visit_choice(size_t& index, std::span<const std::string_view> names) override {
    const std::string expected = fmt::format("one of \"{}\"", fmt::join(names, "\", \""));
    if (!found().is_string()) fail(expected);
    const auto& word = found().get_ref<const std::string&>();
    const auto at = std::find(names.begin(), names.end(), word);
    if (at == names.end()) {
      const std::string_view near = nearest_word(word, {names.begin(), names.end()});
      fail(expected, near.empty() ? std::string(places_.back().of_others) : did_you_mean(fmt::format("\"{}\"", near)));
    }
    index = static_cast<size_t>(at - names.begin());
  }

  int64_t visit_list(int64_t /*size*/) override {
    if (!found().is_array()) fail("a list", hint_at_list(found(), path()));
    return static_cast<int64_t>(found().size());
  }

  void begin_struct() override {
    if (!found().is_object() && !found().is_string()) fail("an object");
  }

  void end_struct() override {
    if (found().is_string()) fail("an object", hint_at_kind());
    if (!unknown_.empty()) return;
    const std::vector<std::string_view>& known = places_.back().known;
    for (const auto& [key, value] : found().items())
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        unknown_ = join_json_path(path(), key);
        innermost_ = unknown_ + single_keys_in(value);
        return;
      }
  }

 private:
  // Of a word in place of an object, which is mostly the object's kind.
  std::string hint_at_kind() const {
    const std::vector<std::string_view>& known = places_.back().known;
    if (std::ranges::find(known, "kind") == known.end() || places_.size() == 1) return {};
    return fmt::format(R"(; write {{"kind": {}}}, or set {})", describe_json(found()), join_json_path(path(), "kind"));
  }

  // A value of the document on the way from its root to the current one.
  struct Place {
    const Json* value;
    std::string_view key;  // empty: an element, or the root
    int64_t index;
    std::string_view of_others;           // see FieldInfo
    std::vector<std::string_view> known;  // keys described so far, when the value is an object
  };

  const Json& found() const { return *places_.back().value; }

  std::string path() const {
    std::string text;
    for (auto place = std::next(places_.begin()); place != places_.end(); ++place) {
      if (place->key.empty())
        text += index_in_path(place->index);
      else
        text = join_json_path(text, place->key);
    }
    return text;
  }

  void fail(std::string_view expected, std::string_view hint = "") const {
    const std::string where = places_.size() == 1 ? "the document" : path();
    raise_(fmt::format("{}: {}: expected {}, found {}{}", source_, where, expected, describe_json(found()), hint));
  }

  void report_unknown(const Describe& prototype) const {
    const std::string renamed = renamed_key_path(unknown_, prototype);
    if (!renamed.empty()) raise_(fmt::format("{}: {}: renamed to {}", source_, unknown_, renamed));
    raise_(fmt::format("{}: {}: unknown key{}", source_, unknown_, hint_at_key(unknown_, innermost_, prototype)));
  }

  const Json absent_struct_ = Json::object();
  std::string_view source_;
  RaiseError raise_;
  std::vector<Place> places_;
  std::string unknown_;    // path of the first unknown key
  std::string innermost_;  // and of the one key in its value, and so on
  std::string missing_;    // message about the first missing key
};

}  // namespace

void read_described(const Json& document, std::string_view source, RaiseError raise, ReadMode mode,
                    const Describe& describe, const Describe& prototype) {
  Reader reader(document, source, raise);
  reader.visit_document(describe);
  reader.report_keys(mode, prototype);
}

}  // namespace segue
