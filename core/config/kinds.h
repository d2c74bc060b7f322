// The choices a config offers: each is an enum, written in JSON as the word that choices_of gives it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "distributed/collectives_choice.h"

namespace segue {

enum class PositionKind : uint8_t { kRelative, kSinusoidal, kLearned, kShaw };
enum class VisibilityKind : uint8_t { kCausal };
enum class MemoryKind : uint8_t { kHiddenStates };
enum class InitialMemory : uint8_t { kEmpty, kZeros };
enum class DepthKind : uint8_t { kFixed };
enum class BlockKind : uint8_t { kTransformer };
enum class ActivationKind : uint8_t { kRelu, kGelu };
enum class ScoreKind : uint8_t { kSoftmax };
enum class HeadKind : uint8_t { kSoftmax, kAdaptive };
enum class ClusterOrder : uint8_t { kReversed, kAscending };
enum class InitKind : uint8_t { kNormal, kUniform };
enum class OptimizerKind : uint8_t { kAdagrad, kAdam, kAdamw, kLamb, kSgd };
enum class ScheduleKind : uint8_t { kConstant, kCosine, kInvSqrt, kLinear, kPlateau };
enum class PrecisionKind : uint8_t { kFp32, kBf16 };
enum class LossPart : uint8_t { kFull, kHalf };
enum class ScheduleRule : uint8_t { kPytorch, kNvidia, kTensorflow };

std::span<const std::string_view> choices_of(PositionKind);
std::span<const std::string_view> choices_of(VisibilityKind);
std::span<const std::string_view> choices_of(MemoryKind);
std::span<const std::string_view> choices_of(InitialMemory);
std::span<const std::string_view> choices_of(DepthKind);
std::span<const std::string_view> choices_of(BlockKind);
std::span<const std::string_view> choices_of(ActivationKind);
std::span<const std::string_view> choices_of(ScoreKind);
std::span<const std::string_view> choices_of(HeadKind);
std::span<const std::string_view> choices_of(ClusterOrder);
std::span<const std::string_view> choices_of(InitKind);
std::span<const std::string_view> choices_of(OptimizerKind);
std::span<const std::string_view> choices_of(PrecisionKind);
std::span<const std::string_view> choices_of(CollectivesKind);
std::span<const std::string_view> choices_of(ScheduleKind);
std::span<const std::string_view> choices_of(LossPart);
std::span<const std::string_view> choices_of(ScheduleRule);

}  // namespace segue
