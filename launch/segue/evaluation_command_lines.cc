#include "launch/segue/evaluation_command_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/compare/compared_runs.h"
#include "core/evaluation/evaluation_lengths.h"
#include "core/model/reach.h"
#include "core/model/transformer.h"

namespace segue {

namespace {

void add_list(std::vector<std::string>& words, const std::string& flag, const std::vector<int64_t>& list) {
  if (!list.empty()) words.insert(words.end(), {flag, fmt::format("{}", fmt::join(list, ","))});
}

// Of the program that evaluates a run under this name, all but what is evaluated.
std::vector<std::string> evaluation_words(const PlacedComparison& plan, const ComparedRun& run, const char* name,
                                          const std::string& split, int64_t batch_size,
                                          const std::vector<int64_t>& lengths) {
  const TrainingConfig& training = run.config.training;
  std::vector<std::string> words{"eval",
                                 "--checkpoint",
                                 (plan.directory / run.directory()).string(),
                                 "--data",
                                 run.config.data.path,
                                 "--split",
                                 split,
                                 "--name",
                                 name,
                                 "--force",
                                 "--device",
                                 training.device,
                                 "--precision",
                                 std::string(name_of_choice(training.precision)),
                                 "--threads",
                                 std::to_string(training.threads)};
  // Examples are read from empty memory. Losses that no warm-up gives take one stream, from its beginning on.
  const bool is_read_whole = plan.of_examples.count(split) == 0;
  const ModelConfig& model = run.config.model;
  const bool takes_one = is_read_whole && std::ranges::any_of(lengths, [&model](int64_t tgt_len) {
                           return !warm_up_in_tokens(model, use_of(model), tgt_len).has_value();
                         });
  if (is_read_whole) words.insert(words.end(), {"--warm-up", takes_one ? "0" : "auto"});
  words.insert(words.end(), {"--batch-size", std::to_string(takes_one ? 1 : batch_size)});
  return words;
}

}  // namespace

std::vector<std::string> measuring_command_line(const PlacedComparison& plan, const ComparedRun& run) {
  const MeasureConfig& measure = plan.comparison.measure;
  const std::vector<int64_t> lengths = lengths_or(measure.tgt_len, run.config.training.tgt_len);
  std::vector<std::string> words =
      evaluation_words(plan, run, kComparedEvaluation, measure.split, measure.batch_size, lengths);
  words.insert(words.end(), {"--per-token", "--max-tokens", std::to_string(measure.max_tokens)});
  add_list(words, "--tgt-len", measure.tgt_len);
  add_list(words, "--mem-len", measure.mem_len);
  return words;
}

std::vector<std::string> sweeping_command_line(const PlacedComparison& plan, const ComparedRun& run) {
  const EvaluationConfig& asked = run.config.evaluation;
  std::vector<std::string> words =
      evaluation_words(plan, run, kSweptEvaluation, asked.split, asked.batch_size, {evaluation_tgt_len(run.config)});
  words.insert(words.end(), {"--max-tokens", std::to_string(asked.max_tokens), "--tgt-len",
                             std::to_string(evaluation_tgt_len(run.config)), "--mem-len",
                             std::to_string(evaluation_mem_len(run.config))});
  return words;
}

}  // namespace segue
