// The meanings of all keys outside `model`.
#include "core/config/config.h"

#include <fmt/format.h>

#include "base/json_fields.h"
#include "core/config/bounds.h"
#include "core/config/kind_requirements.h"
#include "core/config/layers.h"

namespace segue {
namespace {

// The stage of a step; none once they are over.
const StageConfig* stage_at(const Config& config, int64_t step) {
  for (const StageConfig& stage : config.training.stages)
    if (step <= stage.until_step) return &stage;
  return nullptr;
}

// The kinds of memory through which a segment of a step learns: "tokens", "associative" or "infini", in quotes.
std::string memories_that_hand_on_gradients() {
  std::vector<std::string_view> words;
  for (size_t i = 0; i < choices_of(MemoryKind{}).size(); ++i) {
    const MemoryConfig memory{.kind = static_cast<MemoryKind>(i)};
    if (requirements_of(memory).hands_on_gradients) words.push_back(name_of_choice(memory.kind));
  }
  return listed_in_quotes(words);
}

std::string_view meaning_of_segments_per_step() {
  static const std::string meaning = fmt::format(
      "segments of each stream that a step reads one after another. Gradients flow from a segment into what earlier "
      "segments of the same step wrote to memory tokens or states. Values above 1 need model.memory.kind = {}, whose "
      "layers do not learn to write with 1, or layers that keep a state. The last step of a text may have fewer",
      memories_that_hand_on_gradients());
  return meaning;
}

}  // namespace

void DataConfig::describe(JsonFields& fields) {
  fields.required("path", path, {.meaning = "directory of the prepared dataset"});
  fields.optional("train_split", train_split, {.meaning = "split to train on"});
  fields.optional("vocab_size", vocab_size,
                  {.meaning = "vocabulary size that the dataset must have; 0: any",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kWidestVocabulary});
  fields.optional(
      "read_ahead", read_ahead,
      {.meaning = "how far the reader runs ahead of training", .unit = "segments", .minimum = 1, .maximum = 1024});
  fields.optional(
      "document_boundary", document_boundary,
      {.meaning = "text, or numbers of ready-made tokens, after which a new document begins. No token sees earlier "
                  "documents, neither in its segment nor in memory, and evaluations during training read each document "
                  "from empty memory. Escapes such as \\n, \\t and \\x1e are understood, also those that JSON does not "
                  "have; empty: the text is not divided into documents"});
}

void OptimizerConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "update rule. adamw is adam with decoupled weight decay. lamb scales the step of each "
                                "tensor to the tensor's norm. sgd has momentum if optimizer.momentum is above 0"});
  fields.optional(
      "lr", lr,
      {.meaning = "peak learning rate, before a stage's lr_factor multiplies it", .above = 0, .maximum = 1000});
  using enum OptimizerKind;
  const Kinds with_moments(kAdam, kAdamw, kLamb);
  fields.optional("beta1", beta1,
                  {.meaning = "decay of the first moment", .minimum = 0, .below = 1, .kinds = with_moments});
  fields.optional("beta2", beta2,
                  {.meaning = "decay of the second moment", .minimum = 0, .below = 1, .kinds = with_moments});
  fields.optional(
      "epsilon", epsilon,
      {.meaning = "added to the square root of the second moment (adagrad: of the sum of squared gradients), and with "
                  "lamb also to the norm of a step; 0: 1e-8 for adam and adamw, 1e-6 for lamb, 1e-10 for adagrad",
       .minimum = 0,
       .kinds = Kinds(kAdagrad, kAdam, kAdamw, kLamb)});
  fields.optional("weight_decay", weight_decay,
                  {.meaning = "share of a weight that each step removes, times the learning rate",
                   .minimum = 0,
                   .kinds = Kinds(kAdamw, kLamb)});
  fields.optional(
      "momentum", momentum,
      {.meaning = "share of a step that the next step repeats", .minimum = 0, .below = 1, .kinds = Kinds(kSgd)});
  fields.optional("clip", clip, {.meaning = "largest global norm of the gradients; 0: no limit", .minimum = 0});
  fields.optional("shard", shard,
                  {.meaning = "each rank keeps the optimizer's moments of a part of the weights, and updates only that "
                              "part. This takes less memory and gives the same results"});
}

void ScheduleConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "how the learning rate falls after the warm-up"});
  fields.optional("warmup_step", warmup_step,
                  {.meaning = "length of the warm-up, in which the learning rate rises linearly",
                   .unit = "steps",
                   .minimum = 0,
                   .maximum = kMostSteps});
  fields.optional(
      "eta_min", eta_min,
      {.meaning = "lowest learning rate of cosine, linear and plateau, before a stage's lr_factor multiplies it",
       .minimum = 0});
  const Kinds plateau(ScheduleKind::kPlateau);
  fields.optional(
      "decay_rate", decay_rate,
      {.meaning = "each fall multiplies the learning rate by this", .above = 0, .below = 1, .kinds = plateau});
  fields.optional("patience", patience,
                  {.meaning = "number of evaluations in a row that may fail to lower the loss, by a share of at least "
                              "1e-4, before the learning rate falls",
                   .minimum = 0,
                   .maximum = kMostSteps,
                   .kinds = plateau});
  fields.optional("rule", rule, {.meaning = "which code's arithmetic to follow"});
}

void StageConfig::describe(JsonFields& fields) {
  fields.required("until_step", until_step,
                  {.meaning = "the last step of the stage, above that of the stage before and below training.max_step",
                   .unit = "steps",
                   .minimum = 1,
                   .maximum = kMostSteps});
  fields.required("tgt_len", tgt_len,
                  {.meaning = "length of a segment in this stage, at most training.tgt_len",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest});
  fields.required("mem_len", mem_len,
                  {.meaning = "length of the memory in this stage, at most model.mem_len",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kLongest});
  fields.optional("segments_per_step", segments_per_step,
                  {.meaning = "segments of a step in this stage, at most training.segments_per_step",
                   .unit = "segments",
                   .minimum = 1,
                   .maximum = kMostSegments});
  fields.optional("window_share", window_share,
                  {.meaning = "share of their windows that layers see in this stage, rounded to the nearest key, at "
                              "least 1. It applies to visibility of kind window and to patterns of kinds window and "
                              "dilated. Evaluations see the whole windows",
                   .above = 0,
                   .maximum = 1});
  fields.optional("lr_factor", lr_factor,
                  {.meaning = "this stage multiplies the schedule's learning rate by it", .above = 0, .maximum = 1000});
}

void TrainingConfig::describe(JsonFields& fields) {
  fields.optional("batch_size", batch_size,
                  {.meaning = "global batch: parallel streams of text over all ranks",
                   .unit = "streams",
                   .minimum = 1,
                   .maximum = kMostStreams});
  fields.optional("tgt_len", tgt_len,
                  {.meaning = "length of a segment", .unit = "tokens", .minimum = 1, .maximum = kLongest});
  fields.optional(
      "segments_per_step", segments_per_step,
      {.meaning = meaning_of_segments_per_step(), .unit = "segments", .minimum = 1, .maximum = kMostSegments});
  fields.optional("stages", stages,
                  {.meaning = "stages that training begins with, one after another, with shorter segments and "
                              "memories, smaller windows and other learning rates. After the last stage the rest of "
                              "the config applies. A step of shorter segments, or of fewer, has fewer tokens"});
  fields.optional(
      "reset_interval", reset_interval,
      {.meaning = "memory starts again after this many steps, and wherever the text starts again; 0: only there",
       .unit = "steps",
       .minimum = 0,
       .maximum = kMostSteps});
  fields.optional("redraw_interval", redraw_interval,
                  {.meaning = "random features are drawn again after this many steps; 0: never. It must be a multiple "
                              "of reset_interval, since the features that wrote a state must also read it",
                   .unit = "steps",
                   .minimum = 0,
                   .maximum = kMostSteps});
  fields.optional("loss_part", loss_part, {.meaning = "which tokens of a segment training learns from"});
  fields.optional("batch_chunk", batch_chunk,
                  {.meaning = "gradient accumulation: a step runs the streams in this many parts and adds their "
                              "gradients, which saves memory",
                   .minimum = 1,
                   .maximum = kMostStreams});
  fields.optional("recompute", recompute,
                  {.meaning = "which activations backward computes again, one layer after another, instead of keeping "
                              "them. This saves memory and takes time. Every gradient is the same to the bit"});
  fields.optional("max_step", max_step,
                  {.meaning = "length of the run", .unit = "steps", .minimum = 1, .maximum = kMostSteps});
  fields.optional(
      "log_interval", log_interval,
      {.meaning = "interval between two lines of metrics", .unit = "steps", .minimum = 1, .maximum = kMostSteps});
  fields.optional(
      "device", device,
      {.meaning =
           "auto (a GPU if there is one), cpu, cuda (a GPU, a different one for each rank of a host), or cuda:N"});
  fields.optional(
      "precision", precision,
      {.meaning = "precision of activations and of the factors of products. Weights, their gradients and sums are "
                  "fp32. bf16 needs a GPU, or a processor that has products of it (AVX512-BF16, AMX)"});
  fields.optional("threads", threads, {.meaning = "CPU threads; 0: all", .minimum = 0, .maximum = kMostThreads});
  fields.optional("communicator", communicator,
                  {.meaning = "what carries gradients between GPUs: nccl, mpi (through the host's memory), or auto: "
                              "nccl if every rank has it and a GPU to itself, otherwise mpi"});
  fields.optional("peer_timeout", peer_timeout,
                  {.meaning = "how long ranks wait, at the start and later, for a rank that does not come, before they "
                              "end the job. While files are read or written or the model is evaluated, they wait this "
                              "long for a rank that shows no sign of life",
                   .unit = "seconds",
                   .minimum = 1,
                   .maximum = 86400});
  fields.optional(
      "stall_timeout", stall_timeout,
      {.meaning = "how long ranks wait, while files are read or written or the model is evaluated, for a rank that is "
                  "alive but makes no progress, as on a stalled file system, before they end the job",
       .unit = "seconds",
       .minimum = 1,
       .maximum = 604800});
  fields.optional("bucket_mb", bucket_mb,
                  {.meaning = "size of the buckets of gradients that ranks sum while the backward pass goes on; 0: all "
                              "gradients at once after it",
                   .unit = "MiB",
                   .minimum = 0,
                   .maximum = 1024});
  fields.optional(
      "init_from", init_from,
      {.meaning = "directory of a run or checkpoint whose weights this run starts from; empty: random weights"});
  fields.optional("report", report,
                  {.meaning = "keep report.html in the run's directory up to date. This page shows the run, and "
                              "reloads itself while training goes on"});
}

