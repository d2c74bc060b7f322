// The choices a config offers: each is an enum, and a table of the words that stand for it in JSON with their meanings.
// The key that holds them says what all words of an axis are about, and explains words that need one sentence together.
#pragma once

#include <segue/options.h>

#include <cstdint>
#include <string_view>

#include "base/choices.h"
#include "distributed/collectives_choice.h"

namespace segue {

enum class PositionKind : uint8_t {
  kRelative,
  kSinusoidal,
  kLearned,
  kShaw,
  kRope,
  kAlibi,
  kT5,
  kKerple,
  kDistanceAware,
  kNone
};
inline const auto& table_of(PositionKind) {
  using enum PositionKind;
  static constexpr std::string_view kAbsolute =
      "something for a token's position in its segment is added to its embedding, and what is in memory keeps the "
      "position "
      "that it had";
  static constexpr ChoiceTable<PositionKind, 10> kTable(
      {{kRelative, "relative", "sinusoids of the distance between query and key, with the biases u and w"},
       {kShaw, "shaw", "a learned row for every distance, in every layer"},
       {kRope, "rope",
        "queries and keys turned by angles that grow with their position, so that scores know distances"},
       {kAlibi, "alibi", "every head takes a slope of its own, fixed, times the distance from each score"},
       {kT5, "t5", "every head adds a learned bias to each score, by the bucket that the distance falls into"},
       {kKerple, "kerple", "every head takes a learned multiple of a logarithm of the distance from each score"},
       {kDistanceAware, "distance_aware",
        "every head of every layer clips scores below zero and multiplies them by a learned curve of the distance"},
       {kSinusoidal, "sinusoidal", kAbsolute},
       {kLearned, "learned", kAbsolute},
       {kNone, "none", "attention knows keys by their content alone"}});
  return kTable;
}

enum class ObjectiveKind : uint8_t { kNextToken, kMasked };
inline const auto& table_of(ObjectiveKind) {
  using enum ObjectiveKind;
  static constexpr ChoiceTable<ObjectiveKind, 2> kTable(
      {{kNextToken, "next_token", "the tokens before it"},
       {kMasked, "masked",
        "its whole segment, some tokens of which, it among them, read as a mask token; and what is remembered of "
        "earlier segments, likewise masked (Devlin et al. 2019)"}});
  return kTable;
}

enum class VisibilityKind : uint8_t { kCausal, kFull, kWindow, kSparse, kAdaptive };
inline const auto& table_of(VisibilityKind) {
  using enum VisibilityKind;
  static constexpr ChoiceTable<VisibilityKind, 5> kTable(
      {{kCausal, "causal", "memory and segment up to itself"},
       {kFull, "full", "memory and the whole segment, with the masked objective alone"},
       {kWindow, "window",
        "the newest of them, as many for every query, so that losses do not depend on where segments begin"},
       {kSparse, "sparse",
        "those of them that patterns name, for each head, with the masked objective also after itself; time goes to "
        "tiles of 64 queries and 64 keys with some"},
       {kAdaptive, "adaptive",
        "the newest of them, as far back as every head of every layer learns to look; time goes to what is seen, in "
        "tiles of 64"}});
  return kTable;
}

enum class PatternKind : uint8_t { kWindow, kDilated, kStrided, kBlocks, kBlockwise, kFixed, kGlobal, kRandom };
inline const auto& table_of(PatternKind) {
  using enum PatternKind;
  static constexpr ChoiceTable<PatternKind, 8> kTable(
      {{kWindow, "window", "the newest, as many for every query; where it looks ahead, as many after it"},
       {kDilated, "dilated", "as many, but every stride-th of them, from the query's own"},
       {kStrided, "strided", "every stride-th, from the query's own as far as memory reaches"},
       {kBlocks, "blocks", "those of the query's block, and some before the block; where it looks ahead, after it"},
       {kBlockwise, "blockwise", "those of one block, the query's own or so many before it"},
       {kFixed, "fixed", "those at fixed positions of every period, as far back as memory reaches"},
       {kGlobal, "global",
        "those at the first positions of every period, which themselves see all, as far back as memory reaches"},
       {kRandom, "random", "those of blocks drawn for the query's block, head by head and layer by layer"}});
  return kTable;
}

enum class MemoryKind : uint8_t { kHiddenStates, kKeysValues, kTokens, kAssociative, kInfini, kCompressed, kEncoder };
inline const auto& table_of(MemoryKind) {
  using enum MemoryKind;
  static constexpr ChoiceTable<MemoryKind, 7> kTable(
      {{kHiddenStates, "hidden_states", "the newest inputs of every layer"},
       {kKeysValues, "keys_values",
        "the keys and values that every layer made of them, with the weights of that time: no segment makes them "
        "anew"},
       {kTokens, "tokens",
        "memory tokens, which every segment reads before its own tokens and writes after them for the next; and the "
        "newest inputs of every layer, where model.mem_len is above 0"},
       {kAssociative, "associative",
        "in every layer a matrix of fixed size for each head, read by all tokens of later segments before the layer; "
        "every segment ends in learned memory tokens, and what the layer makes of these is written into it by the "
        "delta rule (Rodkin et al. 2024, ARMT); and the newest inputs of every layer, where model.mem_len is above 0"},
       {kInfini, "infini",
        "in every layer a matrix of fixed size for each head, into which the keys and values of all tokens go when "
        "their segment ends; later segments read it by their queries, and a learned gate of each head mixes that with "
        "what attention gets (Munkhdalai et al. 2024, Infini-attention); and the newest inputs of every layer, where "
        "model.mem_len is above 0"},
       {kCompressed, "compressed",
        "the newest inputs of every layer, and of older ones what is left of them once every few have been compressed "
        "into one, each a key as the others are (Rae et al. 2019)"},
       {kEncoder, "encoder",
        "the newest tokens: before every segment an encoder reads them anew, in both directions, and what it makes of "
        "them are keys of every layer, through which it learns (Vaswani et al. 2017, as one attention over both)"}});
  return kTable;
}

enum class CompressionKind : uint8_t { kMean, kMax, kConvolution, kDilatedConvolution, kMostUsed };
inline const auto& table_of(CompressionKind) {
  using enum CompressionKind;
  static constexpr ChoiceTable<CompressionKind, 5> kTable(
      {{kMean, "mean", "their mean"},
       {kMax, "max", "the largest of them, column by column"},
       {kConvolution, "convolution", "a learned linear map of all of them, and a bias, in every layer"},
       {kDilatedConvolution, "dilated_convolution",
        "learned linear maps of two into one with biases, again and again until one is left, with rectifiers between; "
        "their number is a power of two"},
       {kMostUsed, "most_used",
        "those that received most attention from the segment that pushes them out, one of so many of all that it does, "
        "as they are and in their order"}});
  return kTable;
}

enum class ReconstructionKind : uint8_t { kAuto, kAttention, kAutoEncoding, kNone };
inline const auto& table_of(ReconstructionKind) {
  using enum ReconstructionKind;
  static constexpr ChoiceTable<ReconstructionKind, 4> kTable(
      {{kAuto, "auto", "attention where a compression is learned, otherwise none"},
       {kAttention, "attention",
        "how far what a layer's attention gets of the rows, by content alone and with its weights as they are, is from "
        "what it gets of what they became, in mean squares"},
       {kAutoEncoding, "auto_encoding",
        "how far the rows are from those that a learned linear map finds again, likewise"},
       {kNone, "none", "nothing, as with mean, max and most_used, which learn nothing"}});
  return kTable;
}

enum class WrittenTokens : uint8_t { kRead, kOwn };
inline const auto& table_of(WrittenTokens) {
  using enum WrittenTokens;
  static constexpr ChoiceTable<WrittenTokens, 2> kTable(
      {{kRead, "read", "the memory tokens that the segment reads, once more"},
       {kOwn, "own", "learned tokens of their own, the same in every segment"}});
  return kTable;
}

enum class StreamProjections : uint8_t { kShared, kOwn };
inline const auto& table_of(StreamProjections) {
  using enum StreamProjections;
  static constexpr ChoiceTable<StreamProjections, 2> kTable(
      {{kShared, "shared", "those of the segment's tokens"}, {kOwn, "own", "others, of every layer"}});
  return kTable;
}

enum class InitialMemory : uint8_t { kEmpty, kZeros };
inline const auto& table_of(InitialMemory) {
  using enum InitialMemory;
  static constexpr ChoiceTable<InitialMemory, 2> kTable(
      {{kEmpty, "empty", "it grows"}, {kZeros, "zeros", "full length, and attended to"}});
  return kTable;
}

enum class DepthKind : uint8_t { kFixed };
inline const auto& table_of(DepthKind) {
  using enum DepthKind;
  static constexpr ChoiceTable<DepthKind, 1> kTable({{kFixed, "fixed", "model.n_layer, each with its weights"}});
  return kTable;
}

enum class BlockKind : uint8_t { kTransformer };
inline const auto& table_of(BlockKind) {
  using enum BlockKind;
  static constexpr ChoiceTable<BlockKind, 1> kTable(
      {{kTransformer, "transformer", "attention, then feed-forward, both residual"}});
  return kTable;
}

enum class ActivationKind : uint8_t { kRelu, kGelu };
inline const auto& table_of(ActivationKind) {
  using enum ActivationKind;
  static constexpr ChoiceTable<ActivationKind, 2> kTable({{kRelu, "relu"}, {kGelu, "gelu"}});
  return kTable;
}

enum class ScoreKind : uint8_t { kSoftmax, kState };
inline const auto& table_of(ScoreKind) {
  using enum ScoreKind;
  static constexpr ChoiceTable<ScoreKind, 2> kTable(
      {{kSoftmax, "softmax", "each key by its exponential, as a share of all that a query sees"},
       {kState, "state",
        "none: every token adds its value to a matrix, under its key, and reads from that matrix by its query, so that "
        "time and memory do not grow with the text; segments pass it on, and it is all that they remember in such a "
        "layer (Katharopoulos et al. 2020)"}});
  return kTable;
}

enum class StateFeature : uint8_t { kSilu, kIdentity, kRelu, kEluPlusOne, kDpfp, kPerformer, kRandomFourier };
inline const auto& table_of(StateFeature) {
  using enum StateFeature;
  static constexpr ChoiceTable<StateFeature, 7> kTable(
      {{kSilu, "silu", "x / (1 + e^-x)"},
       {kIdentity, "identity", "x"},
       {kRelu, "relu", "x where it is above zero, otherwise zero"},
       {kEluPlusOne, "elu_plus_one", "x + 1 where x is above zero, otherwise e^x"},
       {kDpfp, "dpfp", "products of the rectified columns of x and -x with their neighbours (Schlag et al. 2021)"},
       {kPerformer, "performer",
        "exponentials of random projections, whose products estimate the weights of softmax attention (Choromanski et "
        "al. 2021)"},
       {kRandomFourier, "random_fourier",
        "sines and cosines of random projections, which estimate a Gaussian of how far a query is from a key (Peng et "
        "al. 2021, RFA)"}});
  return kTable;
}

inline bool is_random(StateFeature feature) {
  return feature == StateFeature::kPerformer || feature == StateFeature::kRandomFourier;
}

enum class StateStrength : uint8_t { kShare, kStep, kRest, kFull };
inline const auto& table_of(StateStrength) {
  using enum StateStrength;
  static constexpr ChoiceTable<StateStrength, 4> kTable(
      {{kShare, "share", "a number between 0 and 1 that it says for each head"},
       {kStep, "step", "the step by which the state fades before it (Dao and Gu 2024, Mamba-2)"},
       {kRest, "rest", "the share by which it fades, so that the state stays an average (Peng et al. 2021, gated RFA)"},
       {kFull, "full", "1"}});
  return kTable;
}

enum class StateDecay : uint8_t { kNone, kFixed, kToken, kChannel };
inline const auto& table_of(StateDecay) {
  using enum StateDecay;
  static constexpr ChoiceTable<StateDecay, 4> kTable(
      {{kNone, "none", "all of it"},
       {kFixed, "fixed", "the same share in every token, 1 - 2^(-5 - head) (Sun et al. 2023, RetNet)"},
       {kToken, "token", "a share that each token says for each head (Dao and Gu 2024, Mamba-2)"},
       {kChannel, "channel",
        "one that it says for each channel of keys (Yang et al. 2024, gated linear attention; Kimi Team 2025)"}});
  return kTable;
}

enum class StateNorm : uint8_t { kHead, kWeights };
inline const auto& table_of(StateNorm) {
  using enum StateNorm;
  static constexpr ChoiceTable<StateNorm, 2> kTable(
      {{kHead, "head", "scaled to a mean square of 1, times a learned gain (Yang et al. 2024)"},
       {kWeights, "weights",
        "divided by the sum of the weights that tokens have for the query, so that it is an average of their values as "
        "in softmax attention (Katharopoulos et al. 2020)"}});
  return kTable;
}

enum class HeadKind : uint8_t { kSoftmax, kAdaptive };
inline const auto& table_of(HeadKind) {
  using enum HeadKind;
  static constexpr ChoiceTable<HeadKind, 2> kTable(
      {{kSoftmax, "softmax"},
       {kAdaptive, "adaptive", "frequent words first, the others in clusters that are only looked into when chosen"}});
  return kTable;
}

enum class ClusterOrder : uint8_t { kReversed, kAscending };
inline const auto& table_of(ClusterOrder) {
  using enum ClusterOrder;
  static constexpr ChoiceTable<ClusterOrder, 2> kTable(
      {{kReversed, "reversed",
        "the last for the first after the frequent words, as in the PyTorch codes of the authors and of NVIDIA"},
       {kAscending, "ascending", "the first, as in the TensorFlow code and Hugging Face's"}});
  return kTable;
}

enum class InitKind : uint8_t { kNormal, kUniform };
inline const auto& table_of(InitKind) {
  using enum InitKind;
  static constexpr ChoiceTable<InitKind, 2> kTable({{kNormal, "normal"}, {kUniform, "uniform"}});
  return kTable;
}

enum class OptimizerKind : uint8_t { kAdagrad, kAdam, kAdamw, kLamb, kSgd };
inline const auto& table_of(OptimizerKind) {
  using enum OptimizerKind;
  static constexpr ChoiceTable<OptimizerKind, 5> kTable(
      {{kAdagrad, "adagrad"}, {kAdam, "adam"}, {kAdamw, "adamw"}, {kLamb, "lamb"}, {kSgd, "sgd"}});
  return kTable;
}

enum class ScheduleKind : uint8_t { kConstant, kCosine, kInvSqrt, kLinear, kPlateau };
inline const auto& table_of(ScheduleKind) {
  using enum ScheduleKind;
  static constexpr ChoiceTable<ScheduleKind, 5> kTable(
      {{kConstant, "constant"},
       {kCosine, "cosine"},
       {kInvSqrt, "inv_sqrt"},
       {kLinear, "linear"},
       {kPlateau, "plateau", "after evaluations whose loss is not the lowest so far"}});
  return kTable;
}

inline const auto& table_of(PrecisionKind) {
  using enum PrecisionKind;
  static constexpr ChoiceTable<PrecisionKind, 2> kTable({{kFp32, "fp32"}, {kBf16, "bf16"}});
  return kTable;
}

enum class LossPart : uint8_t { kFull, kHalf };
inline const auto& table_of(LossPart) {
  using enum LossPart;
  static constexpr ChoiceTable<LossPart, 2> kTable(
      {{kFull, "full", "all"},
       {kHalf, "half",
        "the newest half, rounded up, so that each has many earlier ones to attend to even without a memory; the "
        "others are only read, here and in every epoch"}});
  return kTable;
}

enum class ScheduleRule : uint8_t { kPytorch, kNvidia, kTensorflow };
inline const auto& table_of(ScheduleRule) {
  using enum ScheduleRule;
  static constexpr ChoiceTable<ScheduleRule, 3> kTable(
      {{kPytorch, "pytorch", "the first update at the full rate, decay over max_step whatever the warm-up"},
       {kNvidia, "nvidia", "the first update at the full rate, decay from the end of the warm-up"},
       {kTensorflow, "tensorflow", "the first update at 0 when there is a warm-up, decay from its end"}});
  return kTable;
}

inline const auto& table_of(CollectivesKind) {
  using enum CollectivesKind;
  static constexpr ChoiceTable<CollectivesKind, 3> kTable({{kAuto, "auto"}, {kNccl, "nccl"}, {kMpi, "mpi"}});
  return kTable;
}

}  // namespace segue
