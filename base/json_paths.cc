// Lists every path of a description and picks the nearest.
#include "base/json_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace segue {
namespace {

// Collects `model`, `model.mem_len`, ...; of a list all elements as one: `shards[].bytes`.
class PathLister : public JsonFields {
 public:
  std::vector<std::string> list(const Describe& prototype) {
    prototype(*this);
    return std::move(paths_);
  }

 protected:
  bool enter_key(std::string_view key, const FieldInfo& /*info*/, bool /*required*/, bool /*is_struct*/) override {
    places_.push_back(join_json_path(places_.back(), key));
    paths_.push_back(places_.back());
    return true;
  }
  void enter_element(int64_t /*index*/) override { places_.emplace_back(places_.back() + "[]"); }
  void leave() override { places_.pop_back(); }
  void visit_bool(bool& /*value*/) override {}
  void visit_integer(int64_t& /*value*/, const FieldInfo& /*info*/) override {}
  void visit_number(double& /*value*/, const FieldInfo& /*info*/) override {}
  void visit_text(std::string& /*value*/) override {}
  void visit_choice(size_t& /*index*/, std::span<const std::string_view> /*names*/) override {}
  int64_t visit_list(int64_t /*size*/) override { return 1; }  // one element shows what all are like
  void begin_struct() override {}
  void end_struct() override {}

 private:
  std::vector<std::string> places_{""};  // paths from the root to the current value
  std::vector<std::string> paths_;
};

std::string_view leaf_of(std::string_view path) { return path.substr(path.rfind('.') + 1); }
std::string_view parent_of(std::string_view path) {
  const size_t dot = path.rfind('.');
  return path.substr(0, dot == std::string_view::npos ? 0 : dot);
}

// `shards[3].file` as PathLister writes it: `shards[].file`.
std::string without_indices(std::string path) {
  for (size_t open = path.find('['); open != std::string::npos; open = path.find('[', open + 1))
    path.erase(open + 1, path.find(']', open) - open - 1);
  return path;
}

// The first of a name; "" when there is none.
std::string_view with_leaf(std::string_view leaf, const std::vector<std::string>& known) {
  const auto at = std::ranges::find_if(known, [leaf](const std::string& path) { return leaf_of(path) == leaf; });
  return at == known.end() ? std::string_view() : *at;
}

// The one whose last part is nearest to that of the unknown one.
std::string_view with_similar_leaf(std::string_view unknown, const std::vector<std::string_view>& paths) {
  std::vector<std::string_view> leaves(paths.size());
  std::transform(paths.begin(), paths.end(), leaves.begin(), leaf_of);
  const std::string_view similar = nearest_word(leaf_of(unknown), leaves);
  const auto at = std::find(leaves.begin(), leaves.end(), similar);
  return at == leaves.end() ? std::string_view() : paths[static_cast<size_t>(at - leaves.begin())];
}

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

// In the order that hint_at_key promises.
MeantKey nearest_key(std::string_view unknown, const std::vector<std::string>& known) {
  for (std::string_view end = unknown; end.find('.') != std::string_view::npos; end.remove_prefix(end.find('.') + 1)) {
    const auto same = std::ranges::find_if(
        known, [end](const std::string& path) { return path == end || path.ends_with(fmt::format(".{}", end)); });
    if (same != known.end()) return {*same, {}};
  }
  const auto begins = [unknown](std::string_view path) {
    return path.size() >= unknown.size() &&
           std::ranges::equal(path.substr(0, unknown.size()), unknown, {}, lower, lower);
  };
  for (const std::string& path : known)
    if (path.size() == unknown.size() && begins(path)) return {path, {}};
  if (auto meant = meant_by_others(leaf_of(unknown), known)) {
    std::string sibling = join_json_path(parent_of(unknown), leaf_of(meant->key));
    if (std::ranges::find(known, sibling) != known.end()) meant->key = std::move(sibling);
    return *meant;
  }
  if (const std::string_view same = with_leaf(leaf_of(unknown), known); !same.empty()) return {std::string(same), {}};
  std::vector<std::string_view> siblings;
  for (const std::string& path : known)
    if (parent_of(path) == parent_of(unknown)) siblings.emplace_back(path);
  if (const std::string_view sibling = with_similar_leaf(unknown, siblings); !sibling.empty())
    return {std::string(sibling), {}};
  constexpr size_t kShortestAbbreviation = 4;
  if (leaf_of(unknown).size() >= kShortestAbbreviation && std::ranges::count_if(siblings, begins) == 1)
    return {std::string(*std::ranges::find_if(siblings, begins)), {}};
  return {std::string(with_similar_leaf(unknown, {known.begin(), known.end()})), {}};
}

// `shards[].file` as it can be typed: `shards[0].file`.
MeantKey with_indices(MeantKey meant) {
  for (size_t open = meant.key.find("[]"); open != std::string::npos; open = meant.key.find("[]"))
    meant.key.insert(open + 1, 1, '0');
  return meant;
}

struct RenamedKey {
  std::string_view old;
  std::string_view today;
};
constexpr std::array<RenamedKey, 4> kRenamed{{{"batch", "batch_size"},
                                              {"document_border", "document_boundary"},
                                              {"streams", "batch_size"},
                                              {"vocab", "vocab_size"}}};

}  // namespace

std::vector<std::string> key_paths(const Describe& prototype) { return PathLister().list(prototype); }

std::string hint_at_key(const std::string& unknown_path, const std::string& innermost_path, const Describe& prototype) {
  const std::string unknown = without_indices(unknown_path);
  const std::vector<std::string> known = key_paths(prototype);
  MeantKey meant = nearest_key(unknown, known);
  const std::string inner = without_indices(innermost_path);
  const std::string rest = inner.substr(unknown.size());
  const bool has_rest = std::ranges::find(known, meant.key + rest) != known.end();
  if (!rest.empty() && !has_rest) {
    if (MeantKey elsewhere = nearest_key(inner, known); !elsewhere.key.empty()) meant = std::move(elsewhere);
  } else if (!rest.empty() && parent_of(meant.key) != parent_of(unknown)) {
    meant.key += rest;
  }
  if (parent_of(meant.key) == parent_of(unknown) && !meant.key.empty())
    meant.key = join_json_path(parent_of(unknown_path), leaf_of(meant.key));  // of the same element
  return did_you_mean(with_indices(std::move(meant)).text());
}

std::optional<MeantKey> key_named(std::string_view word, const Describe& prototype) {
  const std::vector<std::string> known = key_paths(prototype);
  if (auto meant = meant_by_others(word, known)) return meant;
  const std::string_view same = with_leaf(word, known);
  if (same.empty()) return std::nullopt;
  return with_indices({std::string(same), {}});
}

std::string_view renamed_key(std::string_view old) {
  const auto* const found =
      std::find_if(kRenamed.begin(), kRenamed.end(), [old](const RenamedKey& key) { return key.old == old; });
  return found == kRenamed.end() ? std::string_view() : found->today;
}

std::string renamed_key_path(std::string unknown_path, const Describe& prototype) {
  const std::string path = without_indices(std::move(unknown_path));
  const std::string_view today = renamed_key(leaf_of(path));
  if (today.empty()) return {};
  const std::string renamed = join_json_path(parent_of(path), today);
  const std::vector<std::string> known = key_paths(prototype);
  return std::find(known.begin(), known.end(), renamed) == known.end() ? "" : renamed;
}

}  // namespace segue
