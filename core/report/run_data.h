// Reads from the directory of a run all that the report needs. A run that is still going is read as far as it has come.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/made_by.h"
#include "core/config/config.h"
#include "core/report/evaluation_file.h"

namespace segue::report {

// A line of metrics.jsonl. Losses in nats per token.
struct TrainingPoint {
  int64_t step = 0;
  int64_t tokens = 0;
  double loss = 0.0;
  std::optional<double> bits_per_byte = {};
  double tokens_per_second = 0.0;
  double seconds = 0.0;
  double learning_rate = 0.0;
  double gradient_norm = 0.0;
  std::optional<double> accuracy = {};          // of the targets of marked data
  std::vector<std::vector<double>> spans = {};  // by layer and head, in tokens, of a model that learns them
};

struct ValidationPoint {
  int64_t step = 0;
  int64_t tokens = 0;    // trained on by then
  double seconds = 0.0;  // in steps by then
  std::string split = {};
  double loss = 0.0;
  std::optional<double> bits_per_byte = {};
  std::optional<double> accuracy = {};
  std::optional<double> unknown_share = {};  // of the scored tokens; none: the vocabulary has no unknown token
};

struct Metrics {
  std::string unit = {};                 // of the tokens; empty when nothing is logged yet
  int64_t evaluated_tokens = 0;          // that the newest evaluation scored; 0: not known
  std::string dataset = {};              // what the newest evaluation read: Dataset::identity(); empty: not known
  std::optional<SourcePlace> text = {};  // and where that stands in its sources; none: not known
  std::vector<TrainingPoint> training = {};
  std::vector<ValidationPoint> validation = {};
};

struct RunData {
  std::string name = {};  // as short as tells the runs of a report apart
  std::filesystem::path path = {};
  Config config = {};
  Metrics metrics = {};
  std::string trained_on = {};               // Dataset::identity() of its split; known once there is a checkpoint
  std::optional<int64_t> vocabulary = {};    // known once there is a checkpoint, or with data.vocab_size
  std::optional<int64_t> parameters = {};    // known once there is a checkpoint, or with data.vocab_size
  std::vector<MadeBy> sessions = {};         // in the order of their beginnings
  std::vector<Evaluation> evaluations = {};  // in the order of their names
};

// Throws DataError naming the directory that is no run, or file and line of broken metrics (a last line without its
// end is being written, and is left out); ConfigError and DataError for the other files.
RunData read_run(const std::filesystem::path& path);

// All of them, with names that differ. Throws UsageError when their objectives differ.
std::vector<RunData> read_runs(const std::vector<std::filesystem::path>& paths);

// The scalars of a model's parameters.
int64_t count_parameters(const ModelConfig& model, int64_t vocab_size);

// Reads the text of a metrics.jsonl.
Metrics parse_metrics(std::string_view text, const std::string& source);

}  // namespace segue::report