void EvaluationConfig::describe(JsonFields& fields) {
  fields.optional("interval", interval,
                  {.meaning = "interval between two evaluations, with one after the last step; 0: never",
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
                  {.meaning = "length of the memory; -1: so that tgt_len + mem_len is the same as in training",
                   .unit = "tokens",
                   .minimum = -1,
                   .maximum = 2 * kLongest});
  fields.optional("max_tokens", max_tokens,
                  {.meaning = "stop after this many tokens; 0: the whole split", .unit = "tokens", .minimum = 0});
}

void CheckpointConfig::describe(JsonFields& fields) {
  fields.optional("interval", interval,
                  {.meaning = "interval between two checkpoints; 0: only at the end and when stopped",
                   .unit = "steps",
                   .minimum = 0,
                   .maximum = kMostSteps});
  fields.optional("keep_last", keep_last,
                  {.meaning = "number of checkpoints to keep, the newest ones", .minimum = 1, .maximum = 1e6});
  fields.optional("keep_best", keep_best, {.meaning = "also keep the checkpoint with the best evaluation"});
}

void Config::describe(JsonFields& fields) {
  fields.optional("seed", seed, {.meaning = "seed of all random numbers", .minimum = 0, .maximum = kLargestSeed});
  fields.optional("data", data, {.meaning = "what to read"});
  fields.optional("model", model, {.meaning = "what to train"});
  fields.optional("optimizer", optimizer, {.meaning = "how gradients change weights"});
  fields.optional("schedule", schedule, {.meaning = "the learning rate over time"});
  fields.optional("training", training, {.meaning = "steps, batch, segments, device and ranks"});
  fields.optional("evaluation", evaluation, {.meaning = "evaluations during training"});
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
                  {.meaning = "distances beyond this one count as this one; 0 or less: no limit. By default, the limit "
                              "of training is used",
                   .unit = "tokens",
                   .minimum = -1,
                   .maximum = kLongest});
  fields.optional("same_length", same_length,
                  {.meaning = "every query sees the same number of keys. By default, this is as in training"});
  fields.optional(
      "set", set,
      {.meaning = "replace a value of the model's config, such as model.memory.initial=zeros. It takes the keys that "
                  "say how a model is used (x-role use in configs/segue.schema.json). All others stay as in training",
       .flag = {.value = "KEY=VALUE", .is_repeated = true}});
}

}  // namespace segue
