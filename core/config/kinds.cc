// The words of every choice, in the order of its enumerators.
#include "core/config/kinds.h"

#include <array>

namespace segue {
namespace {

constexpr std::array<std::string_view, 4> kPositions{"relative", "sinusoidal", "learned", "shaw"};
constexpr std::array<std::string_view, 1> kVisibilities{"causal"};
constexpr std::array<std::string_view, 1> kMemories{"hidden_states"};
constexpr std::array<std::string_view, 2> kInitialMemories{"empty", "zeros"};
constexpr std::array<std::string_view, 1> kDepths{"fixed"};
constexpr std::array<std::string_view, 1> kBlocks{"transformer"};
constexpr std::array<std::string_view, 2> kActivations{"relu", "gelu"};
constexpr std::array<std::string_view, 1> kScores{"softmax"};
constexpr std::array<std::string_view, 2> kHeads{"softmax", "adaptive"};
constexpr std::array<std::string_view, 2> kClusterOrders{"reversed", "ascending"};
constexpr std::array<std::string_view, 2> kInits{"normal", "uniform"};
constexpr std::array<std::string_view, 5> kOptimizers{"adagrad", "adam", "adamw", "lamb", "sgd"};
constexpr std::array<std::string_view, 2> kPrecisions{"fp32", "bf16"};
constexpr std::array<std::string_view, 3> kCollectives{"auto", "nccl", "mpi"};
constexpr std::array<std::string_view, 5> kSchedules{"constant", "cosine", "inv_sqrt", "linear", "plateau"};
constexpr std::array<std::string_view, 2> kLossParts{"full", "half"};
constexpr std::array<std::string_view, 3> kScheduleRules{"pytorch", "nvidia", "tensorflow"};

}  // namespace

std::span<const std::string_view> choices_of(PositionKind) { return kPositions; }
std::span<const std::string_view> choices_of(VisibilityKind) { return kVisibilities; }
std::span<const std::string_view> choices_of(MemoryKind) { return kMemories; }
std::span<const std::string_view> choices_of(InitialMemory) { return kInitialMemories; }
std::span<const std::string_view> choices_of(DepthKind) { return kDepths; }
std::span<const std::string_view> choices_of(BlockKind) { return kBlocks; }
std::span<const std::string_view> choices_of(ActivationKind) { return kActivations; }
std::span<const std::string_view> choices_of(ScoreKind) { return kScores; }
std::span<const std::string_view> choices_of(HeadKind) { return kHeads; }
std::span<const std::string_view> choices_of(ClusterOrder) { return kClusterOrders; }
std::span<const std::string_view> choices_of(InitKind) { return kInits; }
std::span<const std::string_view> choices_of(OptimizerKind) { return kOptimizers; }
std::span<const std::string_view> choices_of(PrecisionKind) { return kPrecisions; }
std::span<const std::string_view> choices_of(CollectivesKind) { return kCollectives; }
std::span<const std::string_view> choices_of(ScheduleKind) { return kSchedules; }
std::span<const std::string_view> choices_of(LossPart) { return kLossParts; }
std::span<const std::string_view> choices_of(ScheduleRule) { return kScheduleRules; }

}  // namespace segue
