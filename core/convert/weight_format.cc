// The table of differences; each is read from the program itself.
#include "core/convert/weight_format.h"

#include <array>

namespace segue {

namespace {

constexpr std::array<std::string_view, 4> kNames{"transformer-xl", "transformer-xl-tf", "nvidia", "huggingface"};

constexpr std::array kTraits{
    FormatTraits{.program = "the authors' PyTorch code",
                 .cluster_order = ClusterOrder::kReversed,
                 .initial_memory = InitialMemory::kEmpty,
                 .same_length_extra_key = false,
                 .layer_norm_epsilon = 1e-5,
                 .biases_per_layer = false},
    FormatTraits{.program = "the authors' TensorFlow code",
                 .cluster_order = ClusterOrder::kAscending,
                 .initial_memory = InitialMemory::kZeros,
                 .same_length_extra_key = true,
                 .layer_norm_epsilon = 1e-12,
                 .biases_per_layer = true},
    FormatTraits{.program = "NVIDIA's code",
                 .cluster_order = ClusterOrder::kReversed,
                 .initial_memory = InitialMemory::kEmpty,
                 .same_length_extra_key = true,
                 .layer_norm_epsilon = 1e-5,
                 .biases_per_layer = false},
    FormatTraits{.program = "Hugging Face's transformers",
                 .cluster_order = ClusterOrder::kAscending,
                 .initial_memory = InitialMemory::kZeros,
                 .same_length_extra_key = false,
                 .layer_norm_epsilon = 1e-5,
                 .biases_per_layer = true},
};

}  // namespace

std::span<const std::string_view> choices_of(WeightFormat) { return kNames; }

const FormatTraits& traits_of(WeightFormat format) { return kTraits.at(static_cast<size_t>(format)); }

}  // namespace segue
