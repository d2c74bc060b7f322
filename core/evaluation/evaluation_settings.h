// The settings of an evaluation job: the keys of its config file, which are also the flags of `segue eval`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/config/option_names.h"
#include "core/evaluation/evaluation_lengths.h"
#include "core/memory/memory.h"

namespace segue {

std::span<const std::string_view> choices_of(EvaluationMemory memory);

struct EvaluationSettings {
  std::string checkpoint = {};
  std::string data = {};
  std::string split = "test";
  int64_t batch_size = 8;
  std::vector<int64_t> tgt_len = {};      // empty: the length of training
  std::vector<int64_t> mem_len = {};      // empty: the length of training, or 0 with recompute
  std::optional<int64_t> clamp_len = {};  // absent: the limit of training
  std::optional<bool> same_length = {};   // likewise
  std::vector<std::string> set = {};      // overrides such as "model.memory.initial=zeros"
  int64_t max_tokens = 0;                 // 0: the whole split
  std::string warm_up = {};               // "auto" or a number; empty: the split as blocks
  std::string document_boundary = {};     // empty: the split is one text
  EvaluationMemory memory = EvaluationMemory::kKvCache;
  bool recompute = false;
  int64_t stride = 1;
  bool per_token = false;
  bool attention = false;
  std::string output = {};  // directory
  std::string name = {};    // of a directory in the run's `evaluations`
  std::string device = "auto";
  PrecisionKind precision = PrecisionKind::kFp32;
  OptionNames names = OptionNames::kFields;  // of the keys, in errors; not described
  int64_t threads = 0;                       // 0: all
  void describe(JsonFields& fields);
  std::string called(std::string_view key) const { return option_name(names, key); }
  // A KV cache cannot tell attention.
  EvaluationMemory kept() const { return attention ? EvaluationMemory::kAsTrained : memory; }
};

// Throws ConfigError naming file and key, and FileError.
EvaluationSettings load_evaluation_settings(const std::filesystem::path& path);

// Throws ConfigError naming the keys that cannot go together.
void check_settings(const EvaluationSettings& settings);

// The command that evaluates so: `segue eval` with a flag for every setting that is not its default.
std::string command_of(const EvaluationSettings& settings);

// Every mem_len with every tgt_len; `trained` are the lengths of training, or what `set` makes of them.
std::vector<EvaluationPoint> points_of(const EvaluationSettings& settings, const EvaluationPoint& trained);

// Where the results go, whole or not at all; empty: nowhere. Throws UsageError when a name is given and the checkpoint
// lies in no run, or the directory is there and holds something else.
std::filesystem::path output_of(const EvaluationSettings& settings, const std::filesystem::path& checkpoint);

// What an evaluation is of.
struct EvaluationSubject {
  EvaluationSettings settings;
  std::string checkpoint;  // directory
  std::string dataset;     // identity of its split
};

// Throws UsageError when the directory holds an evaluation of anything else, which took time and would be lost.
void check_replaceable(const std::filesystem::path& directory, EvaluationSubject subject);

}  // namespace segue
