// Attributes first, since they say more than the offset of a token that differs.
#include "core/evaluation/same_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"

namespace segue {

void SameTokens::check_attribute(const std::string& name, const std::string& value, const std::filesystem::path& path) {
  if (value.empty()) return;
  const auto said = said_.try_emplace(name, Said{.value = value, .path = path}).first;
  if (said->second.value != value)
    throw DataError(R"({}: {} "{}", but {} has "{}"; only losses of the same tokens can be compared)", path.string(),
                    name, value, said->second.path.string(), said->second.value);
}

namespace {

// "split test of data/books", as far as the losses and the result beside them say; "a text" where neither does.
std::string scored_text(const PerTokenInfo& info, const std::filesystem::path& path) {
  std::string text = info.split.empty() ? "" : "split " + info.split;
  try {
    constexpr int64_t kLargest = int64_t{16} << 20;
    const std::filesystem::path result = path.parent_path() / "evaluation.json";
    const Json evaluation = parse_json<DataError>(read_file(result, kLargest), result.string());
    const bool says_data = evaluation.is_object() && evaluation.contains("data") && evaluation["data"].is_string();
    if (says_data)
      text += fmt::format("{}{}", text.empty() ? "" : " of ", visible_line(evaluation["data"].get<std::string>()));
  } catch (const Error&) {  // there is none, or it cannot be read
  }
  return text.empty() ? "a text" : text;
}

}  // namespace

void SameTokens::check_text(const std::filesystem::path& path, const PerTokenInfo& info) {
  // By tokens, or in files of older versions by shards: one kind says nothing about the other.
  const auto kind = [](const std::string& identity) { return identity.substr(0, identity.find(':')); };
  if (!text_) {
    if (!info.dataset.empty()) text_ = Text{.info = info, .path = path};
    return;
  }
  const bool may_differ = info.dataset.empty() || kind(text_->info.dataset) != kind(info.dataset);
  if (may_differ || info.dataset == text_->info.dataset) return;
  const std::string here = scored_text(info, path);
  const std::string before = scored_text(text_->info, text_->path);
  throw DataError("{}: losses of {}, but {} has those of {}; only losses of the same tokens can be compared",
                  path.string(), here, text_->path.string(), here == before ? "another " + before : before);
}

void SameTokens::check(const std::filesystem::path& path, const PerTokenLosses& losses) {
  const PerTokenInfo& info = losses.info;
  check_text(path, info);
  check_attribute("split", info.split, path);
  check_attribute("tokenizer", info.tokenizer, path);
  check_attribute("tokenizer_checksum", info.tokenizer_checksum, path);
  check_attribute("unit", info.unit, path);
  if (info.bytes > 0) check_attribute("bytes", std::to_string(info.bytes), path);
  if (info.unknown_token >= 0) check_attribute("unknown_token", std::to_string(info.unknown_token), path);
  if (first_path_.empty()) {
    first_path_ = path;
    targets_ = losses.targets;
  }
  if (losses.targets.size() != targets_.size())
    throw DataError("{}: {} tokens, but {} has {}; only losses of the same tokens can be compared", path.string(),
                    losses.targets.size(), first_path_.string(), targets_.size());
  const auto [found, expected] = std::ranges::mismatch(losses.targets, targets_);
  if (found != losses.targets.end())
    throw DataError("{}: targets[{}] is {}, but {} has {}; only losses of the same tokens can be compared",
                    path.string(), found - losses.targets.begin(), *found, first_path_.string(), *expected);
  if (losses.token_bytes.empty()) return;
  if (token_bytes_.empty()) {
    token_bytes_ = losses.token_bytes;
    bytes_path_ = path;
  }
  const auto [bytes, expected_bytes] = std::ranges::mismatch(losses.token_bytes, token_bytes_);
  if (bytes != losses.token_bytes.end())
    throw DataError("{}: token_bytes[{}] is {}, but {} has {}; only losses of the same tokens can be compared",
                    path.string(), bytes - losses.token_bytes.begin(), *bytes, bytes_path_.string(), *expected_bytes);
}

std::vector<int32_t> SameTokens::token_bytes() const {
  if (token_bytes_.empty() && attribute("unit") == "byte") return std::vector<int32_t>(targets_.size(), 1);
  return token_bytes_;
}

std::string SameTokens::attribute(const std::string& name) const {
  const auto said = said_.find(name);
  return said == said_.end() ? std::string() : said->second.value;
}

}  // namespace segue
