// Builds the document from parser events, so that limits and duplicate keys are checked before memory is spent.
#include "base/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json_mistakes.h"
#include "base/text.h"

namespace segue {
namespace {

constexpr size_t kLongestExcerpt = 80;
constexpr size_t kLongestReason = 160;

bool is_plain_key(std::string_view key) {
  return !key.empty() && key.size() <= kLongestExcerpt && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '-';
  });
}

// "line 3, column 7" of the last byte read when the parser stopped.
std::string position_text(std::string_view text, size_t bytes_read) {
  const std::string_view before = text.substr(0, bytes_read == 0 ? 0 : std::min(bytes_read - 1, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", line, before.size() - line_start + 1);
}

// The library's message without its error number and position: "syntax error while parsing ...".
std::string_view reason_of(std::string_view message) {
  const size_t number_end = message.find("] ");
  if (number_end != std::string_view::npos) message.remove_prefix(number_end + 2);
  if (message.starts_with("parse error")) message.remove_prefix(std::min(message.find(": "), message.size() - 2) + 2);
  return message;
}

class DocumentBuilder : public nlohmann::json_sax<Json> {
 public:
  DocumentBuilder(std::string_view text, std::string_view source, RaiseError raise, const JsonLimits& limits)
      : text_(text), source_(source), raise_(raise), limits_(limits) {}

  Json take() { return std::move(root_); }

  bool null() override { return place(nullptr); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(number_integer_t value) override { return place(value); }
  bool number_unsigned(number_unsigned_t value) override { return place(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return place(value); }
  bool string(string_t& value) override { return place(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // never produced from text
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.back()->contains(name)) fail(fmt::format("{}: duplicate key", join_json_path(path(), name)));
    keys_.back() = std::move(name);
    return true;
  }

  bool parse_error(std::size_t bytes_read, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    const std::string place =
        limits_.is_line ? fmt::format("column {}", std::max<size_t>(bytes_read, 1)) : position_text(text_, bytes_read);
    const std::string_view reason = reason_of(error.what());
    const std::string mistake = json_mistake(text_, std::max<size_t>(bytes_read, 1) - 1, reason);
    fail(fmt::format("{}: {}", place, mistake.empty() ? printable_line(reason, kLongestReason) : mistake));
    return false;
  }

 private:
  void fail(const std::string& what) const { raise_(fmt::format("{}: {}", source_, what)); }

  Json* add(Json value) {
    if (++values_ > limits_.max_values) fail(fmt::format("expected at most {} values, found more", limits_.max_values));
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[keys_.back()] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool place(Json value) {
    add(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (static_cast<int64_t>(open_.size()) >= limits_.max_depth)
      fail(fmt::format("nested more than {} levels deep", limits_.max_depth));
    open_.push_back(add(std::move(container)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::string path() const {
    std::string text;
    for (size_t level = 0; level + 1 < open_.size(); ++level) {
      const int64_t last = static_cast<int64_t>(open_[level]->size()) - 1;
      if (open_[level]->is_array())
        text += index_in_path(last);
      else
        text = join_json_path(text, keys_[level]);
    }
    return text;
  }

  std::string_view text_;
  std::string_view source_;
  RaiseError raise_;
  const JsonLimits& limits_;
  int64_t values_ = 0;
  Json root_;
  std::vector<Json*> open_;  // the containers around the next value; stable, since only the innermost one grows
  std::vector<std::string> keys_;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view source, RaiseError raise, const JsonLimits& limits) {
  if (static_cast<int64_t>(text.size()) > limits.max_bytes)
    raise(fmt::format("{}: expected at most {} of JSON, found {}", source, human_bytes(limits.max_bytes),
                      human_bytes(static_cast<int64_t>(text.size()))));
  DocumentBuilder builder(text, source, raise, limits);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

std::string format_json(const OrderedJson& document) {
  return document.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string describe_json(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  return printable_line(value.dump(-1, ' ', true, Json::error_handler_t::replace), kLongestExcerpt);
}

std::string printable_line(std::string_view text, size_t longest) {
  std::string line(text.substr(0, longest));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text.size() > longest ? line + "..." : line;
}

std::string join_json_path(std::string_view parent, std::string_view child) {
  const std::string name =
      is_plain_key(child) ? std::string(child) : describe_json(Json(std::string(child.substr(0, kLongestExcerpt))));
  return parent.empty() ? name : fmt::format("{}.{}", parent, name);
}

std::string index_in_path(int64_t index) { return fmt::format("[{}]", index); }

}  // namespace segue
