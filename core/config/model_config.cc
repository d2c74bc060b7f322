// The meaning of every `model` key. Upper bounds are far beyond any model; they keep products of sizes inside 64 bits.
#include "core/config/model_config.h"

#include <limits>

#include "base/json_fields.h"
#include "core/config/block_row.h"
#include "core/config/bounds.h"
#include "core/config/depth_kind.h"
#include "core/config/head_kind.h"
#include "core/config/memory_row.h"
#include "core/config/objective_kind.h"
#include "core/config/position_kind.h"
#include "core/config/score_kind.h"
#include "core/config/visibility_kind.h"
#include "kernels/layer_norm.h"

namespace segue {
namespace {

constexpr double kMostHeads = 1024;
constexpr double kLargestHead = 256;  // the limit of the attention kernels
constexpr double kMostDrawnBlocks = 256;
constexpr double kMostTaps = 8;  // the limit of the convolution's kernel
constexpr double kWidest = 1 << 16;
constexpr auto kWidestModel = static_cast<double>(kernels::kMaxNormWidth);
constexpr double kWidestInner = 1 << 20;
constexpr double kLargestVocabulary = std::numeric_limits<int32_t>::max();

}  // namespace

void ObjectiveConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "what a token is predicted from"});
  const Kinds masked(ObjectiveKind::kMasked);
  fields.optional("mask_rate", mask_rate,
                  {.meaning = "probability that training predicts a token. Every epoch draws other tokens; an "
                              "evaluation always predicts the same 15 % of a split",
                   .above = 0,
                   .maximum = 1,
                   .kinds = masked});
  fields.optional("mask_token_share", mask_token_share,
                  {.meaning = "share of the predicted tokens that the mask token replaces",
                   .minimum = 0,
                   .maximum = 1,
                   .kinds = masked});
  fields.optional("random_token_share", random_token_share,
                  {.meaning = "share of the predicted tokens that a random token replaces. The others stay as they are",
                   .minimum = 0,
                   .maximum = 1,
                   .kinds = masked});
}

void PositionConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "how the model knows the positions of tokens"});
  using enum PositionKind;
  fields.optional("clamp_len", clamp_len,
                  {.meaning = "distances beyond this one count as this one; 0 or less: no limit",
                   .unit = "tokens",
                   .minimum = -1,
                   .maximum = kLongest,
                   .role = kUse,
                   .kinds = Kinds(kRelative, kShaw)});
  fields.optional("untie_r", untie_r,
                  {.meaning = "every layer has its own biases instead of sharing one set: u and w of relative, the "
                              "table of t5, the curves of kerple",
                   .kinds = Kinds(kRelative, kT5, kKerple)});
  fields.optional("max_positions", max_positions,
                  {.meaning = "learned: rows of the table, one per position in a segment; shaw: rows of every layer's "
                              "table, one per distance; 0: as many as training needs (learned: training.tgt_len; shaw: "
                              "training.tgt_len + model.mem_len, or model.position.clamp_len + 1)",
                   .minimum = 0,
                   .maximum = 2 * kLongest,
                   .kinds = Kinds(kLearned, kShaw)});
  fields.optional(
      "rotary_base", rotary_base,
      {.meaning = "pair j of w rotated columns rotates by rotary_base^(-2j / w) radians per token. A larger base in an "
                  "evaluation stretches slow rotations more than fast ones, for contexts longer than in training",
       .minimum = 1,
       .role = kUse,
       .kinds = Kinds(kRope)});
  fields.optional("rotary_scaling", rotary_scaling,
                  {.meaning = "positions are divided by this. A context this many times longer than in training then "
                              "has no angles that training did not have",
                   .minimum = 1,
                   .role = kUse,
                   .kinds = Kinds(kRope)});
  fields.optional("rotary_share", rotary_share,
                  {.meaning = "share of a head's columns that are rotated, the first ones. Their number must be even",
                   .above = 0,
                   .maximum = 1,
                   .kinds = Kinds(kRope)});
  fields.optional("t5_buckets", t5_buckets,
                  {.meaning = "rows of the table of biases. Each row of the first half stands for one distance, from 0 "
                              "on; the others stand for ranges that grow geometrically",
                   .minimum = 2,
                   .maximum = 2 * kLongest,
                   .kinds = Kinds(kT5)});
  fields.optional(
      "t5_max_distance", t5_max_distance,
      {.meaning = "distances from this one on fall into the last bucket. It must be above half of t5_buckets",
       .unit = "tokens",
       .minimum = 2,
       .maximum = 2 * kLongest,
       .kinds = Kinds(kT5)});
}

