// The choices a config offers: each is an enum, written in JSON as the word that choices_of gives it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "distributed/collectives_choice.h"

namespace segue {

// The words of a choice, in the order of its enumerators.
using Words = std::span<const std::string_view>;

enum class PositionKind : uint8_t { kRelative, kSinusoidal, kLearned, kShaw };
inline Words choices_of(PositionKind) {
  static constexpr std::array<std::string_view, 4> kWords{"relative", "sinusoidal", "learned", "shaw"};
  return kWords;
}

enum class VisibilityKind : uint8_t { kCausal };
inline Words choices_of(VisibilityKind) {
  static constexpr std::array<std::string_view, 1> kWords{"causal"};
  return kWords;
}

enum class MemoryKind : uint8_t { kHiddenStates };
inline Words choices_of(MemoryKind) {
  static constexpr std::array<std::string_view, 1> kWords{"hidden_states"};
  return kWords;
}

enum class InitialMemory : uint8_t { kEmpty, kZeros };
inline Words choices_of(InitialMemory) {
  static constexpr std::array<std::string_view, 2> kWords{"empty", "zeros"};
  return kWords;
}

enum class DepthKind : uint8_t { kFixed };
inline Words choices_of(DepthKind) {
  static constexpr std::array<std::string_view, 1> kWords{"fixed"};
  return kWords;
}

enum class BlockKind : uint8_t { kTransformer };
inline Words choices_of(BlockKind) {
  static constexpr std::array<std::string_view, 1> kWords{"transformer"};
  return kWords;
}

enum class ActivationKind : uint8_t { kRelu, kGelu };
inline Words choices_of(ActivationKind) {
  static constexpr std::array<std::string_view, 2> kWords{"relu", "gelu"};
  return kWords;
}

enum class ScoreKind : uint8_t { kSoftmax };
inline Words choices_of(ScoreKind) {
  static constexpr std::array<std::string_view, 1> kWords{"softmax"};
  return kWords;
}

enum class HeadKind : uint8_t { kSoftmax, kAdaptive };
inline Words choices_of(HeadKind) {
  static constexpr std::array<std::string_view, 2> kWords{"softmax", "adaptive"};
  return kWords;
}

enum class ClusterOrder : uint8_t { kReversed, kAscending };
inline Words choices_of(ClusterOrder) {
  static constexpr std::array<std::string_view, 2> kWords{"reversed", "ascending"};
  return kWords;
}

enum class InitKind : uint8_t { kNormal, kUniform };
inline Words choices_of(InitKind) {
  static constexpr std::array<std::string_view, 2> kWords{"normal", "uniform"};
  return kWords;
}

enum class OptimizerKind : uint8_t { kAdagrad, kAdam, kAdamw, kLamb, kSgd };
inline Words choices_of(OptimizerKind) {
  static constexpr std::array<std::string_view, 5> kWords{"adagrad", "adam", "adamw", "lamb", "sgd"};
  return kWords;
}

enum class ScheduleKind : uint8_t { kConstant, kCosine, kInvSqrt, kLinear, kPlateau };
inline Words choices_of(ScheduleKind) {
  static constexpr std::array<std::string_view, 5> kWords{"constant", "cosine", "inv_sqrt", "linear", "plateau"};
  return kWords;
}

enum class PrecisionKind : uint8_t { kFp32, kBf16 };
inline Words choices_of(PrecisionKind) {
  static constexpr std::array<std::string_view, 2> kWords{"fp32", "bf16"};
  return kWords;
}

enum class LossPart : uint8_t { kFull, kHalf };
inline Words choices_of(LossPart) {
  static constexpr std::array<std::string_view, 2> kWords{"full", "half"};
  return kWords;
}

enum class ScheduleRule : uint8_t { kPytorch, kNvidia, kTensorflow };
inline Words choices_of(ScheduleRule) {
  static constexpr std::array<std::string_view, 3> kWords{"pytorch", "nvidia", "tensorflow"};
  return kWords;
}

inline Words choices_of(CollectivesKind) {
  static constexpr std::array<std::string_view, 3> kWords{"auto", "nccl", "mpi"};
  return kWords;
}

}  // namespace segue
