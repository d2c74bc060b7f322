// Writes a described struct as a document.
#include <cmath>

#include "base/error.h"
#include "base/json_fields.h"

namespace segue {
namespace {

class Writer : public JsonFields {
 public:
  explicit Writer(WrittenKeys keys) : keys_(keys) {}

  OrderedJson write(const Describe& describe) {
    begin_struct();
    describe(*this);
    end_struct();
    return std::move(root_);
  }

 protected:
  bool enter_key(std::string_view key, const FieldInfo& info, bool /*required*/, bool /*is_struct*/) override {
    if (info.presence == Presence::kAbsent || (keys_ == WrittenKeys::kOfKind && !is_read(info))) return false;
    places_.push_back(&(*places_.back())[std::string(key)]);
    return true;
  }
  void enter_element(int64_t /*index*/) override { places_.push_back(&places_.back()->emplace_back()); }
  void leave() override { places_.pop_back(); }

  void visit_bool(bool& value) override { *places_.back() = value; }
  void visit_integer(int64_t& value, const FieldInfo& /*info*/) override { *places_.back() = value; }
  void visit_number(double& value, const FieldInfo& info) override {
    if (!std::isfinite(value)) throw ContractError("JSON cannot hold {} ({})", value, info.meaning);
    *places_.back() = value;
  }
  void visit_text(std::string& value) override { *places_.back() = value; }
  void visit_choice(size_t& index, std::span<const std::string_view> names) override {
    if (index >= names.size()) throw ContractError("enumerator {} has no name after \"{}\"", index, names.back());
    *places_.back() = names[index];
  }
  int64_t visit_list(int64_t size) override {
    *places_.back() = OrderedJson::array();
    return size;
  }
  void begin_struct() override { *places_.back() = OrderedJson::object(); }
  void end_struct() override {}

 private:
  WrittenKeys keys_;
  OrderedJson root_;
  std::vector<OrderedJson*> places_{&root_};  // from the root to the current value
};

}  // namespace

OrderedJson write_described(const Describe& describe, WrittenKeys keys) { return Writer(keys).write(describe); }

}  // namespace segue
