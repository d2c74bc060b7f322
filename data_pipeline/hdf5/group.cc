// The forms in which a group lists its children: a tree of names (section III.A, III.B), messages of links, and a heap.
#include <algorithm>
#include <optional>

#include "base/json_text.h"
#include "data_pipeline/hdf5/heap.h"
#include "data_pipeline/hdf5/object.h"

namespace segue {

namespace {

constexpr size_t kMostNodes = 4096;
constexpr uint64_t kMostEntries = 65536;  // of all nodes that a name is looked for in

[[noreturn]] void refuse_link(const Hdf5Bytes& file, std::string_view name, std::string_view kind) {
  file.fail("\"{}\": expected a dataset of this file, found {}, which is not followed", name, kind);
}

// A group's names, and its tree whose leaves give each name its object.
class SymbolTable {
 public:
  SymbolTable(const Hdf5Object& group, const Hdf5Message& message) : file_(group.file()) {
    Hdf5Cursor cursor(file_, message.body, kWhat);
    tree_ = cursor.number(8);
    read_names(cursor.number(8));
  }

  std::optional<uint64_t> find(std::string_view name) {
    std::optional<uint64_t> found;
    visit(tree_, std::nullopt, name, found);
    return found;
  }

 private:
  static constexpr std::string_view kWhat = "the list of datasets";

  void read_names(uint64_t address) {
    const std::vector<std::byte> heap = file_.piece(address, 32, kWhat);
    Hdf5Cursor cursor(file_, heap, kWhat);
    cursor.expect_signature("HEAP");
    cursor.expect_version(0);
    cursor.skip(3);
    const uint64_t length = cursor.number(8);
    cursor.skip(8);
    names_ = file_.piece(cursor.number(8), length, kWhat);
  }

  // A node's level is one less than its parent's, so that no way leads round.
  void visit(uint64_t address, std::optional<uint64_t> level, std::string_view name, std::optional<uint64_t>& found) {
    if (++nodes_ > kMostNodes) file_.fail("{} has more than {} parts", kWhat, kMostNodes);
    const std::vector<std::byte> head = file_.piece(address, 24, kWhat);
    Hdf5Cursor cursor(file_, head, kWhat);
    cursor.expect_signature("TREE");
    const uint64_t kind = cursor.number(1);
    const uint64_t here = cursor.number(1);
    if (kind != 0 || (level && here != *level)) file_.fail("{} is damaged", kWhat);
    const uint64_t children = cursor.number(2);
    const std::vector<std::byte> body = file_.piece(address + 24, children * 16 + 8, kWhat);
    Hdf5Cursor entries(file_, body, kWhat);
    for (uint64_t i = 0; i < children && !found; ++i) {
      entries.skip(8);  // the first name of the child, which we do not need for so few
      const uint64_t child = entries.number(8);
      if (here > 0)
        visit(child, here - 1, name, found);
      else
        search(child, name, found);
    }
  }

  void search(uint64_t address, std::string_view name, std::optional<uint64_t>& found) {
    constexpr uint64_t kEntryBytes = 40;
    constexpr uint64_t kSymbolicLink = 2;
    if (++nodes_ > kMostNodes) file_.fail("{} has more than {} parts", kWhat, kMostNodes);
    const std::vector<std::byte> head = file_.piece(address, 8, kWhat);
    Hdf5Cursor cursor(file_, head, kWhat);
    cursor.expect_signature("SNOD");
    cursor.expect_version(1);
    cursor.skip(1);
    const uint64_t entries = cursor.number(2);
    entries_ += entries;
    if (entries_ > kMostEntries) file_.fail("{} has more than {} entries", kWhat, kMostEntries);
    const std::vector<std::byte> body = file_.piece(address + 8, entries * kEntryBytes, kWhat);
    for (uint64_t i = 0; i < entries; ++i) {
      Hdf5Cursor entry(file_, std::span(body).subspan(i * kEntryBytes, kEntryBytes), kWhat);
      const uint64_t offset = entry.number(8);
      if (!is_at(offset, name)) continue;
      const uint64_t object = entry.number(8);
      if (entry.number(4) == kSymbolicLink) refuse_link(file_, name, "a soft link");
      found = object;
      return;
    }
  }

  // Looks at no more of the heap than the name takes, since the next zero may be megabytes away.
  bool is_at(uint64_t offset, std::string_view name) const {
    if (offset > names_.size()) return false;
    const std::span<const std::byte> rest = std::span(names_).subspan(offset);
    return hdf5_text(rest.first(std::min(rest.size(), name.size() + 1))) == name;
  }

  const Hdf5Bytes& file_;
  uint64_t tree_ = 0;
  std::vector<std::byte> names_;
  size_t nodes_ = 0;
  uint64_t entries_ = 0;
};

// Section IV.A.2.g.
std::optional<uint64_t> object_of_link(const Hdf5Bytes& file, std::span<const std::byte> body, std::string_view name) {
  constexpr uint64_t kKindFlag = 0x08;
  constexpr uint64_t kOrderFlag = 0x04;
  constexpr uint64_t kCharactersFlag = 0x10;
  Hdf5Cursor cursor(file, body, "a link");
  cursor.expect_version(1);
  const uint64_t flags = cursor.number(1);
  const uint64_t kind = (flags & kKindFlag) != 0 ? cursor.number(1) : 0;
  if ((flags & kOrderFlag) != 0) cursor.skip(8);
  if ((flags & kCharactersFlag) != 0) cursor.skip(1);
  const uint64_t length = cursor.number(size_t{1} << (flags & 3));
  if (hdf5_text(cursor.block(length)) != name) return std::nullopt;
  if (kind == 0) return cursor.number(8);
  refuse_link(file, name, kind == 1 ? "a soft link" : "a link to another file");
}

// In a heap, where there are many (section IV.A.2.c).
std::optional<uint64_t> find_link_in_heap(const Hdf5Object& group, std::string_view name) {
  constexpr uint64_t kLinkNames = 5;
  const Hdf5Message* const info = group.find(Hdf5Kind::kLinkInfo);
  if (info == nullptr) return std::nullopt;
  Hdf5Cursor cursor(group.file(), info->body, group.name());
  cursor.expect_version(0);
  cursor.skip((cursor.number(1) & 1) != 0 ? 8 : 0);
  const uint64_t heap = cursor.number(8);
  if (heap == kHdf5Nowhere) return std::nullopt;
  const uint64_t tree = cursor.number(8);
  for (const std::vector<std::byte>& link : find_in_hdf5_heap(group.file(), heap, tree, kLinkNames, name, group.name()))
    if (const auto address = object_of_link(group.file(), link, name)) return address;
  return std::nullopt;
}

std::optional<uint64_t> address_of_child(const Hdf5Object& group, std::string_view name) {
  if (const Hdf5Message* const table = group.find(Hdf5Kind::kSymbolTable)) return SymbolTable(group, *table).find(name);
  for (const Hdf5Message* const link : group.all(Hdf5Kind::kLink)) {
    if (const auto address = object_of_link(group.file(), link->body, name)) return address;
  }
  return find_link_in_heap(group, name);
}

}  // namespace

bool has_hdf5_child(const Hdf5Object& group, std::string_view name) {
  return address_of_child(group, name).has_value();
}

Hdf5Object open_hdf5_child(const Hdf5Object& group, std::string_view name) {
  const std::optional<uint64_t> address = address_of_child(group, name);
  if (!address) group.file().fail("expected a dataset \"{}\", found none", name);
  return {group.file(), *address, fmt::format("\"{}\"", name)};
}

}  // namespace segue
