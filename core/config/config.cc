// The meanings of all keys outside `model`.
#include "core/config/config.h"

#include "base/json_fields.h"
#include "core/config/bounds.h"

namespace segue {
namespace {

// The stage of a step; none once they are over.
const StageConfig* stage_at(const Config& config, int64_t step) {
  for (const StageConfig& stage : config.training.stages)
    if (step <= stage.until_step) return &stage;
  return nullptr;
}

}  // namespace

void DataConfig::describe(JsonFields& fields) {
  fields.required("path", path, {.meaning = "directory of the prepared dataset"});
  fields.optional("train_split", train_split, {.meaning = "split to train on"});
  fields.optional("vocab_size", vocab_size,
                  {.meaning = "tokens that the dataset's vocabulary must have; 0: any number of them",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kWidestVocabulary});
  fields.optional(
      "read_ahead", read_ahead,
      {.meaning = "how far the reader runs ahead of training", .unit = "segments", .minimum = 1, .maximum = 1024});
  fields.optional(
      "document_boundary", document_boundary,
      {.meaning = "text, or numbers of ready-made tokens, behind which another document begins; nothing "
                  "before its document is seen from any token, neither in the segment nor in memory, and "
                  "evaluations during training read each document from empty memory; escapes "
                  "such as \\n, \\t and \\x1e are read, those of JSON or not; empty: documents are not told "
                  "apart"});
}

void OptimizerConfig::describe(JsonFields& fields) {
  fields.kind(
      kind,
      {.meaning = "adam; adamw, which adds decoupled weight decay; lamb, whose steps are as long as the tensor that "
                  "they change; adagrad; sgd, with momentum or without"});
  fields.optional("lr", lr,
                  {.meaning = "highest learning rate, before the lr_factor of a stage", .above = 0, .maximum = 1000});
  using enum OptimizerKind;
  const Kinds with_moments(kAdam, kAdamw, kLamb);
  fields.optional("beta1", beta1,
                  {.meaning = "decay of the first moment", .minimum = 0, .below = 1, .kinds = with_moments});
  fields.optional("beta2", beta2,
                  {.meaning = "decay of the second moment", .minimum = 0, .below = 1, .kinds = with_moments});
  fields.optional("epsilon", epsilon,
                  {.meaning = "added to the root of the second moment, of the sum of squares for adagrad, and with "
                              "lamb to the norm of a step; 0: 1e-8 for adam and adamw, 1e-6 for lamb, 1e-10 for "
                              "adagrad",
                   .minimum = 0,
                   .kinds = Kinds(kAdagrad, kAdam, kAdamw, kLamb)});
  fields.optional("weight_decay", weight_decay,
                  {.meaning = "share of a weight removed per step, times the learning rate",
                   .minimum = 0,
                   .kinds = Kinds(kAdamw, kLamb)});
  fields.optional(
      "momentum", momentum,
      {.meaning = "share of a step that the next one repeats", .minimum = 0, .below = 1, .kinds = Kinds(kSgd)});
  fields.optional("clip", clip, {.meaning = "largest global norm of the gradients; 0: no limit", .minimum = 0});
  fields.optional(
      "shard", shard,
      {.meaning = "each rank keeps the moments of a part of the weights and updates those; less memory, the "
                  "same results"});
}

void ScheduleConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "how the learning rate falls after the warm-up"});
  fields.optional(
      "warmup_step", warmup_step,
      {.meaning = "the learning rate rises linearly this long", .unit = "steps", .minimum = 0, .maximum = kMostSteps});
  fields.optional("eta_min", eta_min,
                  {.meaning = "lowest learning rate, of cosine, linear and plateau, before the lr_factor of a stage",
                   .minimum = 0});
  const Kinds plateau(ScheduleKind::kPlateau);
  fields.optional(
      "decay_rate", decay_rate,
      {.meaning = "the learning rate becomes this share of what it was", .above = 0, .below = 1, .kinds = plateau});
  fields.optional("patience", patience,
                  {.meaning = "so many evaluations in a row may fail to lower the loss, by a share of 1e-4 at least, "
                              "before the learning rate falls",
                   .minimum = 0,
                   .maximum = kMostSteps,
                   .kinds = plateau});
  fields.optional("rule", rule, {.meaning = "whose arithmetic"});
}

void StageConfig::describe(JsonFields& fields) {
  fields.required("until_step", until_step,
                  {.meaning = "the last step of the stage; more than that of the stage before, less than max_step",
                   .unit = "steps",
                   .minimum = 1,
                   .maximum = kMostSteps});
  fields.required("tgt_len", tgt_len,
                  {.meaning = "length of a segment meanwhile, at most training.tgt_len",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest});
  fields.required("mem_len", mem_len,
                  {.meaning = "length of the memory meanwhile, at most model.mem_len",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kLongest});
  fields.optional("segments_per_step", segments_per_step,
                  {.meaning = "segments that a step has meanwhile, at most training.segments_per_step",
                   .unit = "segments",
                   .minimum = 1,
                   .maximum = kMostSegments});
  fields.optional("window_share", window_share,
                  {.meaning = "share of their windows that layers see meanwhile, of visibility of kind window and of "
                              "patterns of kinds window and dilated, to the nearest key, 1 at least; evaluations see "
                              "all of them",
                   .above = 0,
                   .maximum = 1});
  fields.optional(
      "lr_factor", lr_factor,
      {.meaning = "what the schedule's learning rate is multiplied by meanwhile", .above = 0, .maximum = 1000});
}

