#include "core/report/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/error.h"
#include "base/file.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/config/objective_kind.h"
#include "core/model/parameter_specs.h"
#include "core/model/stored_model.h"
#include "core/report/json_node.h"

namespace segue::report {

namespace {

std::optional<double> read_accuracy(const JsonNode& line) {
  const std::optional<double> accuracy = line.find_number("accuracy");
  if (accuracy && !(*accuracy >= 0.0 && *accuracy <= 1.0)) line.at("accuracy").refuse("a number from 0 to 1");
  return accuracy;
}

std::vector<std::vector<double>> read_spans(const JsonNode& line) {
  std::vector<std::vector<double>> layers;
  const std::optional<JsonNode> spans = line.find("spans");
  if (!spans) return layers;
  for (const JsonNode& layer : spans->elements()) {
    layers.emplace_back();
    for (const JsonNode& head : layer.elements()) layers.back().push_back(head.number());
  }
  return layers;
}

TrainingPoint read_training_point(const JsonNode& line) {
  return {.step = line.at("step").integer(),
          .tokens = line.at("tokens").integer(),
          .loss = line.at("loss").number(),
          .bits_per_byte = line.find_number("bits_per_byte"),
          .tokens_per_second = line.find_number("tokens_per_second").value_or(0.0),
          .seconds = line.find_number("seconds").value_or(0.0),
          .learning_rate = line.find_number("learning_rate").value_or(0.0),
          .gradient_norm = line.find_number("gradient_norm").value_or(0.0),
          .accuracy = read_accuracy(line),
          .spans = read_spans(line)};
}

void add_line(const JsonNode& line, Metrics& metrics) {
  if (metrics.unit.empty()) metrics.unit = line.find_text("unit");
  if (const std::optional<JsonNode> split = line.find("evaluation")) {
    const std::optional<int64_t> evaluated = line.find_integer("evaluated_tokens");
    metrics.evaluated_tokens = evaluated ? *evaluated : line.find_integer("tokens").value_or(0);  // of older versions
    metrics.dataset = line.find_text("dataset");
    metrics.text = read_text_place(line);
    metrics.validation.push_back({.step = line.at("step").integer(),
                                  .split = split->text(),
                                  .loss = line.at("loss").number(),
                                  .bits_per_byte = line.find_number("bits_per_byte"),
                                  .accuracy = read_accuracy(line),
                                  .unknown_share = line.find_number("unknown_share")});
    return;
  }
  metrics.training.push_back(read_training_point(line));
}

// Evaluations come between log lines, or after the last: on the straight line through the two next to them, as steps
// need not be of one length.
double between(const TrainingPoint& a, const TrainingPoint& b, double of_a, double of_b, int64_t step) {
  return of_a + (of_b - of_a) * static_cast<double>(step - a.step) / static_cast<double>(b.step - a.step);
}

void place_validation(Metrics& metrics) {
  const std::vector<TrainingPoint>& training = metrics.training;
  if (training.empty() || training.back().step == 0) return;
  for (ValidationPoint& point : metrics.validation) {
    auto next = std::ranges::lower_bound(training, point.step, {}, &TrainingPoint::step);
    if (next == training.end()) --next;
    const TrainingPoint before = next == training.begin() ? TrainingPoint() : *std::prev(next);
    if (next->step == before.step) continue;
    const auto tokens =
        between(before, *next, static_cast<double>(before.tokens), static_cast<double>(next->tokens), point.step);
    point.tokens = std::llround(tokens);
    point.seconds = between(before, *next, before.seconds, next->seconds, point.step);
  }
}

std::optional<int64_t> vocabulary_of(const std::filesystem::path& path, const Config& config) {
  const CheckpointStore store(path / "checkpoints");
  if (const std::optional<int64_t> newest = store.newest()) {
    const std::filesystem::path file = store.path_of(*newest) / kModelFile;
    if (path_exists(file)) return parse_model(read_file(file), file.string()).vocab_size;
  }
  return config.data.vocab_size > 0 ? std::optional(config.data.vocab_size) : std::nullopt;
}

// Dataset::identity() of the split that it was trained on; empty before the first checkpoint.
std::string trained_on(const std::filesystem::path& path) {
  const CheckpointStore store(path / "checkpoints");
  const std::optional<int64_t> newest = store.newest();
  const std::filesystem::path file = newest ? store.path_of(*newest) / "state.json" : std::filesystem::path();
  if (!newest || !path_exists(file)) return {};
  const Json state = parse_json<CheckpointError>(read_file(file), file.string());
  return JsonNode(state, file.string()).find_text("dataset");
}

std::vector<Evaluation> read_evaluations(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  if (!path_exists(directory)) return {};
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".partial") continue;  // one that is not finished
    if (path_exists(entry.path() / "evaluation.json")) files.push_back(entry.path() / "evaluation.json");
  }
  std::sort(files.begin(), files.end());
  std::vector<Evaluation> evaluations;
  evaluations.reserve(files.size());
  for (const std::filesystem::path& file : files) evaluations.push_back(read_evaluation(file));
  return evaluations;
}

