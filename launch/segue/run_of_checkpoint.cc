#include "launch/segue/run_of_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "core/model/stored_model.h"
#include "core/train/training_state.h"

namespace segue {

std::optional<Config> config_of(const Checkpoint& checkpoint) {
  if (!checkpoint.contains(kConfigFile)) return std::nullopt;
  check_extension(checkpoint);
  return checkpoint.read<Config>(kConfigFile);
}

std::optional<MadeBy> made_by_of(const Checkpoint& checkpoint) {
  if (!checkpoint.contains(kMadeByFile)) return std::nullopt;
  return checkpoint.read<MadeBy>(kMadeByFile);
}

namespace {

// The dataset that a run was trained on, where it still is.
std::optional<std::string> present_data_of(const Checkpoint& checkpoint, const Config& config) {
  if (config.data.path.empty()) return std::nullopt;
  if (path_exists(config.data.path)) return config.data.path;
  const std::optional<MadeBy> made_by = made_by_of(checkpoint);  // a relative path, seen from where the run was
  if (made_by && !made_by->data.empty() && path_exists(made_by->data)) return made_by->data;
  return std::nullopt;
}

// The dataset that a checkpoint was trained on; none where another one is there, or one that cannot be read.
std::optional<Dataset> training_data_of(const Checkpoint& checkpoint, const Config& config) try {
  const std::optional<std::string> path = present_data_of(checkpoint, config);
  if (!path || !checkpoint.contains(kStateFile)) return std::nullopt;
  Dataset dataset(*path);
  const std::string trained = read_training_state(checkpoint).dataset;
  if (!dataset.has_split(config.data.train_split) || dataset.identity(config.data.train_split) != trained)
    return std::nullopt;
  return dataset;
} catch (const Error&) {
  return std::nullopt;
}

// The checksums of the files whose text or tokens are in a split.
std::set<std::string> sources_of(const Dataset& dataset, const std::string& split) {
  std::set<std::string> checksums;
  for (const SourceInfo& source : dataset.manifest().sources)
    if (!source.is_beside.value_or(false) && source.bytes > 0 && std::ranges::count(source.splits, split) > 0)
      checksums.insert(source.checksum);
  return checksums;
}

// The share of the second text that the first holds too; none where the places of both do not tell.
std::optional<double> shared_text(const std::optional<SourcePlace>& first, const std::optional<SourcePlace>& second) {
  if (!first || !second || first->sources != second->sources) return std::nullopt;
  const int64_t begin = std::max(first->begin, second->begin);
  const int64_t end = std::min(first->begin + first->bytes, second->begin + second->bytes);
  return static_cast<double>(std::max<int64_t>(0, end - begin)) / static_cast<double>(second->bytes);
}

}  // namespace

std::string data_of(const Checkpoint& checkpoint) {
  const std::optional<Config> config = config_of(checkpoint);
  const std::string directory = checkpoint.directory().string();
  if (!config || config->data.path.empty())
    throw UsageError("--data: expected the directory of a dataset, as {} does not tell what it was trained on",
                     directory);
  if (const std::optional<std::string> path = present_data_of(checkpoint, *config)) return *path;
  throw UsageError("--data: expected the directory of a dataset, as {}, which {} was trained on, is not here",
                   config->data.path, directory);
}

namespace {

// The split that a checkpoint was trained on, where this dataset is at the path of the one it is from and has other
// tokens now, or no such split; "" where they are the same, or nothing tells.
std::string changed_split(const Checkpoint& checkpoint, const Dataset& dataset) {
  const std::optional<Config> config = config_of(checkpoint);
  if (!config || !checkpoint.contains(kStateFile)) return {};
  const std::string& split = config->data.train_split;
  if (!dataset.has_split(split)) return split;
  const std::string before = read_training_state(checkpoint).dataset;
  const std::string now = dataset.identity(split);
  return before == now || !before.starts_with(kByTokens) || !now.starts_with(kByTokens) ? "" : split;
}

}  // namespace

void tell_of_training_data(const Checkpoint& checkpoint, const Dataset& dataset, Logger& logger) {
  const std::string directory = dataset.directory().string();
  const std::string changed = changed_split(checkpoint, dataset);
  if (changed.empty()) return logger.info("data: {}, which the model was trained on", directory);
  logger.warn(
      "data: {} was made anew since the model was trained on it: split {} has other tokens than then; name the old "
      "dataset with --data, or take this as the loss of another text",
      directory, changed);
}

void warn_of_learned_text(const Checkpoint& checkpoint, const Dataset& dataset, const std::string& split,
                          Logger& logger) {
  const std::optional<Config> config = config_of(checkpoint);
  if (!config || !dataset.has_split(split)) return;
  const std::string& trained_split = config->data.train_split;
  const std::optional<Dataset> trained = training_data_of(checkpoint, *config);
  if (!trained) return;
  const bool is_same_cut =
      dataset.has_split(trained_split) && dataset.identity(trained_split) == trained->identity(trained_split);
  if (is_same_cut) return;
  const std::set<std::string> learned = sources_of(*trained, trained_split);
  const std::set<std::string> scored = sources_of(dataset, split);
  const auto shared =
      std::ranges::count_if(scored, [&](const std::string& source) { return learned.contains(source); });
  const std::optional<double> share = shared_text(trained->text_place(trained_split), dataset.text_place(split));
  if (shared == 0 || share == 0.0) return;
  logger.warn(
      "{}: split {}: {} was trained on {}, in split {} of {}, which cuts the same sources elsewhere; the loss is not "
      "that of unseen text",
      dataset.directory().string(), split, checkpoint.directory().string(),
      share ? fmt::format("{:.0f} % of its text", std::ceil(100.0 * *share))
            : fmt::format("text of {} of its {}", shared, counted(std::ssize(scored), "source")),
      trained_split, trained->directory().string());
}

std::optional<std::filesystem::path> run_of(const Checkpoint& checkpoint) {
  const std::filesystem::path parent = std::filesystem::canonical(checkpoint.directory()).parent_path();
  if (parent.filename() != "checkpoints" || !path_exists(parent.parent_path() / "config.json")) return std::nullopt;
  return parent.parent_path();
}

namespace {

// What they say of where the result comes from and goes to, and which changes nothing in it.
constexpr std::array<std::string_view, 7> kNotInName{"checkpoint", "data",   "split",  "output",
                                                     "name",       "device", "threads"};
constexpr size_t kLongestName = 120;

std::string text_of(const OrderedJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const OrderedJson& element : value) text += (text.empty() ? "" : "-") + text_of(element);
  return text;
}

bool is_plain(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         letter == '.' || letter == '_' || letter == '-';
}

// A name that a file may have; what had to be changed for that leaves a number behind, so that names stay different.
std::string file_name(const std::string& text) {
  std::string name = text.substr(0, kLongestName);
  std::ranges::replace_if(
      name, [](char letter) { return !is_plain(letter); }, '-');
  return name == text ? name : fmt::format("{}-{:08x}", name, static_cast<uint32_t>(hash_of(text)));
}

}  // namespace

std::string default_name(const EvaluationSettings& settings, const Checkpoint& checkpoint) {
  std::string name = "eval-" + settings.split;
  const std::filesystem::path given = std::filesystem::path(settings.checkpoint).lexically_normal();
  const std::string last = (given.has_filename() ? given : given.parent_path()).filename().string();
  if (last == "best" || last == checkpoint.directory().filename()) name += "-" + last;
  const std::optional<Config> config = config_of(checkpoint);
  if (!config || config->data.path != settings.data) name += "-data-" + settings.data;
  const OrderedJson defaults = write_fields(EvaluationSettings{});
  const OrderedJson chosen = write_fields(settings);
  for (const auto& [key, value] : chosen.items()) {
    if (std::ranges::count(kNotInName, key) > 0 || (defaults.contains(key) && defaults[key] == value)) continue;
    name += "-" + key;
    if (value != true) name += "-" + text_of(value);
  }
  return file_name(name);
}

}  // namespace segue
