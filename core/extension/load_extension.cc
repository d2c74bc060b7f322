#include "core/extension/load_extension.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "base/text.h"
#include "core/config/memory_kind.h"
#include "core/extension/extension.h"
#include "core/extension/extension_file.h"

namespace segue {

namespace {

// Those that are loaded: their names stay where they are.
std::deque<std::string>& loaded_names() {
  static std::deque<std::string> names;
  return names;
}

OrderedJson keys_of_memory() {
  return write_described([](JsonFields& fields) { MemoryConfig{}.describe(fields); }, WrittenKeys::kEvery);
}

// What other kinds read and write must not change.
void check_keys(std::string_view extension, const AddedMemory& memory, const OrderedJson& before) {
  MemoryConfig other;
  const OrderedJson own = write_described(
      [&](JsonFields& fields) {
        MemoryConfig described;
        memory.row.describe(described, fields);
      },
      WrittenKeys::kEvery);
  for (const auto& [key, value] : own.items()) {
    if (before.contains(key))
      throw ConfigError(R"(extension "{}": model.memory.{}: expected a key that no kind has, found one that is taken)",
                        extension, key);
    if (write_fields(other).contains(key))
      throw ConfigError(R"(extension "{}": model.memory.{}: expected .kinds = Kinds(memory_kind_named("{}")), found a )"
                        R"(key that other kinds read)",
                        extension, key, memory.word);
  }
}

std::string reason_of_loader() {
  const char* const reason = dlerror();
  return reason == nullptr ? "no reason is given" : reason;
}

}  // namespace

void AddedKinds::add(const AddedMemory& memory) const {
  const OrderedJson before = keys_of_memory();
  const MemoryKind kind = add_memory_kind({memory.word, memory.meaning}, extension_);
  add_row(kind, memory.row);
  add_row(kind, memory.in_model);
  add_row(kind, memory.kept);
  check_keys(extension_, memory, before);
}

std::string extension_build() { return SEGUE_BUILD; }

void load_extension(const std::filesystem::path& path) {
  const std::string source = path.string();
  const ExtensionStamp stamp = read_extension_stamp(path);
  if (stamp.build != SEGUE_BUILD)
    throw ConfigError(
        "{}: expected an extension that is built for \"{}\", found \"{}\"; build it again with the headers "
        "of this program",
        source, SEGUE_BUILD, visible_line(stamp.build));
  auto& names = loaded_names();
  if (std::ranges::find(names, stamp.name) != names.end())
    throw ConfigError("{}: expected an extension with a name that no other has, found \"{}\" again", source,
                      stamp.name);

  // With a slash in it, so that no search path of the environment says which file this is.
  void* const library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw ConfigError("{}: the system cannot load this extension: {}", source, visible_line(reason_of_loader()));
  void* const found = dlsym(library, "segue_extension_add");
  if (found == nullptr)
    throw ConfigError("{}: expected an extension that defines segue_extension_add: {}", source,
                      visible_line(reason_of_loader()));
  using Add = void (*)(const AddedKinds&);
  const auto add = reinterpret_cast<Add>(found);
  const std::string& name = names.emplace_back(stamp.name);
  add(AddedKinds(name));
}

}  // namespace segue
