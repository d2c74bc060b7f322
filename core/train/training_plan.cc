// Sums of sizes. The parts of a rank are made as training makes them; memory that is never touched costs nothing.
#include "core/train/training_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/directory_content.h"
#include "base/file.h"
#include "base/json_text.h"
#include "core/config/kind_requirements.h"
#include "core/optimizer/optimizer.h"
#include "core/optimizer/schedule.h"
#include "core/train/scored_targets.h"
#include "data_pipeline/document_boundaries.h"
#include "data_pipeline/segment_streams.h"

namespace segue {

namespace {

// Every bucket is cut into as many parts when the optimizer is sharded.
int parts_of(const OptimizerConfig& optimizer, int ranks) { return optimizer.shard ? ranks : 1; }

RankPlan plan_rank(const Config& config, const Transformer& model, Parameters& parameters, const Buckets& buckets,
                   const Share& streams) {
  Arena arena;
  const std::vector<StreamGroup> groups = make_stream_groups(config.model, use_of(config.model), streams,
                                                             config.training.batch_chunk, parameters.compute());
  const SegmentShape shape = training_shape(config, groups.front().count);
  const ModelUse use = use_of(config.model);
  const int64_t activations = model.record(arena, Tape::Mode::kTraining, parameters, use, shape)->tape.planned_bytes() +
                              model.schedule_bytes(use, shape);
  return {.streams = streams, .memory = memory_of(config.optimizer, parameters, buckets, groups, activations)};
}

// The sum of the gradients; or their scattered sum, and the weights that come back with their copy.
int64_t bytes_sent(Parameters& parameters, const Buckets& buckets, int ranks) {
  const int64_t back = buckets.parts() == 1 ? parameters.gradients().bytes()
                                            : parameters.values().bytes() + parameters.compute_copy().bytes();
  return (parameters.gradients().bytes() + back) / ranks * (ranks - 1);
}

void check_document_boundary(const Config& config, const Dataset& dataset) {
  const std::vector<int32_t> boundary = document_boundary(config, dataset);
  if (boundary.empty()) return;
  const std::string& split = config.data.train_split;
  if (dataset.split_info(split).examples)
    throw DataError(
        R"({}: split {}: data.document_boundary: expected none of a split of examples, each of which is read from empty )"
        R"(memory, found "{}")",
        dataset.directory().string(), split, config.data.document_boundary);
  check_boundary(dataset, split, config.data.document_boundary);
}

// Reads the split as training does, a few streams at a time, as far as the first target that it learns from.
void check_trained_targets(const Config& config, const Dataset& dataset) {
  const std::string& split = config.data.train_split;
  if (!dataset.split_info(split).marks) return;
  const TrainingConfig& training = config.training;
  constexpr int64_t kStreamsAtATime = 64;
  for (int64_t first = 0; first < training.batch_size; first += kStreamsAtATime) {
    const int64_t count = std::min(kStreamsAtATime, training.batch_size - first);
    SegmentStreams streams(dataset.split(split), {.streams = training.batch_size,
                                                  .first_stream = first,
                                                  .local_streams = count,
                                                  .segment_length = training.tgt_len,
                                                  .repeat = false});
    ScoredTargets scored(training, count);
    while (const Segment* segment = streams.next()) {
      if (count_scored(scored.of(segment->targets)) > 0) return;
    }
  }
  throw DataError("{}: expected a scored target among those that training learns from, found none",
                  dataset.split(split).name());
}

// The same of what evaluations within the run score.
void check_evaluated_targets(const Config& config, const Dataset& dataset) {
  const std::string& split = config.evaluation.split;
  if (!dataset.split_info(split).marks) return;
  TokenSource source = dataset.split(split);
  const EvaluationPlan plan = evaluation_plan(config, dataset);
  constexpr int64_t kBlock = 1 << 16;
  std::vector<TokenMark> marks;
  for (int64_t group = 0; group < plan.groups(); ++group) {
    for (const Lane& lane : plan.group(group)) {
      for (int64_t row = lane.scored; row < lane.end; row += kBlock) {
        marks.resize(static_cast<size_t>(std::min(kBlock, lane.end - row)));
        source.read_marks(row + 1, marks);
        if (std::ranges::any_of(marks, &TokenMark::is_scored)) return;
      }
    }
  }
  throw DataError("{}: expected a scored target among those evaluated, found none", source.name());
}

// By a rule whose first update has no rate, or by a factor that leaves nothing of it.
void check_learning_rate(const Config& config) {
  for (int64_t update = 1; update <= config.training.max_step; ++update) {
    if (static_cast<float>(learning_rate(config, update, {})) > 0.0F) return;
  }
  throw ConfigError(
      "schedule: expected a learning rate above 0 at some step, found 0 at each of training.max_step = {}",
      config.training.max_step);
}

}  // namespace

RankMemory memory_of(const OptimizerConfig& optimizer, Parameters& parameters, const Buckets& buckets,
                     std::span<const StreamGroup> groups, int64_t activations) {
  RankMemory memory{.weights = parameters.values().bytes() + parameters.compute_copy().bytes(),
                    .gradients = parameters.gradients().bytes(),
                    .optimizer = Optimizer::bytes(optimizer, buckets),
                    .segment_memory = 0,
                    .activations = activations};
  for (const StreamGroup& group : groups) memory.segment_memory += group.memory->bytes();
  return memory;
}

Parameters make_parameters(const Transformer& model, const Compute& compute, const OptimizerConfig& optimizer,
                           int ranks) {
  return Parameters(model.parameter_specs(), compute, Buckets::aligned_elements(parts_of(optimizer, ranks)));
}

Buckets make_buckets(const Config& config, Parameters& parameters, int ranks) {
  return {parameters.gradients().elements(), bucket_elements(config.training.bucket_mb),
          parts_of(config.optimizer, ranks)};
}

std::vector<int32_t> document_boundary(const Config& config, const Dataset& dataset) {
  const std::string& boundary = config.data.document_boundary;
  return boundary.empty() ? std::vector<int32_t>() : boundary_tokens(dataset, boundary);
}

EvaluationPlan evaluation_plan(const Config& config, const Dataset& dataset) {
  const SplitInfo& split = dataset.split_info(config.evaluation.split);
  const int64_t lanes = config.evaluation.batch_size;
  const int64_t tgt_len = evaluation_tgt_len(config);
  if (split.examples) return plan_examples(*split.examples, lanes, tgt_len, config.evaluation.max_tokens);
  const std::vector<int32_t> boundary = document_boundary(config, dataset);
  if (boundary.empty()) return plan_blocks(split.tokens, lanes, tgt_len, config.evaluation.max_tokens);
  const std::vector<int64_t> begins = find_documents(dataset.split(config.evaluation.split), boundary);
  return plan_documents(split.tokens, begins, lanes, tgt_len, config.evaluation.max_tokens);
}

DocumentsFound count_documents(const Config& config, const Dataset& dataset) {
  DocumentsFound found;
  const std::vector<int32_t> boundary = document_boundary(config, dataset);
  const auto add = [&](const std::string& split) {
    if (dataset.split_info(split).examples) return;
    const DocumentCount count = count_documents(dataset.split(split), boundary);
    found.line += fmt::format("{}{} in split {}", found.line.empty() ? "" : ", ", describe(count), split);
    if (count.documents == 1)
      found.warnings.push_back(
          fmt::format("data.document_boundary: {} divides nothing in split {}, which is read as one document; name "
                      "another text, or "
                      "none",
                      describe_json(Json(config.data.document_boundary)), split));
  };
  if (boundary.empty()) return found;
  add(config.data.train_split);
  if (config.evaluation.interval > 0 && config.evaluation.split != config.data.train_split)
    add(config.evaluation.split);
  return found;
}

Dataset dataset_of(const DataConfig& config) {
  if (!path_exists(config.path)) {
    const std::string beside = meant_beside(config.path, DirectoryKind::kDataset);
    throw DataError("data.path: expected a dataset, found nothing at {}{}{}", config.path, beside,
                    beside.empty()                   ? "; segue prepare makes one, --set data.path=DIR names another"
                    : beside.starts_with("; beside") ? "; --set data.path=DIR names one"
                                                     : "");
  }
  return Dataset(config.path);
}

void check_fit(const Config& config, const Dataset& dataset) {
  const std::string source = dataset.directory().string();
  if (dataset.vocabulary() < kSmallestVocabulary)
    throw DataError("{}: expected a vocabulary of at least {} tokens, found one of {}; prepare it again", source,
                    kSmallestVocabulary, dataset.vocabulary());
  const int64_t expected = config.data.vocab_size;
  if (expected > 0 && expected != dataset.vocabulary())
    throw DataError("{}: expected a vocabulary of data.vocab_size = {} tokens, found one of {}", source, expected,
                    dataset.vocabulary());
  check_cutoffs(config.model, dataset.vocabulary(), source);
  const auto check_marks = [&](const std::string& split) {
    if (config.model.objective.is_masked() && dataset.split_info(split).marks)
      throw DataError(R"({}: split {}: expected no marks with model.objective.kind = "masked", which draws what is )"
                      "predicted; found marks",
                      source, split);
  };
  const auto check_split = [&](const std::string& split, int64_t streams) {
    check_streams(dataset.split_info(split), streams, fmt::format("{}: split {}", source, split));
  };
  check_marks(config.data.train_split);
  check_learning_rate(config);
  check_split(config.data.train_split, config.training.batch_size);
  check_document_boundary(config, dataset);
  check_trained_targets(config, dataset);
  if (config.evaluation.interval == 0) return;
  check_marks(config.evaluation.split);
  if (!dataset.split_info(config.evaluation.split).examples)
    check_split(config.evaluation.split, config.evaluation.batch_size);
  check_evaluated_targets(config, dataset);
}

std::string remedy_for_memory(const Config& config) {
  const TrainingConfig& training = config.training;
  std::string lower =
      fmt::format("training.tgt_len ({}) or model.mem_len ({})", training.tgt_len, config.model.mem_len);
  if (training.batch_size > 1) lower = fmt::format("training.batch_size ({}), {}", training.batch_size, lower);
  if (training.batch_size > training.batch_chunk)
    lower += fmt::format(", or raise training.batch_chunk ({})", training.batch_chunk);
  if (training.recompute != Recompute::kBlock && allows_recompute(config.model))
    lower += ", or set training.recompute to \"block\"";
  return "lower " + lower;
}

TrainingPlan plan_training(const Config& config, int64_t vocab_size, int ranks) {
  const Transformer model(config.model, vocab_size);
  const bool bf16 = config.training.precision == PrecisionKind::kBf16;
  Parameters parameters = Parameters::planned(model.parameter_specs(), bf16 ? DType::kBFloat16 : DType::kFloat32,
                                              Buckets::aligned_elements(parts_of(config.optimizer, ranks)));
  const Buckets buckets = make_buckets(config, parameters, ranks);
  TrainingPlan plan{.parameters = parameters.count(),
                    .buckets = buckets.count(),
                    .bytes_sent = bytes_sent(parameters, buckets, ranks),
                    .ranks = {}};
  for (int rank = 0; rank < ranks; ++rank) {
    const Share streams = share_of(config.training.batch_size, ranks, rank);
    const bool as_before = rank > 0 && plan.ranks.back().streams.count == streams.count;
    plan.ranks.push_back(as_before ? RankPlan{streams, plan.ranks.back().memory}
                                   : plan_rank(config, model, parameters, buckets, streams));
  }
  return plan;
}

}  // namespace segue
