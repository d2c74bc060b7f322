// The meaning of every `model` key. Upper bounds are far beyond any model; they keep products of sizes inside 64 bits.
#include "core/config/model_config.h"

#include <limits>

#include "base/json_fields.h"
#include "core/config/bounds.h"

namespace segue {
namespace {

constexpr double kMostLayers = 512;
constexpr double kMostHeads = 1024;
constexpr double kLargestHead = 256;  // the limit of the attention kernels
constexpr double kMostDrawnBlocks = 256;
constexpr double kMostTaps = 8;  // the limit of the convolution's kernel
constexpr double kMostCompressed = 1024;
constexpr double kWidest = 1 << 16;
constexpr double kWidestInner = 1 << 20;
// Roles of keys; the others say what the model is, which is not to be changed once it has weights.
constexpr std::string_view kUse = "use";            // see ModelUse
constexpr std::string_view kTraining = "training";  // read by training alone
constexpr double kLargestVocabulary = std::numeric_limits<int32_t>::max();

}  // namespace

void ObjectiveConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "what a token is predicted from"});
  const Kinds masked(ObjectiveKind::kMasked);
  fields.optional("mask_rate", mask_rate,
                  {.meaning = "probability that training predicts a token; it draws them anew in every epoch, and an "
                              "evaluation always asks for the same 15 % of a split",
                   .above = 0,
                   .maximum = 1,
                   .kinds = masked});
  fields.optional(
      "mask_token_share", mask_token_share,
      {.meaning = "share of these that read as the mask token", .minimum = 0, .maximum = 1, .kinds = masked});
  fields.optional("random_token_share", random_token_share,
                  {.meaning = "share that read as any token, drawn; the others read as what they are",
                   .minimum = 0,
                   .maximum = 1,
                   .kinds = masked});
}

void PositionConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "how the model knows where tokens stand"});
  using enum PositionKind;
  fields.optional("clamp_len", clamp_len,
                  {.meaning = "distances beyond this one count as this one; 0 or less: no limit",
                   .unit = "tokens",
                   .minimum = -1,
                   .maximum = kLongest,
                   .role = kUse,
                   .kinds = Kinds(kRelative, kShaw)});
  fields.optional(
      "untie_r", untie_r,
      {.meaning = "every layer has its own biases, u and w of relative, the table of t5 and the curves of kerple, "
                  "instead of one for all",
       .kinds = Kinds(kRelative, kT5, kKerple)});
  fields.optional("max_positions", max_positions,
                  {.meaning = "learned: rows of the table, one per position in a segment; shaw: rows of every layer's "
                              "table, one per distance; 0: as many as training needs, training.tgt_len of learned and "
                              "training.tgt_len + model.mem_len, or model.position.clamp_len + 1, of shaw",
                   .minimum = 0,
                   .maximum = 2 * kLongest,
                   .kinds = Kinds(kLearned, kShaw)});
  fields.optional("rotary_base", rotary_base,
                  {.meaning = "pair j of w turned columns turns by rotary_base^(-2j / w) radians a token; "
                              "a larger one in an evaluation stretches slow turns more than fast ones, for contexts "
                              "longer than in training",
                   .minimum = 1,
                   .role = kUse,
                   .kinds = Kinds(kRope)});
  fields.optional("rotary_scaling", rotary_scaling,
                  {.meaning = "positions are divided by it, so that a context so many times longer than in training "
                              "has no angles that training had not",
                   .minimum = 1,
                   .role = kUse,
                   .kinds = Kinds(kRope)});
  fields.optional("rotary_share", rotary_share,
                  {.meaning = "share of a head's columns that are turned, the first ones; an even number of columns",
                   .above = 0,
                   .maximum = 1,
                   .kinds = Kinds(kRope)});
  fields.optional("t5_buckets", t5_buckets,
                  {.meaning = "rows of the table of biases: the first half stands for one distance each, from 0 on, "
                              "the others for ranges that grow geometrically",
                   .minimum = 2,
                   .maximum = 2 * kLongest,
                   .kinds = Kinds(kT5)});
  fields.optional("t5_max_distance", t5_max_distance,
                  {.meaning = "distances from this one on fall into the last bucket; above half of t5_buckets",
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
  fields.kind(kind, {.meaning = "which keys"});
  using enum PatternKind;
  fields.optional(
      "heads", heads,
      {.meaning = "heads that see them, counted from 0; an empty list: all", .minimum = 0, .maximum = kMostHeads - 1});
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
  fields.optional("block", block,
                  {.meaning = "tokens of a block; blocks are counted from a stream's first token, and segments have "
                              "whole ones",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kBlocks, kBlockwise, kRandom)});
  fields.optional(
      "before", before,
      {.meaning = "keys before the query's block that all of its queries see; where they look ahead, as many "
                  "after it, too",
       .unit = "tokens",
       .minimum = 0,
       .maximum = kLongest,
       .kinds = Kinds(kBlocks)});
  fields.optional("shift", shift,
                  {.meaning = "blocks from the query's back to the one that it sees; 0: its own",
                   .unit = "blocks",
                   .minimum = 0,
                   .maximum = kLongest,
                   .kinds = Kinds(kBlockwise)});
  fields.optional("period", period,
                  {.meaning = "tokens after which positions, or draws of blocks, are the same again, counted from a "
                              "stream's first token; segments have whole periods",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kFixed, kGlobal, kRandom)});
  fields.optional("from", from,
                  {.meaning = "first position of a period that is seen, counted from 0; -1: so that the last ones are",
                   .unit = "tokens",
                   .minimum = -1,
                   .maximum = kLongest,
                   .kinds = Kinds(kFixed)});
  fields.optional("columns", columns,
                  {.meaning = "positions of each period that are seen",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kFixed, kGlobal)});
  fields.optional("count", count,
                  {.meaning = "blocks drawn for each block of queries, all different",
                   .unit = "blocks",
                   .minimum = 1,
                   .maximum = kMostDrawnBlocks,
                   .kinds = Kinds(kRandom)});
  fields.optional("nearest", nearest,
                  {.meaning = "blocks from the query's back to the nearest that may be drawn",
                   .unit = "blocks",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kRandom)});
  fields.optional("farthest", farthest,
                  {.meaning = "and to the farthest, which training takes a model.mem_len for",
                   .unit = "blocks",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kRandom)});
  fields.optional("seed", seed,
                  {.meaning = "of the draws, which are the same in every run and use of the model",
                   .minimum = 0,
                   .maximum = kLargestSeed,
                   .kinds = Kinds(kRandom)});
}

void VisibilityConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "which keys a query sees"});
  using enum VisibilityKind;
  fields.optional("same_length", same_length,
                  {.meaning = "every query sees the same number of keys, model.mem_len of them, its own included",
                   .role = kUse,
                   .kinds = Kinds(kCausal)});
  fields.optional(
      "same_length_extra_key", same_length_extra_key,
      {.meaning =
           "with same_length, one key more: model.mem_len + 1, as in the TensorFlow and NVIDIA codes; also where only "
           "an evaluation asks for same_length",
       .role = kUse,
       .kinds = Kinds(kCausal)});
  fields.optional("window", window,
                  {.meaning = "keys that a query sees, its own included; training takes a model.mem_len of at least "
                              "one less",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .role = kUse,
                   .kinds = Kinds(kWindow)});
  fields.optional("patterns", patterns,
                  {.meaning = "a head sees the keys that any of its patterns names, and always the query's own; "
                              "every head is in one at least; training takes a model.mem_len that reaches as far back "
                              "as they do, if they end anywhere, and segments of whole blocks and periods",
                   .kinds = Kinds(kSparse)});
  fields.optional("span", span,
                  {.meaning = "tokens before its own that a query sees whole at most, by heads with the longest span; "
                              "training takes a model.mem_len of at least span + ramp - 1",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(kAdaptive)});
  fields.optional(
      "ramp", ramp,
      {.meaning = "behind its span a head's weights fall to nothing over so many tokens, from which alone it "
                  "learns how long its span should be",
       .unit = "tokens",
       .minimum = 1,
       .maximum = kLongest,
       .kinds = Kinds(kAdaptive)});
  fields.optional("initial", initial,
                  {.meaning = "every head's span at the start, as a share of the longest",
                   .minimum = 0,
                   .maximum = 1,
                   .role = kTraining,
                   .kinds = Kinds(kAdaptive)});
  fields.optional("penalty", penalty,
                  {.meaning = "added to the loss that training lowers, for each layer and each token of the mean of "
                              "its heads' spans; in no loss that is told",
                   .unit = "nats",
                   .minimum = 0,
                   .role = kTraining,
                   .kinds = Kinds(kAdaptive)});
}

