// The prefix is found before the name of the embedding table, which every model has.
#include "core/convert/wrapped_names.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/json_text.h"

namespace segue {

namespace {

constexpr std::array<std::string_view, 3> kWrappers{"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"};
constexpr size_t kLongestWrappedShown = 200;
constexpr std::string_view kFirstTable = "word_emb.emb_layers.0.weight";
constexpr std::string_view kOfHuggingFace = "transformer.";

std::string without_wrappers(std::string_view name) {
  std::string plain;
  bool is_first = true;
  for (size_t begin = 0, end = 0; begin <= name.size(); begin = end + 1) {
    end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (std::find(kWrappers.begin(), kWrappers.end(), part) != kWrappers.end()) continue;
    plain.append(is_first ? "" : ".").append(part);
    is_first = false;
  }
  return plain;
}

// What stands before all names: up to the first table, or to Hugging Face's own prefix of it.
std::string prefix_of(const std::map<std::string, std::string>& names) {
  constexpr int kMostTables = 4;  // of this name: a model has one
  const auto is_before_all = [&names](std::string_view prefix) {
    return std::all_of(names.begin(), names.end(),
                       [prefix](const auto& name) { return name.first.starts_with(prefix); });
  };
  int tables = 0;
  for (const auto& [name, in_file] : names) {
    if (!name.ends_with(kFirstTable)) continue;
    if (++tables > kMostTables) break;
    std::string_view prefix = std::string_view(name).substr(0, name.size() - kFirstTable.size());
    if (is_before_all(prefix)) return std::string(prefix);
    if (prefix.ends_with(kOfHuggingFace)) prefix.remove_suffix(kOfHuggingFace.size());
    if (is_before_all(prefix)) return std::string(prefix);
  }
  return "";
}

}  // namespace

UnwrappedNames unwrapped_names(const std::vector<std::string>& names, const std::string& source) {
  UnwrappedNames unwrapped;
  std::map<std::string, std::string> plain;
  for (const std::string& name : names) {
    const auto [found, is_new] = plain.emplace(without_wrappers(name), name);
    if (!is_new)
      throw CheckpointError("{}: tensors {} and {} are the same without their wrappers", source,
                            printable_line(found->second, kLongestWrappedShown),
                            printable_line(name, kLongestWrappedShown));
  }
  const std::string prefix = prefix_of(plain);
  for (auto& [name, in_file] : plain) {
    std::string own = name.substr(prefix.size());
    if (unwrapped.left_out.empty() && own != in_file)
      unwrapped.left_out = in_file.ends_with(own) ? in_file.substr(0, in_file.size() - own.size()) : in_file;
    unwrapped.in_file.emplace(std::move(own), std::move(in_file));
  }
  return unwrapped;
}

}  // namespace segue
