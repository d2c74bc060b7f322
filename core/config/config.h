// The config of an experiment: typed, with defaults in code, read strictly from JSON. Meanings, units and ranges stand
// in config.cc and model_config.cc, once: the reader, the writer and configs/segue.schema.json all come from there.
// The vocabulary comes with the dataset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/model_config.h"

namespace segue {

struct DataConfig {
  std::string path = {};  // the one key without a default
  std::string train_split = "train";
  int64_t vocab_size = 0;  // 0: whatever the dataset has
  int64_t read_ahead = 4;
  std::string document_boundary = {};  // empty: streams are one text each
  void describe(JsonFields& fields);
};

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdam;
  double lr = 0.00025;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 0.0;  // 0: the kind's own; read it through effective_epsilon
  double weight_decay = 0.0;
  double momentum = 0.0;
  double clip = 0.25;  // 0: none
  bool shard = false;
  void describe(JsonFields& fields);
};

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::kCosine;
  int64_t warmup_step = 0;
  double eta_min = 0.0;
  double decay_rate = 0.5;
  int64_t patience = 0;
  ScheduleRule rule = ScheduleRule::kPytorch;
  void describe(JsonFields& fields);
};

// Lengths that training has before its last ones, which are training.tgt_len, model.mem_len and
// training.segments_per_step; and what it sees of windows and does with the schedule's learning rate meanwhile.
struct StageConfig {
  int64_t until_step = 0;  // the last step that has them
  int64_t tgt_len = 0;
  int64_t mem_len = 0;
  int64_t segments_per_step = 1;
  double window_share = 1.0;  // see use_of_layer
  double lr_factor = 1.0;
  void describe(JsonFields& fields);
};

struct TrainingConfig {
  int64_t batch_size = 8;
  int64_t tgt_len = 128;
  int64_t segments_per_step = 1;
  std::vector<StageConfig> stages = {};  // in the order of their steps
  int64_t reset_interval = 0;            // 0: only where text begins anew
  int64_t redraw_interval = 0;           // 0: never
  LossPart loss_part = LossPart::kFull;
  Recompute recompute = Recompute::kNone;
  int64_t batch_chunk = 1;
  int64_t max_step = 10000;
  int64_t log_interval = 50;
  std::string device = "auto";
  PrecisionKind precision = PrecisionKind::kFp32;
  int64_t threads = 0;  // 0: all
  CollectivesKind communicator = CollectivesKind::kAuto;
  double peer_timeout = 20.0;    // seconds that ranks wait for one another
  double stall_timeout = 900.0;  // seconds that a rank may be busy without making progress
  double bucket_mb = 4.0;        // MiB of gradients that ranks sum at once; 0: all
  std::string init_from = {};    // empty: weights are drawn
  bool report = false;
  void describe(JsonFields& fields);
};

struct EvaluationConfig {
  int64_t interval = 1000;  // 0: never
  std::string split = "valid";
  int64_t batch_size = 8;
  int64_t tgt_len = 0;     // 0: training.tgt_len; read it through evaluation_tgt_len
  int64_t mem_len = -1;    // -1: see evaluation_mem_len
  int64_t max_tokens = 0;  // 0: the whole split
  void describe(JsonFields& fields);
};

struct CheckpointConfig {
  int64_t interval = 1000;  // 0: only at the end and when stopped
  int64_t keep_last = 3;
  bool keep_best = true;
  void describe(JsonFields& fields);
};

struct Config {
  int64_t seed = 1111;
  DataConfig data = {};
  ModelConfig model = {};
  OptimizerConfig optimizer = {};
  ScheduleConfig schedule = {};
  TrainingConfig training = {};
  EvaluationConfig evaluation = {};
  CheckpointConfig checkpoint = {};
  void describe(JsonFields& fields);
};

// The lengths of the segments, of the memory and of windows, and how many segments a step has.
struct StageLengths {
  int64_t tgt_len = 0;
  int64_t mem_len = 0;
  int64_t segments = 1;
  double window_share = 1.0;                                                   // of what the model's config says
  int64_t tokens() const { return segments * tgt_len; }                        // of a stream in a step
  int64_t length_among_several() const { return segments > 1 ? tgt_len : 0; }  // as SegmentShape::segment_length
  bool operator==(const StageLengths&) const = default;
};
StageLengths lengths_of(const StageConfig& stage);
StageLengths last_lengths(const Config& config);
// Those that step `step`, counted from 1, trains with.
StageLengths lengths_at(const Config& config, int64_t step);
// Those of its stages, then the last ones.
std::vector<StageLengths> all_lengths(const Config& config);

// What the learning rate of the schedule is multiplied by in step `step`, counted from 1.
double lr_factor_at(const Config& config, int64_t step);

// The newest tokens of a segment of `length` that training learns from.
int64_t scored_tokens(const TrainingConfig& training, int64_t length);

double effective_epsilon(const OptimizerConfig& optimizer);

// Lengths of the evaluations inside a training run.
int64_t evaluation_tgt_len(const Config& config);
int64_t evaluation_mem_len(const Config& config);  // by default tgt_len + mem_len is what it is in training
ModelUse evaluation_use(const Config& config);

// Reads a config file, then overrides such as "model.mem_len=256", whose values are JSON or, failing that, plain text.
// Throws ConfigError naming the file (or "--set ..."), the path, expected and found; FileError when it cannot be read.
Config load_config(const std::filesystem::path& path, std::span<const std::string> overrides = {});

// The same from text; `source` is what errors call it.
Config parse_config(std::string_view text, std::string_view source, std::span<const std::string> overrides = {});

// How weights of such a model are used where overrides say otherwise than its config. Throws ConfigError naming the
// override behind `given`, where it was found, and when its key does not say how weights are used.
ModelUse use_of(const ModelConfig& model, std::span<const std::string> overrides, std::string_view given = "--set");

// Throws likewise for their keys and bounds alone, before a model says by its kinds which keys it reads.
void check_use_overrides(std::span<const std::string> overrides, std::string_view given = "--set");

// The keys with which an evaluation or a generation asks for another use than the model's config does, in words for
// all.
void describe_use(JsonFields& fields, std::optional<int64_t>& clamp_len, std::optional<bool>& same_length,
                  std::vector<std::string>& set);

// The keys of all values in such overrides, such as "model.mem_len", in their order.
std::vector<std::string> overridden_keys(std::span<const std::string> overrides);

// Throws ConfigError naming both when `given` says something already that one of the overrides says too, that of `key`.
void refuse_override(std::span<const std::string> overrides, std::string_view key, std::string_view given,
                     std::string_view set = "set");

// Throws ConfigError when values that are right alone cannot go together, naming both keys.
void check_combinations(const Config& config, std::string_view source);

// The resolved config: every key that its kinds read.
nlohmann::ordered_json to_json(const Config& config);

// A key that configs differ in: its value in each, as JSON, or "not read" where the kinds of that one do not read it.
struct ConfigDifference {
  std::string key;
  std::vector<std::string> values;
};

// The differences, in the order of the config.
std::vector<ConfigDifference> differences_of(std::span<const Config> configs);

// The differences, as "model.mem_len: 128 -> 256", in the order of the config.
std::vector<std::string> diff_configs(const Config& before, const Config& after);

// JSON Schema (draft 2020-12) of config files.
nlohmann::ordered_json config_schema();

}  // namespace segue
