// The choices a config offers: each is an enum, and a table of the words that stand for it in JSON with their meanings.
// The key that holds them says what all words of an axis are about, and explains words that need one sentence together.
#pragma once

#include <segue/options.h>

#include <cstdint>
#include <string_view>

#include "base/choices.h"
#include "distributed/collectives_choice.h"

namespace segue {

// The axes of a model, whose kinds become more. What names one includes its header; the first is what is meant by
// default.
enum class PositionKind : uint8_t;    // core/config/position_kind.h
enum class ObjectiveKind : uint8_t;   // core/config/objective_kind.h
enum class VisibilityKind : uint8_t;  // core/config/visibility_kind.h
enum class PatternKind : uint8_t;     // core/config/visibility_kind.h
enum class MemoryKind : uint8_t;      // core/config/memory_kind.h
enum class BlockKind : uint8_t;       // core/config/block_kind.h
enum class ScoreKind : uint8_t;       // core/config/score_kind.h
enum class HeadKind : uint8_t;        // core/config/head_kind.h
enum class DepthKind : uint8_t;       // core/config/depth_kind.h

enum class CompressionKind : uint8_t { kMean, kMax, kConvolution, kDilatedConvolution, kMostUsed };
inline const auto& table_of(CompressionKind) {
  using enum CompressionKind;
  static constexpr ChoiceTable<CompressionKind, 5> kTable(
      {{kMean, "mean", "their mean"},
       {kMax, "max", "their largest value, column by column"},
       {kConvolution, "convolution", "a learned linear map of all of them, and a bias, in every layer"},
       {kDilatedConvolution, "dilated_convolution",
        "learned linear maps of two rows into one with biases, repeated until one is left, with rectifiers between. "
        "compression_rate must be a power of two"},
       {kMostUsed, "most_used",
        "the rows that received most attention from the segment that pushes them out, one in compression_rate of all "
        "that it pushes out, unchanged and in order"}});
  return kTable;
}

enum class ReconstructionKind : uint8_t { kAuto, kAttention, kAutoEncoding, kNone };
inline const auto& table_of(ReconstructionKind) {
  using enum ReconstructionKind;
  static constexpr ChoiceTable<ReconstructionKind, 4> kTable(
      {{kAuto, "auto", "attention if the compression is learned, otherwise none"},
       {kAttention, "attention",
        "mean squared difference between what a layer's attention gets from the rows and from their compression, by "
        "content alone and with its weights held fixed"},
       {kAutoEncoding, "auto_encoding",
        "mean squared difference between the rows and what a learned linear map reconstructs from their compression"},
       {kNone, "none", "no loss, as for mean, max and most_used, which learn nothing"}});
  return kTable;
}

enum class WrittenTokens : uint8_t { kRead, kOwn };
inline const auto& table_of(WrittenTokens) {
  using enum WrittenTokens;
  static constexpr ChoiceTable<WrittenTokens, 2> kTable(
      {{kRead, "read", "the memory tokens that the segment reads, again"},
       {kOwn, "own", "learned tokens of their own, the same in every segment"}});
  return kTable;
}

enum class StreamProjections : uint8_t { kShared, kOwn };
inline const auto& table_of(StreamProjections) {
  using enum StreamProjections;
  static constexpr ChoiceTable<StreamProjections, 2> kTable(
      {{kShared, "shared", "those of the segment's tokens"}, {kOwn, "own", "projections of their own in every layer"}});
  return kTable;
}

enum class InitialMemory : uint8_t { kEmpty, kZeros };
inline const auto& table_of(InitialMemory) {
  using enum InitialMemory;
  static constexpr ChoiceTable<InitialMemory, 2> kTable(
      {{kEmpty, "empty", "none, and it grows"}, {kZeros, "zeros", "zeros of full length, which are attended to"}});
  return kTable;
}

enum class ActivationKind : uint8_t { kRelu, kGelu };
inline const auto& table_of(ActivationKind) {
  using enum ActivationKind;
  static constexpr ChoiceTable<ActivationKind, 2> kTable({{kRelu, "relu"}, {kGelu, "gelu"}});
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
        "sines and cosines of random projections, which estimate a Gaussian of the distance between query and key "
        "(Peng et al. 2021, RFA)"}});
  return kTable;
}