void TrainingConfig::describe(JsonFields& fields) {
  fields.optional("batch_size", batch_size,
                  {.meaning = "parallel streams of text, over all ranks",
                   .unit = "streams",
                   .minimum = 1,
                   .maximum = kMostStreams});
  fields.optional("tgt_len", tgt_len,
                  {.meaning = "length of a segment", .unit = "tokens", .minimum = 1, .maximum = kLongest});
  fields.optional("segments_per_step", segments_per_step,
                  {.meaning = "segments of a stream that a step reads one after another; gradients pass from each into "
                              "what those before it, in the same step, wrote into memory tokens or states. Above 1 "
                              "only with model.memory.kind = \"tokens\", \"infini\" or \"associative\", whose layers "
                              "learn nothing of writing with 1, or layers that keep a state. The last step of a text "
                              "may have fewer",
                   .unit = "segments",
                   .minimum = 1,
                   .maximum = kMostSegments});
  fields.optional(
      "stages", stages,
      {.meaning =
           "shorter segments and memories, smaller windows and other learning rates that training begins with, "
           "one stage after another; from the end of the last one on all are what the rest of the config says. A "
           "step of shorter segments, or of fewer, has fewer tokens"});
  fields.optional("reset_interval", reset_interval,
                  {.meaning = "memories begin anew after so many steps, besides where the text does; 0: only there",
                   .unit = "steps",
                   .minimum = 0,
                   .maximum = kMostSteps});
  fields.optional("redraw_interval", redraw_interval,
                  {.meaning = "random features are drawn anew after so many steps, a multiple of reset_interval, since "
                              "a state was written under the old ones; 0: never",
                   .unit = "steps",
                   .minimum = 0,
                   .maximum = kMostSteps});
  fields.optional("loss_part", loss_part, {.meaning = "which tokens of a segment are learned from"});
  fields.optional("batch_chunk", batch_chunk,
                  {.meaning = "a step runs the streams in this many parts and adds their gradients; saves memory",
                   .minimum = 1,
                   .maximum = kMostStreams});
  fields.optional("max_step", max_step,
                  {.meaning = "length of the run", .unit = "steps", .minimum = 1, .maximum = kMostSteps});
  fields.optional("log_interval", log_interval,
                  {.meaning = "between two lines of metrics", .unit = "steps", .minimum = 1, .maximum = kMostSteps});
  fields.optional(
      "device", device,
      {.meaning = "auto (a GPU when there is one), cpu, cuda (a GPU, another one for each rank of a host), or "
                  "cuda:N"});
  fields.optional(
      "precision", precision,
      {.meaning = "of activations and of what products multiply; weights, their gradients and sums are fp32; "
                  "bf16 on a GPU or a processor with products of it (AVX512-BF16, AMX)"});
  fields.optional("threads", threads, {.meaning = "processor threads; 0: all", .minimum = 0, .maximum = kMostThreads});
  fields.optional(
      "communicator", communicator,
      {.meaning = "what carries gradients between GPUs: nccl, mpi (through the host's memory), or auto, which "
                  "is nccl where every rank has it and a GPU for itself"});
  fields.optional(
      "peer_timeout", peer_timeout,
      {.meaning =
           "how long ranks wait for one that does not come, at the start and later, before they give the job up; "
           "while files are read and written or the model is evaluated, for one that shows no sign of life",
       .unit = "seconds",
       .minimum = 1,
       .maximum = 86400});
  fields.optional(
      "stall_timeout", stall_timeout,
      {.meaning = "how long ranks wait for one that is alive and does not get on while files are read and written or "
                  "the model is evaluated, as on a file system that has stalled, before they give the job up",
       .unit = "seconds",
       .minimum = 1,
       .maximum = 604800});
  fields.optional("bucket_mb", bucket_mb,
                  {.meaning = "gradients that ranks sum at once while backward goes on; 0: all, after backward",
                   .unit = "MiB",
                   .minimum = 0,
                   .maximum = 1024});
  fields.optional("init_from", init_from,
                  {.meaning = "run or checkpoint directory whose weights start this run; empty: weights are drawn"});
  fields.optional("report", report,
                  {.meaning = "keep a page that shows the run, report.html in its directory, up to date; it loads "
                              "itself again while training goes on"});
}