std::optional<int64_t> PatternConfig::farthest_distance(int64_t position) const {
  using enum PatternKind;
  const int64_t phase = position % repeats_after();
  switch (kind) {
    case kWindow:
      return window - 1;
    case kDilated:
      return (window - 1) * stride;
    case kBlocks:
      return phase + before;
    case kBlockwise:
      return phase + shift * block;
    case kRandom:
      return phase % block + farthest * block;
    case kStrided:
    case kFixed:
    case kGlobal:
      break;
  }
  return {};
}

int64_t PatternConfig::repeats_after() const {
  using enum PatternKind;
  switch (kind) {
    case kWindow:
    case kDilated:
    case kStrided:
      break;
    case kBlocks:
    case kBlockwise:
      return block;
    case kFixed:
    case kGlobal:
    case kRandom:
      return period;
  }
  return 1;
}

std::string_view PatternConfig::repeat_key() const {
  return kind == PatternKind::kBlocks || kind == PatternKind::kBlockwise ? "block" : "period";
}

void PatternConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "which keys the heads of this pattern see"});
  using enum PatternKind;
  fields.optional("heads", heads,
                  {.meaning = "heads of this pattern, counted from 0; an empty list: all",
                   .minimum = 0,
                   .maximum = kMostHeads - 1});
  fields.optional("window", window,
                  {.meaning = "keys that a query sees, its own included",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kWindow, kDilated)});
  fields.optional("stride", stride,
                  {.meaning = "tokens from one key to the next",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kDilated, kStrided)});
  fields.optional(
      "block", block,
      {.meaning =
           "length of a block. Blocks are counted from a stream's first token, and segments must hold whole blocks",
       .unit = "tokens",
       .minimum = 1,
       .maximum = kLongest,
       .kinds = Kinds(kBlocks, kBlockwise, kRandom)});
  fields.optional("before", before,
                  {.meaning = "keys before the query's block that all of its queries see. Where they look ahead, they "
                              "also see as many after it",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kLongest,
                   .kinds = Kinds(kBlocks)});
  fields.optional("shift", shift,
                  {.meaning = "how many blocks before the query's block the visible one lies; 0: the query's own",
                   .unit = "blocks",
                   .minimum = 0,
                   .maximum = kLongest,
                   .kinds = Kinds(kBlockwise)});
  fields.optional("period", period,
                  {.meaning = "length after which visible positions, or random blocks, repeat. Periods are counted "
                              "from a stream's first token, and segments must hold whole periods",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kFixed, kGlobal, kRandom)});
  fields.optional("from", from,
                  {.meaning = "first visible position of a period, counted from 0; -1: the last positions are visible",
                   .unit = "tokens",
                   .minimum = -1,
                   .maximum = kLongest,
                   .kinds = Kinds(kFixed)});
  fields.optional("columns", columns,
                  {.meaning = "number of visible positions of each period",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kFixed, kGlobal)});
  fields.optional("count", count,
                  {.meaning = "number of random blocks for each block of queries, all different",
                   .unit = "blocks",
                   .minimum = 1,
                   .maximum = kMostDrawnBlocks,
                   .kinds = Kinds(kRandom)});
  fields.optional("nearest", nearest,
                  {.meaning = "how many blocks before the query's block the nearest random block may lie",
                   .unit = "blocks",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kRandom)});
  fields.optional("farthest", farthest,
                  {.meaning = "how many blocks before the query's block the farthest random block may lie. Training "
                              "needs a model.mem_len that reaches it",
                   .unit = "blocks",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kRandom)});
  fields.optional("seed", seed,
                  {.meaning = "seed of the random blocks, which are the same in every run and use of the model",
                   .minimum = 0,
                   .maximum = kLargestSeed,
                   .kinds = Kinds(kRandom)});
}

void VisibilityConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "which keys a query sees"});
  using enum VisibilityKind;
  fields.optional("same_length", same_length,
                  {.meaning = "every query sees the same number of keys: model.mem_len, its own included",
                   .role = kUse,
                   .kinds = Kinds(kCausal)});
  fields.optional("same_length_extra_key", same_length_extra_key,
                  {.meaning = "with same_length, one key more: model.mem_len + 1, as in the TensorFlow and NVIDIA "
                              "codes. This also applies if only an evaluation asks for same_length",
                   .role = kUse,
                   .kinds = Kinds(kCausal)});
  fields.optional(
      "window", window,
      {.meaning = "keys that a query sees, its own included. Training needs a model.mem_len of at least window - 1",
       .unit = "tokens",
       .minimum = 1,
       .maximum = kLongest,
       .role = kUse,
       .kinds = Kinds(kWindow)});
  fields.optional("patterns", patterns,
                  {.meaning = "a head sees the keys that any of its patterns names, and always the query's own. Every "
                              "head needs at least one pattern. Training needs a model.mem_len that reaches as far "
                              "back as the patterns do, if they end anywhere, and segments of whole blocks and periods",
                   .kinds = Kinds(kSparse)});
  fields.optional("span", span,
                  {.meaning = "longest span that a head can learn: tokens before a query's own that it sees with full "
                              "weight. Training needs a model.mem_len of at least span + ramp - 1",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kAdaptive)});
  fields.optional("ramp", ramp,
                  {.meaning = "number of tokens beyond a head's span over which its attention weights fall to zero. A "
                              "head learns the length of its span from these tokens alone",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kAdaptive)});
  fields.optional("initial", initial,
                  {.meaning = "every head's span at the start, as a share of the longest span",
                   .minimum = 0,
                   .maximum = 1,
                   .role = kTraining,
                   .kinds = Kinds(kAdaptive)});
  fields.optional("penalty", penalty,
                  {.meaning = "added to the training loss for each layer and each token of the mean span of its heads. "
                              "Reported losses leave it out",
                   .unit = "nats",
                   .minimum = 0,
                   .role = kTraining,
                   .kinds = Kinds(kAdaptive)});
}

void LayerOverride::describe(JsonFields& fields) {
  fields.required("only", only,
                  {.meaning = "the layers, counted from 0 as in names of parameters. A layer may be in one list only",
                   .minimum = 0,
                   .maximum = kMostLayers - 1});
  fields.optional("position", position,
                  {.meaning = "replaces all of model.position. It takes the kinds that attention knows, not sinusoidal "
                              "and learned, which all layers share"});
  fields.optional("visibility", visibility, {.meaning = "replaces all of model.visibility"});
  fields.optional("score", score, {.meaning = "replaces all of model.score"});
}

void MemoryConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "what is remembered", .of_others = "; a kind of an extension needs --extension FILE"});
  fields.optional("initial", initial, {.meaning = "memory before the first segment", .role = kUse});
  for (const MemoryRow* row : rows_of_memory_kinds()) row->describe(*this, fields);
}

void GlobalStreamConfig::describe(JsonFields& fields) {
  fields.optional(
      "tokens", tokens,
      {.meaning = "number of learned tokens before each segment, the same for every segment. They see all of its "
                  "tokens and of its memory, and all of its tokens see them, whatever model.visibility says. Memory "
                  "does not keep them. They need the masked objective; 0: none",
       .minimum = 0,
       .maximum = kLongest});
  fields.optional("projections", projections,
                  {.meaning = "the projections that make queries, keys and values of them"});
}

void DepthConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "how many layers a token passes, and whether they share their weights"});
  fields.optional("step_codes", step_codes,
                  {.meaning = "a learned vector for each pass, which is added to what the shared layer reads",
                   .kinds = Kinds(DepthKind::kShared, DepthKind::kHalting)});
  const Kinds halting(DepthKind::kHalting);
  fields.optional("halting_epsilon", halting_epsilon,
                  {.meaning = "a token halts when its passes weigh more than 1 less this",
                   .minimum = 1e-6,
                   .maximum = 0.999,
                   .kinds = halting});
  fields.optional("halting_bias", halting_bias,
                  {.meaning = "what the bias of halting starts from: the larger, the fewer passes at first",
                   .minimum = -1000,
                   .maximum = 1000,
                   .role = kTraining,
                   .kinds = halting});
  fields.optional(
      "ponder_weight", ponder_weight,
      {.meaning = "weight of the ponder cost in the loss: of a token's number of passes and the weight of its "
                  "last, a mean over tokens. Reported losses leave it out",
       .minimum = 0,
       .maximum = 1000,
       .role = kTraining,
       .kinds = halting});
}

void BlockConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "what a layer is"});
  for (const BlockRow* row : rows_of_block_kinds()) row->describe(*this, fields);
  fields.optional("layer_norm_epsilon", layer_norm_epsilon,
                  {.meaning = "added to the variance in layer norms, and in the norms of heads that read a state",
                   .above = 0,
                   .below = 1});
  fields.optional("activation", activation,
                  {.meaning = "activation of the feed-forward network; gelu is the exact form"});
}

void ScoreConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "how a token weighs others"});
  const Kinds states(ScoreKind::kState);
  fields.optional("feature", feature, {.meaning = "feature map of queries and keys", .kinds = states});
  fields.optional(
      "random_features", random_features,
      {.meaning = "number of random directions that performer and random_fourier project on. They are drawn from the "
                  "seed, and again as training.redraw_interval says. random_fourier makes two features of each",
       .minimum = 1,
       .maximum = kMostStateFeatures,
       .kinds = states});
  fields.optional(
      "shifts", shifts,
      {.meaning = "number of neighbours that dpfp multiplies each column with. Each makes 2 d_head features",
       .minimum = 1,
       .maximum = kMostStateFeatures,
       .kinds = states});
  fields.optional("convolution", convolution,
                  {.meaning = "queries, keys and values first pass a convolution over this many tokens, up to their "
                              "own, column by column, and then silu; 0: none (Mamba-2 and Gated DeltaNet have 4)",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kMostTaps,
                   .kinds = states});
  fields.optional(
      "unit_keys", unit_keys,
      {.meaning = "queries and keys of a head are scaled to length 1, so that erasing is stable. This comes after the "
                  "feature map, but before the random projections of performer and random_fourier",
       .kinds = states});
  fields.optional("decay", decay, {.meaning = "share of the state that is kept before each token", .kinds = states});
  fields.optional("erases", erases,
                  {.meaning = "a token first erases what the state holds under its key, as strongly as it writes (the "
                              "delta rule: Schlag et al. 2021; with a decay, Yang et al. 2025)",
                   .kinds = states});
  fields.optional("strength", strength, {.meaning = "how strongly a token writes and erases", .kinds = states});
  fields.optional("output_norm", output_norm, {.meaning = "how to normalise what a head reads", .kinds = states});
  fields.optional(
      "output_gate", output_gate,
      {.meaning = "a gate that the token computes multiplies what a head reads, after its norm", .kinds = states});
}

void HeadConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "how hidden states become a distribution over the vocabulary"});
  fields.optional("tie_weight", tie_weight, {.meaning = "the output layer uses the embedding's table"});
  fields.optional(
      "tie_projs", tie_projs,
      {.meaning = "for each cluster of the vocabulary (softmax: one), whether the output layer uses the embedding's "
                  "projection between the table's width and d_model; an empty list: none does"});
  const Kinds adaptive(HeadKind::kAdaptive);
  fields.optional("cutoffs", cutoffs,
                  {.meaning = "first token of every cluster of the vocabulary except the first, increasing",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLargestVocabulary,
                   .kinds = adaptive});
  fields.optional("div_val", div_val,
                  {.meaning = "every cluster's table is this many times narrower than the one before. Above 1, each "
                              "cluster has a table of its own",
                   .minimum = 1,
                   .maximum = kWidest,
                   .kinds = adaptive});
  fields.optional("proj_same_dim", proj_same_dim,
                  {.meaning = "with div_val above 1, a table as wide as d_model has a projection too, as in the "
                              "PyTorch codes; false: it has none",
                   .kinds = adaptive});
  fields.optional("cluster_order", cluster_order, {.meaning = "order of the output's cluster rows", .kinds = adaptive});
}

void InitConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "distribution of weights and embeddings at the start", .role = kTraining});
  fields.optional("init_std", init_std,
                  {.meaning = "standard deviation of normal weights, and of layer norm gains around 1",
                   .minimum = 0,
                   .role = kTraining});
  fields.optional("init_range", init_range,
                  {.meaning = "uniform weights lie between minus this and this", .minimum = 0, .role = kTraining});
  fields.optional("proj_init_std", proj_init_std,
                  {.meaning = "standard deviation of the projections between d_embed and d_model",
                   .minimum = 0,
                   .role = kTraining});
}

void ModelConfig::describe(JsonFields& fields) {
  fields.optional("n_layer", n_layer, {.meaning = "number of layers", .minimum = 1, .maximum = kMostLayers});
  fields.optional("n_head", n_head, {.meaning = "attention heads per layer", .minimum = 1, .maximum = kMostHeads});
  fields.optional("d_model", d_model, {.meaning = "width of the hidden states", .minimum = 1, .maximum = kWidestModel});
  fields.optional(
      "d_head", d_head,
      {.meaning = "width of a head; n_head * d_head need not be d_model", .minimum = 1, .maximum = kLargestHead});
  fields.optional("d_inner", d_inner,
                  {.meaning = "width inside the feed-forward network", .minimum = 1, .maximum = kWidestInner});
  fields.optional("d_embed", d_embed,
                  {.meaning = "width of the embedding table; 0: d_model", .minimum = 0, .maximum = kWidest});
  fields.optional("mem_len", mem_len,
                  {.meaning = "length of every layer's memory in training; 0: none",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kLongest,
                   .role = kUse});
  fields.optional("dropout", dropout,
                  {.meaning = "probability of dropping an activation", .minimum = 0, .below = 1, .role = kTraining});
  fields.optional(
      "dropatt", dropatt,
      {.meaning = "probability of dropping an attention weight", .minimum = 0, .below = 1, .role = kTraining});
  fields.optional("objective", objective, {.meaning = "axis: what a token is predicted from"});
  fields.optional("position", position, {.meaning = "axis: how the model knows the positions of tokens"});
  fields.optional("visibility", visibility, {.meaning = "axis: which keys a query sees"});
  fields.optional("memory", memory, {.meaning = "axis: what is kept of earlier segments"});
  fields.optional("global_stream", global_stream,
                  {.meaning = "a second stream beside the tokens (Ainslie et al. 2020, ETC)"});
  fields.optional("depth", depth, {.meaning = "axis: how many layers a token passes"});
  fields.optional("block", block, {.meaning = "axis: what a layer is"});
  fields.optional("score", score, {.meaning = "axis: how a token weighs others"});
  fields.optional("head", head, {.meaning = "axis: the output distribution"});
  fields.optional(
      "layers", layers,
      {.meaning = "layers with axis objects of their own. A key that such an object leaves out has its default, not "
                  "the value of the model's object. What an evaluation sets changes only the model's objects"});
  fields.optional("init", init, {.meaning = "weights at the start"});
}

}  // namespace segue
