// Refuses keys of a config that the kind beside them does not read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "base/json_fields.h"

namespace segue {
namespace {

constexpr size_t kLongestValue = 80;

// A list is written out, unlike in other errors: of the lists that are unset, most are empty.
std::string text_of(const OrderedJson& value) { return printable_line(value.dump(), kLongestValue); }

// A key that the kind beside it does not read.
struct UnreadKey {
  std::string path;
  OrderedJson::json_pointer pointer;
  std::string parent;  // path of the struct that holds it
  std::string kind;
  std::vector<std::string_view> readers;
};

class UnreadKeys : public JsonFields {
 public:
  explicit UnreadKeys(std::string_view path) : paths_{std::string(path)} {}

  std::vector<UnreadKey> list(const Describe& describe) {
    describe(*this);
    return std::move(unread_);
  }

 protected:
  bool enter_key(std::string_view key, const FieldInfo& info, bool /*required*/, bool /*is_struct*/) override {
    if (info.presence == Presence::kAbsent) return false;
    const std::string& parent = paths_.back();
    std::string path = join_json_path(parent, key);
    const OrderedJson::json_pointer pointer = pointers_.back() / std::string(key);
    if (!is_read(info))
      unread_.push_back({path, pointer, parent, std::string(kind_here().names[kind_here().index]), readers_of(info)});
    paths_.push_back(std::move(path));
    pointers_.push_back(pointer);
    return true;
  }
  void enter_element(int64_t /*index*/) override {}
  void leave() override {
    paths_.pop_back();
    pointers_.pop_back();
  }
  void visit_bool(bool& /*value*/) override {}
  void visit_integer(int64_t& /*value*/, const FieldInfo& /*info*/) override {}
  void visit_number(double& /*value*/, const FieldInfo& /*info*/) override {}
  void visit_text(std::string& /*value*/) override {}
  void visit_choice(size_t& /*index*/, std::span<const std::string_view> /*names*/) override {}
  int64_t visit_list(int64_t /*size*/) override { return 0; }
  void begin_struct() override {}
  void end_struct() override {}

 private:
  std::vector<std::string> paths_;  // from the root to the current value
  std::vector<OrderedJson::json_pointer> pointers_{OrderedJson::json_pointer()};
  std::vector<UnreadKey> unread_;
};

}  // namespace

void check_kinds_described(std::string_view source, std::string_view path, RaiseError raise, const Describe& describe,
                           const Describe& prototype) {
  const OrderedJson values = write_described(describe, WrittenKeys::kEvery);
  const OrderedJson unset = write_described(prototype, WrittenKeys::kEvery);
  for (const UnreadKey& key : UnreadKeys(path).list(describe)) {
    const OrderedJson& found = values.at(key.pointer);
    const OrderedJson& expected = unset.at(key.pointer);
    if (found == expected) continue;
    raise(fmt::format(R"({}: {}: expected {} with {} = "{}" (read by "{}"), found {})", source, key.path,
                      text_of(expected), join_json_path(key.parent, "kind"), key.kind,
                      fmt::join(key.readers, R"(", ")"), text_of(found)));
  }
}

bool JsonFields::is_read(const FieldInfo& info) const {
  if (info.kinds.are_all()) return true;
  if (kind_here().names.empty()) throw ContractError("a key of some kinds comes before the kind ({})", info.meaning);
  return info.kinds.contain(kind_here().index);
}

std::vector<std::string_view> JsonFields::readers_of(const FieldInfo& info) const {
  std::vector<std::string_view> readers;
  for (size_t kind = 0; kind < kind_here().names.size(); ++kind) {
    if (info.kinds.contain(kind)) readers.push_back(kind_here().names[kind]);
  }
  return readers;
}

}  // namespace segue