void EvaluationConfig::describe(JsonFields& fields) {
  fields.optional("interval", interval,
                  {.meaning = "between two evaluations, the last of which comes after the last step; 0: never",
                   .unit = "steps",
                   .minimum = 0,
                   .maximum = kMostSteps});
  fields.optional("split", split, {.meaning = "split to evaluate on"});
  fields.optional("batch_size", batch_size,
                  {.meaning = "parallel streams of text", .unit = "streams", .minimum = 1, .maximum = kMostStreams});
  fields.optional(
      "tgt_len", tgt_len,
      {.meaning = "length of a segment; 0: training.tgt_len", .unit = "tokens", .minimum = 0, .maximum = kLongest});
  fields.optional("mem_len", mem_len,
                  {.meaning = "length of the memory; -1: so that tgt_len + mem_len is what it is in training",
                   .unit = "tokens",
                   .minimum = -1,
                   .maximum = 2 * kLongest});
  fields.optional("max_tokens", max_tokens,
                  {.meaning = "stop after this many tokens; 0: the whole split", .unit = "tokens", .minimum = 0});
}

void CheckpointConfig::describe(JsonFields& fields) {
  fields.optional("interval", interval,
                  {.meaning = "between two checkpoints; 0: only at the end and when stopped",
                   .unit = "steps",
                   .minimum = 0,
                   .maximum = kMostSteps});
  fields.optional("keep_last", keep_last, {.meaning = "checkpoints kept, newest first", .minimum = 1, .maximum = 1e6});
  fields.optional("keep_best", keep_best, {.meaning = "also keep the checkpoint that evaluated best"});
}

void Config::describe(JsonFields& fields) {
  fields.optional("seed", seed, {.meaning = "of all random numbers", .minimum = 0, .maximum = kLargestSeed});
  fields.optional("data", data, {.meaning = "what to read"});
  fields.optional("model", model, {.meaning = "what to train"});
  fields.optional("optimizer", optimizer, {.meaning = "how gradients change weights"});
  fields.optional("schedule", schedule, {.meaning = "the learning rate over time"});
  fields.optional("training", training, {.meaning = "the run"});
  fields.optional("evaluation", evaluation, {.meaning = "evaluations inside the run"});
  fields.optional("checkpoint", checkpoint, {.meaning = "what is saved, and when"});
}

double effective_epsilon(const OptimizerConfig& optimizer) {
  if (optimizer.epsilon > 0.0) return optimizer.epsilon;
  switch (optimizer.kind) {
    case OptimizerKind::kAdagrad:
      return 1e-10;
    case OptimizerKind::kLamb:
      return 1e-6;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
    case OptimizerKind::kSgd:
      break;
  }
  return 1e-8;
}

StageLengths lengths_of(const StageConfig& stage) {
  return {.tgt_len = stage.tgt_len,
          .mem_len = stage.mem_len,
          .segments = stage.segments_per_step,
          .window_share = stage.window_share};
}

StageLengths last_lengths(const Config& config) {
  return {.tgt_len = config.training.tgt_len,
          .mem_len = config.model.mem_len,
          .segments = config.training.segments_per_step};
}

StageLengths lengths_at(const Config& config, int64_t step) {
  const StageConfig* const stage = stage_at(config, step);
  return stage != nullptr ? lengths_of(*stage) : last_lengths(config);
}

std::vector<StageLengths> all_lengths(const Config& config) {
  std::vector<StageLengths> lengths;
  for (const StageConfig& stage : config.training.stages) lengths.push_back(lengths_of(stage));
  lengths.push_back(last_lengths(config));
  return lengths;
}

double lr_factor_at(const Config& config, int64_t step) {
  const StageConfig* const stage = stage_at(config, step);
  return stage != nullptr ? stage->lr_factor : 1.0;
}

int64_t scored_tokens(const TrainingConfig& training, int64_t length) {
  return training.loss_part == LossPart::kHalf ? (length + 1) / 2 : length;
}

int64_t evaluation_tgt_len(const Config& config) {
  return config.evaluation.tgt_len == 0 ? config.training.tgt_len : config.evaluation.tgt_len;
}

int64_t evaluation_mem_len(const Config& config) {
  if (config.evaluation.mem_len >= 0) return config.evaluation.mem_len;
  if (state_layers(config.model) == config.model.n_layer) return 0;
  return config.training.tgt_len + config.model.mem_len - evaluation_tgt_len(config);
}

ModelUse evaluation_use(const Config& config) {
  ModelUse use = use_of(config.model);
  use.mem_len = evaluation_mem_len(config);
  return use;
}

void describe_use(JsonFields& fields, std::optional<int64_t>& clamp_len, std::optional<bool>& same_length,
                  std::vector<std::string>& set) {
  fields.optional("clamp_len", clamp_len,
                  {.meaning = "largest distance told apart; 0 or less: all are; none: as trained",
                   .unit = "tokens",
                   .minimum = -1,
                   .maximum = kLongest});
  fields.optional("same_length", same_length,
                  {.meaning = "every query sees the same number of keys; none: as trained"});
  fields.optional("set", set,
                  {.meaning = "KEY=VALUE in place of what the model's config says of its use (x-role of "
                              "configs/segue.schema.json), such as model.memory.initial=zeros; none: as trained",
                   .flag = {.value = "KEY=VALUE", .is_repeated = true}});
}

}  // namespace segue