inline bool is_random(StateFeature feature) {
  return feature == StateFeature::kPerformer || feature == StateFeature::kRandomFourier;
}

enum class StateStrength : uint8_t { kShare, kStep, kRest, kFull };
inline const auto& table_of(StateStrength) {
  using enum StateStrength;
  static constexpr ChoiceTable<StateStrength, 4> kTable(
      {{kShare, "share", "a number between 0 and 1 that the token computes for each head"},
       {kStep, "step", "the step size that also sets the decay before the token (Dao and Gu 2024, Mamba-2)"},
       {kRest, "rest",
        "the share that the decay takes away, so that the state stays an average (Peng et al. 2021, gated RFA)"},
       {kFull, "full", "1"}});
  return kTable;
}

enum class StateDecay : uint8_t { kNone, kFixed, kToken, kChannel };
inline const auto& table_of(StateDecay) {
  using enum StateDecay;
  static constexpr ChoiceTable<StateDecay, 4> kTable(
      {{kNone, "none", "all of it"},
       {kFixed, "fixed", "the same share at every token, 1 - 2^(-5 - head) (Sun et al. 2023, RetNet)"},
       {kToken, "token", "a share that each token computes for each head (Dao and Gu 2024, Mamba-2)"},
       {kChannel, "channel",
        "a share that each token computes for each channel of keys (Yang et al. 2024, gated linear attention; Kimi "
        "Team 2025)"}});
  return kTable;
}

enum class StateNorm : uint8_t { kHead, kWeights };
inline const auto& table_of(StateNorm) {
  using enum StateNorm;
  static constexpr ChoiceTable<StateNorm, 2> kTable(
      {{kHead, "head", "scale it to a mean square of 1, times a learned gain (Yang et al. 2024)"},
       {kWeights, "weights",
        "divide it by the sum of the weights that tokens have for the query, which makes it an average of their values "
        "as in softmax attention (Katharopoulos et al. 2020)"}});
  return kTable;
}

enum class ClusterOrder : uint8_t { kReversed, kAscending };
inline const auto& table_of(ClusterOrder) {
  using enum ClusterOrder;
  static constexpr ChoiceTable<ClusterOrder, 2> kTable(
      {{kReversed, "reversed",
        "the last row stands for the first cluster after the frequent words, as in the PyTorch codes of the authors "
        "and of NVIDIA"},
       {kAscending, "ascending", "the first row does, as in the TensorFlow code and Hugging Face's"}});
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
       {kPlateau, "plateau", "when evaluations no longer lower the loss"}});
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
      {{kFull, "full", "all tokens"},
       {kHalf, "half",
        "the newest half, rounded up, so that each token has many earlier ones to attend to even without memory. The "
        "others are only read, in all epochs"}});
  return kTable;
}

enum class Recompute : uint8_t { kNone, kAttention, kBlock };
inline const auto& table_of(Recompute) {
  using enum Recompute;
  static constexpr ChoiceTable<Recompute, 3> kTable(
      {{kNone, "none", "all that backward needs is kept"},
       {kAttention, "attention", "those of attention or of a state"},
       {kBlock, "block", "those of a whole layer, but for what its memory adds"}});
  return kTable;
}

enum class ScheduleRule : uint8_t { kPytorch, kNvidia, kTensorflow };
inline const auto& table_of(ScheduleRule) {
  using enum ScheduleRule;
  static constexpr ChoiceTable<ScheduleRule, 3> kTable(
      {{kPytorch, "pytorch",
        "the first update has the full learning rate, and decay lasts max_step whatever the warm-up"},
       {kNvidia, "nvidia", "the first update has the full learning rate, and decay begins at the end of the warm-up"},
       {kTensorflow, "tensorflow",
        "with a warm-up, the first update has a learning rate of 0, and decay begins at the end of the warm-up"}});
  return kTable;
}

inline const auto& table_of(CollectivesKind) {
  using enum CollectivesKind;
  static constexpr ChoiceTable<CollectivesKind, 3> kTable({{kAuto, "auto"}, {kNccl, "nccl"}, {kMpi, "mpi"}});
  return kTable;
}

}  // namespace segue