// The last `parts` parts of an absolute path.
std::string tail_of(const std::filesystem::path& path, int64_t parts) {
  std::filesystem::path tail = path.filename();
  std::filesystem::path rest = path.parent_path();
  for (int64_t i = 1; i < parts && rest.has_filename(); ++i) {
    tail = rest.filename() / tail;
    rest = rest.parent_path();
  }
  return tail.string();
}

std::filesystem::path absolute_of(const std::filesystem::path& path) {
  std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

void name_runs(std::vector<RunData>& runs) {
  constexpr int64_t kMostParts = 8;
  for (int64_t parts = 1; parts <= kMostParts; ++parts) {
    std::set<std::string> names;
    for (RunData& run : runs) {
      run.name = tail_of(absolute_of(run.path), parts);
      names.insert(run.name);
    }
    if (names.size() == runs.size()) return;
  }
}

// A checkpoint has the config of its run, so that a config alone makes no run.
void refuse_other_directories(const std::filesystem::path& path) {
  const bool is_of_run = path_exists(path / "config.json") && !path_exists(path / kManifestName);
  if (is_of_run) return;
  const std::string found = describe_path(path);
  throw DataError("{}: expected the directory of a run, found {}", path.string(),
                  found.empty() ? fmt::format("nothing{}", meant_beside(path, DirectoryKind::kRun)) : found);
}

}  // namespace

int64_t count_parameters(const ModelConfig& model, int64_t vocab_size) {
  int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(model, vocab_size))
    count += spec.is_learned() ? spec.shape.elements() : 0;
  return count;
}

Metrics parse_metrics(std::string_view text, const std::string& source) {
  Metrics metrics;
  int64_t number = 0;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::string place = fmt::format("{}, line {}", source, ++number);
    const Json json = parse_json<DataError>(line, place, {.is_line = true});
    add_line(JsonNode(json, place), metrics);
  }
  place_validation(metrics);
  return metrics;
}

RunData read_run(const std::filesystem::path& path) {
  const std::filesystem::path config = path / "config.json";
  refuse_other_directories(path);
  RunData run{.name = tail_of(absolute_of(path), 1),
              .path = path,
              .config = load_config(config),
              .metrics = {},
              .trained_on = trained_on(path),
              .vocabulary = {},
              .parameters = {},
              .sessions = {},
              .evaluations = {}};
  const std::filesystem::path metrics = path / "metrics.jsonl";
  if (path_exists(metrics)) run.metrics = parse_metrics(read_file(metrics), metrics.string());
  run.vocabulary = vocabulary_of(path, run.config);
  if (run.vocabulary) run.parameters = count_parameters(run.config.model, *run.vocabulary);
  if (path_exists(path / kSessionsFile)) run.sessions = parse_sessions(read_file(path / kSessionsFile));
  run.evaluations = read_evaluations(path / "evaluations");
  return run;
}

namespace {

void check_alike(const std::vector<RunData>& runs) {
  const auto objective_of = [](const RunData& run) { return run.config.model.objective.kind; };
  for (const RunData& run : runs) {
    if (objective_of(run) != objective_of(runs.front()))
      throw UsageError(
          R"(report: {}: model.objective.kind: expected "{}" as of {}, or losses would not be of the same )"
          R"(thing; found "{}")",
          run.path.string(), name_of_choice(objective_of(runs.front())), runs.front().path.string(),
          name_of_choice(objective_of(run)));
  }
}

}  // namespace

std::vector<RunData> read_runs(const std::vector<std::filesystem::path>& paths) {
  std::vector<RunData> runs;
  runs.reserve(paths.size());
  for (const std::filesystem::path& path : paths) runs.push_back(read_run(path));
  check_alike(runs);
  name_runs(runs);
  return runs;
}

}  // namespace segue::report
