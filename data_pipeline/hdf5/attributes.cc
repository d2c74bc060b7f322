// Attributes in their object's header (section IV.A.2.m) or in a heap, and texts in another heap (section III.E).
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json_text.h"
#include "data_pipeline/hdf5/heap.h"
#include "data_pipeline/hdf5/types.h"

namespace segue {

namespace {

constexpr uint64_t kLongestText = 65536;

constexpr uint64_t rounded_up(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

struct Attribute {
  std::string where;  // for messages
  Hdf5Type type;
  std::vector<uint64_t> extents;
  std::vector<std::byte> value;
};

// Nothing for an attribute of another name, whatever it is: files carry many that do not concern us.
std::optional<Attribute> parse_attribute(const Hdf5Object& object, std::span<const std::byte> body,
                                         std::string_view name) {
  const Hdf5Bytes& file = object.file();
  Hdf5Cursor cursor(file, body, "an attribute");
  const uint64_t version = cursor.number(1);
  if (version < 1 || version > 3) file.fail("an attribute: expected version 1 to 3, found {}", version);
  const uint64_t flags = cursor.number(1);
  const uint64_t lengths[] = {cursor.number(2), cursor.number(2), cursor.number(2)};
  if (version == 3) cursor.skip(1);
  const auto next = [&](uint64_t length) {
    const std::span<const std::byte> part = cursor.block(version == 1 ? rounded_up(length) : length);
    return part.first(length);
  };
  if (hdf5_text(next(lengths[0])) != name) return std::nullopt;
  if (version > 1 && flags != 0)
    file.fail("attribute \"{}\" of {} shares its type, which is not read", name, object.name());
  Attribute attribute;
  attribute.where = fmt::format("attribute \"{}\" of {}", name, object.name());
  attribute.type = parse_hdf5_type({file, next(lengths[1]), attribute.where});
  attribute.extents = parse_hdf5_extents({file, next(lengths[2]), attribute.where});
  attribute.value.assign(cursor.rest().begin(), cursor.rest().end());
  return attribute;
}

// In a heap, where there are many (section IV.A.2.v).
std::optional<Attribute> find_attribute_in_heap(const Hdf5Object& object, std::string_view name) {
  constexpr uint64_t kAttributeNames = 8;
  const Hdf5Message* const info = object.find(Hdf5Kind::kAttributeInfo);
  if (info == nullptr) return std::nullopt;
  Hdf5Cursor cursor(object.file(), info->body, object.name());
  cursor.expect_version(0);
  cursor.skip((cursor.number(1) & 1) != 0 ? 2 : 0);
  const uint64_t heap = cursor.number(8);
  if (heap == kHdf5Nowhere) return std::nullopt;
  const uint64_t tree = cursor.number(8);
  for (const std::vector<std::byte>& body :
       find_in_hdf5_heap(object.file(), heap, tree, kAttributeNames, name, object.name()))
    if (std::optional<Attribute> attribute = parse_attribute(object, body, name)) return attribute;
  return std::nullopt;
}

std::optional<Attribute> find_attribute(const Hdf5Object& object, std::string_view name) {
  bool some_shared = false;  // a shared message does not hold its name
  for (const Hdf5Message* const message : object.all(Hdf5Kind::kAttribute)) {
    some_shared = some_shared || message->is_shared;
    if (message->is_shared) continue;
    if (std::optional<Attribute> attribute = parse_attribute(object, message->body, name)) return attribute;
  }
  if (some_shared) object.file().fail("an attribute of {} is shared, which is not read", object.name());
  return find_attribute_in_heap(object, name);
}

bool is_one(const Attribute& attribute) {
  return std::ranges::all_of(attribute.extents, [](uint64_t extent) { return extent == 1; });
}

std::string text_elsewhere(const Hdf5Bytes& file, const Attribute& attribute) {
  Hdf5Cursor reference(file, attribute.value, attribute.where);
  const uint64_t length = reference.number(4);
  const uint64_t address = reference.number(8);
  const uint64_t wanted = reference.number(4);
  if (length == 0) return {};
  const std::vector<std::byte> head = file.piece(address, 16, "a heap of texts");
  Hdf5Cursor cursor(file, head, "a heap of texts");
  cursor.expect_signature("GCOL");
  cursor.expect_version(1);
  cursor.skip(3);
  const std::vector<std::byte> heap = file.piece(address, cursor.number(8), "a heap of texts");
  Hdf5Cursor objects(file, heap, "a heap of texts");
  objects.skip(head.size());
  for (uint64_t index = 1; objects.left() >= head.size() && index != 0;) {
    index = objects.number(2);
    objects.skip(6);
    const uint64_t bytes = objects.number(8);
    if (index == 0) break;  // what follows is free
    if (bytes > objects.left()) file.fail("a heap of texts ends within");
    const std::span<const std::byte> text = objects.block(std::min<uint64_t>(rounded_up(bytes), objects.left()));
    if (index == wanted) return std::string(hdf5_text(text.first(std::min(length, bytes))));
  }
  file.fail("{} is a text that its heap does not hold", attribute.where);
}

bool is_text(const Attribute& attribute) {
  return attribute.type.kind == Hdf5Type::Kind::kText || attribute.type.kind == Hdf5Type::Kind::kTextElsewhere;
}

std::string text_of(const Hdf5Object& object, const Attribute& attribute, std::string_view name) {
  const Hdf5Bytes& file = object.file();
  if (attribute.type.kind == Hdf5Type::Kind::kTextElsewhere) return text_elsewhere(file, attribute);
  if (attribute.type.bytes > std::min<uint64_t>(kLongestText, attribute.value.size()))
    file.fail("attribute \"{}\" ends within", name);
  std::string text(hdf5_text(std::span(attribute.value).first(attribute.type.bytes)));
  if (attribute.type.is_padded_with_blanks) text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

// Whole numbers up to where every one has a double of its own.
std::optional<int64_t> whole_number(double value) {
  constexpr double kLargest = 9007199254740992;
  if (!(std::abs(value) <= kLargest) || value != std::trunc(value)) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<std::string> hdf5_text_attribute(const Hdf5Object& object, std::string_view name) {
  const std::optional<Attribute> found = find_attribute(object, name);
  if (!found) return std::nullopt;
  if (!is_text(*found) || !is_one(*found))
    object.file().fail("attribute \"{}\": expected one text, found something else", name);
  return text_of(object, *found, name);
}

std::optional<int64_t> hdf5_integer_attribute(const Hdf5Object& object, std::string_view name) {
  constexpr size_t kLongestShown = 40;
  const std::optional<Attribute> found = find_attribute(object, name);
  if (!found) return std::nullopt;
  const Hdf5Bytes& file = object.file();
  const bool is_float = found->type.kind == Hdf5Type::Kind::kFloat;
  if (!is_one(*found) || (!is_float && !is_text(*found) && found->type.kind != Hdf5Type::Kind::kWhole))
    file.fail("attribute \"{}\": expected one whole number, found something else", name);
  if (is_text(*found)) {
    const std::string text = text_of(object, *found, name);
    if (const std::optional<int64_t> value = whole_number(text)) return value;
    file.fail(R"(attribute "{}": expected one whole number, found the text "{}")", name,
              printable_line(text, kLongestShown));
  }
  if (found->type.bytes > found->value.size()) file.fail("attribute \"{}\" ends within", name);
  if (!is_float) return hdf5_whole_number(found->type, found->value);
  const double value = hdf5_float(found->type, found->value);
  if (const std::optional<int64_t> whole = whole_number(value)) return whole;
  file.fail("attribute \"{}\": expected one whole number, found {}", name, value);
}

}  // namespace segue