void LayerOverride::describe(JsonFields& fields) {
  fields.required("only", only,
                  {.meaning = "the layers, counted from 0 as in names of parameters; each in one list at most",
                   .minimum = 0,
                   .maximum = kMostLayers - 1});
  fields.optional("position", position,
                  {.meaning = "in place of all that model.position says, of the kinds that "
                              "attention knows: not sinusoidal and learned, which all layers share"});
  fields.optional("visibility", visibility, {.meaning = "in place of all that model.visibility says"});
  fields.optional("score", score, {.meaning = "in place of all that model.score says"});
}

void MemoryConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "what is remembered"});
  fields.optional("initial", initial, {.meaning = "memory before the first segment", .role = kUse});
  fields.optional("tokens", tokens,
                  {.meaning = "memory tokens of a stream, or of associative of a segment, each a vector of "
                              "model.d_model",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = Kinds(MemoryKind::kTokens, MemoryKind::kAssociative)});
  fields.optional("written", written,
                  {.meaning = "what stands where a segment writes its memory", .kinds = Kinds(MemoryKind::kTokens)});
  fields.optional("shifts", shifts,
                  {.meaning = "with how many neighbours each column of queries and keys is multiplied (DPFP); each "
                              "makes 2 d_head features, for each of which a head's matrix has a row of d_head values",
                   .minimum = 1,
                   .maximum = kMostStateFeatures,
                   .kinds = Kinds(MemoryKind::kAssociative)});
  const Kinds compressed(MemoryKind::kCompressed);
  fields.optional("compressed_len", compressed_len,
                  {.meaning = "compressed rows of every layer's memory, beside model.mem_len others",
                   .unit = "rows",
                   .minimum = 1,
                   .maximum = kLongest,
                   .role = kUse,
                   .kinds = compressed});
  fields.optional("compression_rate", compression_rate,
                  {.meaning = "rows that are compressed into one; training.tgt_len need not be a multiple of it",
                   .unit = "rows",
                   .minimum = 1,
                   .maximum = kMostCompressed,
                   .kinds = compressed});
  fields.optional("compression", compression, {.meaning = "what becomes of so many rows", .kinds = compressed});
  fields.optional("reconstruction", reconstruction,
                  {.meaning = "the loss that a compression learns from, and nothing else does", .kinds = compressed});
  fields.optional("reconstruction_weight", reconstruction_weight,
                  {.meaning = "of that loss beside the model's; in no loss of predictions that is told",
                   .minimum = 0,
                   .role = kTraining,
                   .kinds = compressed});
  fields.optional("encoder_layers", encoder_layers,
                  {.meaning = "layers of the encoder, as wide as the model's",
                   .minimum = 1,
                   .maximum = kMostLayers,
                   .kinds = Kinds(MemoryKind::kEncoder)});
}

void GlobalStreamConfig::describe(JsonFields& fields) {
  fields.optional("tokens", tokens,
                  {.meaning = "learned tokens before each segment, the same of every one: they see all of its tokens "
                              "and of its memory, and all of its tokens see them, whatever model.visibility says; "
                              "no memory remembers them. With the masked objective alone; 0: none",
                   .minimum = 0,
                   .maximum = kLongest});
  fields.optional("projections", projections, {.meaning = "what makes queries, keys and values of them"});
}

void DepthConfig::describe(JsonFields& fields) { fields.kind(kind, {.meaning = "how many layers a token passes"}); }

void BlockConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "what a layer is"});
  fields.optional("pre_lnorm", pre_lnorm, {.meaning = "layer norm before attention and feed-forward instead of after"});
  fields.optional("final_norm", final_norm,
                  {.meaning = "with pre_lnorm, a layer norm after the last layer, whose sums nothing else would bound; "
                              "the authors' codes have none"});
  fields.optional("layer_norm_epsilon", layer_norm_epsilon,
                  {.meaning = "added to the variance in layer norms, and in the norms of heads that read a state",
                   .above = 0,
                   .below = 1});
  fields.optional("activation", activation, {.meaning = "of the feed-forward network; gelu is the exact form"});
}

void ScoreConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "how a token weighs others"});
  const Kinds states(ScoreKind::kState);
  fields.optional("feature", feature, {.meaning = "what queries and keys become before they meet", .kinds = states});
  fields.optional("random_features", random_features,
                  {.meaning = "how many directions performer and random_fourier project on, drawn from the seed and "
                              "anew as training.redraw_interval says; random_fourier makes two features of each",
                   .minimum = 1,
                   .maximum = kMostStateFeatures,
                   .kinds = states});
  fields.optional("shifts", shifts,
                  {.meaning = "how many neighbours dpfp multiplies each column with; each makes 2 d_head features",
                   .minimum = 1,
                   .maximum = kMostStateFeatures,
                   .kinds = states});
  fields.optional("convolution", convolution,
                  {.meaning = "queries, keys and values first pass a convolution over so many tokens, up to their own, "
                              "column by column, and silu; 0: none (as in Mamba-2 and Gated DeltaNet, with 4)",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kMostTaps,
                   .kinds = states});
  fields.optional("unit_keys", unit_keys,
                  {.meaning = "queries and keys of a head are then scaled to length 1, so that erasing is stable",
                   .kinds = states});
  fields.optional("decay", decay, {.meaning = "what share of a state is kept before each token", .kinds = states});
  fields.optional("erases", erases,
                  {.meaning = "a token first takes away what the state holds under its key, as far as it writes (the "
                              "delta rule: Schlag et al. 2021; with a decay, Yang et al. 2025)",
                   .kinds = states});
  fields.optional("strength", strength, {.meaning = "how strongly a token writes, and erases", .kinds = states});
  fields.optional("output_norm", output_norm, {.meaning = "what a head reads is", .kinds = states});
  fields.optional(
      "output_gate", output_gate,
      {.meaning = "what a head reads is multiplied by a gate that the token says, behind its norm", .kinds = states});
}

void HeadConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "how hidden states become a distribution over the vocabulary"});
  fields.optional("tie_weight", tie_weight, {.meaning = "the output layer uses the embedding's table"});
  fields.optional("tie_projs", tie_projs,
                  {.meaning = "per cluster of the vocabulary (softmax: one): the output layer uses the embedding's "
                              "projection between the table's width and d_model; an empty list: none does"});
  const Kinds adaptive(HeadKind::kAdaptive);
  fields.optional("cutoffs", cutoffs,
                  {.meaning = "first token of every cluster of the vocabulary but the first, increasing",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLargestVocabulary,
                   .kinds = adaptive});
  fields.optional("div_val", div_val,
                  {.meaning = "every cluster's table is this many times narrower than the one before; above 1 each "
                              "cluster has a table of its own",
                   .minimum = 1,
                   .maximum = kWidest,
                   .kinds = adaptive});
  fields.optional("proj_same_dim", proj_same_dim,
                  {.meaning = "with div_val above 1: a table as wide as d_model has a projection too, as in the "
                              "PyTorch codes; false: it has none",
                   .kinds = adaptive});
  fields.optional("cluster_order", cluster_order,
                  {.meaning = "which of the output's cluster rows stands for which cluster", .kinds = adaptive});
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
  fields.optional("d_model", d_model, {.meaning = "width of the hidden states", .minimum = 1, .maximum = kWidest});
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
  fields.optional("position", position, {.meaning = "axis: positions"});
  fields.optional("visibility", visibility, {.meaning = "axis: which keys a query sees"});
  fields.optional("memory", memory, {.meaning = "axis: what is kept of earlier segments"});
  fields.optional("global_stream", global_stream,
                  {.meaning = "a second stream beside the tokens (Ainslie et al. 2020, ETC)"});
  fields.optional("depth", depth, {.meaning = "axis: how many layers a token passes"});
  fields.optional("block", block, {.meaning = "axis: what a layer is"});
  fields.optional("score", score, {.meaning = "axis: how a token weighs others"});
  fields.optional("head", head, {.meaning = "axis: the output distribution"});
  fields.optional("layers", layers,
                  {.meaning = "layers with axis objects of their own; a key that one of these does not name is as in a "
                              "config without it, not as in the model's object, and what an evaluation sets is the "
                              "model's alone"});
  fields.optional("init", init, {.meaning = "weights at the start"});
}

}  // namespace segue
