// Models of every kind of layer, and of layers that share their weights.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/block_kind.h"
#include "core/config/depth_kind.h"
#include "core/config/head_kind.h"
#include "core/config/memory_kind.h"
#include "core/config/position_kind.h"
#include "core/config/score_kind.h"
#include "core/kinds/block/gated/options.h"
#include "tests/core/model/kind_variants.h"
#include "tests/core/model/small_model.h"

namespace segue {

// Every gate; and gates between what else a layer may be of.
inline std::vector<ModelVariant> block_variants() {
  std::vector<ModelVariant> variants;
  const auto add = [&variants](std::string name, ResidualGate gate, std::function<void(ModelConfig&)> change) {
    variants.push_back({std::move(name), [gate, change = std::move(change)](ModelConfig& m) {
                          m.block = {.kind = BlockKind::kGated, .gate = gate};
                          m.head.tie_weight = false;  // without a norm behind the last gate
                          change(m);
                        }});
  };
  for (size_t i = 0; i < choices_of(ResidualGate{}).size(); ++i) {
    const auto gate = static_cast<ResidualGate>(i);
    add(fmt::format("block_gated_{}", name_of_choice(gate)), gate, [](ModelConfig&) {});
  }
  add("block_gated_gelu_final_norm_rope_zeros", ResidualGate::kGru, [](ModelConfig& m) {
    m.block.final_norm = true;
    m.block.activation = ActivationKind::kGelu;
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
    m.memory.initial = InitialMemory::kZeros;
  });
  add("block_gated_keys_values_alibi", ResidualGate::kSigmoidTanh, [](ModelConfig& m) {
    m.memory.kind = MemoryKind::kKeysValues;
    m.position.kind = PositionKind::kAlibi;
  });
  add("block_gated_compressed", ResidualGate::kGru, [](ModelConfig& m) {
    m.memory = {.kind = MemoryKind::kCompressed, .compressed_len = 4, .compression_rate = 3};
    m.mem_len = kLongestSegment;
  });
  add("block_gated_associative", ResidualGate::kGru, [](ModelConfig& m) {
    m.memory = {.kind = MemoryKind::kAssociative, .tokens = 2, .shifts = 2};
    m.d_head = kAssociatedHead;
  });
  add("block_gated_state_below_attention", ResidualGate::kHighway, [](ModelConfig& m) {
    m.layers = {{.only = {0},
                 .position = PositionConfig{.kind = PositionKind::kNone},
                 .score = ScoreConfig{.kind = ScoreKind::kState}}};
    m.block.layer_norm_epsilon = 1e-2;
  });
  return variants;
}

// Reversible layers between what else a layer may be of.
inline std::vector<ModelVariant> reversible_variants() {
  std::vector<ModelVariant> variants;
  const auto add = [&variants](std::string name, std::function<void(ModelConfig&)> change) {
    variants.push_back({"block_" + std::move(name), [change = std::move(change)](ModelConfig& m) {
                          m.block = {.kind = BlockKind::kReversible, .final_norm = true};
                          change(m);
                        }});
  };
  add("reversible", [](ModelConfig& m) {
    m.block.final_norm = false;
    m.head.tie_weight = false;  // without a norm behind the last layer
  });
  add("reversible_gelu_rope_zeros", [](ModelConfig& m) {
    m.block.activation = ActivationKind::kGelu;
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
    m.memory.initial = InitialMemory::kZeros;
  });
  add("reversible_keys_values_rope", [](ModelConfig& m) {
    m.memory.kind = MemoryKind::kKeysValues;
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
  });
  add("reversible_compressed_learned", [](ModelConfig& m) {
    m.memory = {.kind = MemoryKind::kCompressed,
                .compressed_len = 4,
                .compression_rate = 3,
                .compression = CompressionKind::kConvolution};
    m.mem_len = kLongestSegment;
  });
  add("reversible_tokens", [](ModelConfig& m) { m.memory = {.kind = MemoryKind::kTokens, .tokens = 2}; });
  add("reversible_encoder_rope", [](ModelConfig& m) {
    m.memory = {.kind = MemoryKind::kEncoder, .encoder_layers = 2};
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
  });
  add("reversible_infini_rope", [](ModelConfig& m) {
    m.memory.kind = MemoryKind::kInfini;
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
  });
  add("reversible_block_recurrent", [](ModelConfig& m) {
    m.memory.kind = MemoryKind::kBlockRecurrent;
    m.memory.states = 3;
  });
  add("reversible_state_below_attention", [](ModelConfig& m) {
    m.layers = {{.only = {0},
                 .position = PositionConfig{.kind = PositionKind::kNone},
                 .score = ScoreConfig{.kind = ScoreKind::kState}}};
  });
  add("reversible_global_stream_masked", [](ModelConfig& m) {
    mask(m);
    m.global_stream.tokens = 2;
  });
  return variants;
}

// One layer passed several times, beside what else a layer may be of.
inline std::vector<ModelVariant> shared_layer_variants() {
  std::vector<ModelVariant> variants;
  const auto add = [&variants](std::string name, std::function<void(ModelConfig&)> change) {
    variants.push_back({"depth_shared_" + std::move(name), [change = std::move(change)](ModelConfig& m) {
                          m.depth.kind = DepthKind::kShared;
                          m.n_layer = 3;
                          change(m);
                        }});
  };
  add("without_codes", [](ModelConfig& m) { m.depth.step_codes = false; });
  add("pre_norm_adaptive_kerple", [](ModelConfig& m) {
    m.block.pre_lnorm = true;
    m.position.kind = PositionKind::kKerple;
    m.head = {.kind = HeadKind::kAdaptive, .cutoffs = {5, 11}};
  });
  add("final_norm_associative", [](ModelConfig& m) {
    m.block = {.pre_lnorm = true, .final_norm = true};
    m.memory = {.kind = MemoryKind::kAssociative, .tokens = 2, .shifts = 2};
    m.d_head = kAssociatedHead;
  });
  add("block_recurrent_gated", [](ModelConfig& m) {
    m.block = {.kind = BlockKind::kGated};
    m.head.tie_weight = false;
    m.memory.kind = MemoryKind::kBlockRecurrent;
    m.memory.states = 3;
    m.memory.recurrent_layer = 1;
  });
  add("compressed_convolution", [](ModelConfig& m) {
    m.memory = {.kind = MemoryKind::kCompressed,
                .compressed_len = 4,
                .compression_rate = 3,
                .compression = CompressionKind::kConvolution};
    m.mem_len = kLongestSegment;
  });
  add("shaw_keys_values", [](ModelConfig& m) {
    m.position.kind = PositionKind::kShaw;
    m.memory.kind = MemoryKind::kKeysValues;
  });
  return variants;
}

// The same layer passed until tokens halt, beside what else a layer may be of. Some halt in each pass.
inline std::vector<ModelVariant> halting_variants() {
  std::vector<ModelVariant> variants;
  const auto add = [&variants](std::string name, std::function<void(ModelConfig&)> change) {
    variants.push_back({"depth_halting_" + std::move(name), [change = std::move(change)](ModelConfig& m) {
                          m.depth = {.kind = DepthKind::kHalting, .halting_epsilon = 0.3, .ponder_weight = 0.5};
                          m.n_layer = 4;
                          m.block.final_norm = m.block.pre_lnorm = true;
                          change(m);
                        }});
  };
  add("post_norm", [](ModelConfig& m) { m.block = {}; });
  add("without_codes_rope_zeros", [](ModelConfig& m) {
    m.depth.step_codes = false;
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
    m.memory.initial = InitialMemory::kZeros;
  });
  add("gated_keys_values", [](ModelConfig& m) {
    m.block = {.kind = BlockKind::kGated, .final_norm = true};
    m.memory.kind = MemoryKind::kKeysValues;
  });
  add("compressed_alibi", [](ModelConfig& m) {
    m.memory = {.kind = MemoryKind::kCompressed, .compressed_len = 4, .compression_rate = 3};
    m.mem_len = kLongestSegment;
    m.position.kind = PositionKind::kAlibi;
  });
  add("infini", [](ModelConfig& m) {
    m.memory.kind = MemoryKind::kInfini;
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
  });
  add("block_recurrent", [](ModelConfig& m) {
    m.memory.kind = MemoryKind::kBlockRecurrent;
    m.memory.states = 3;
  });
  add("encoder_rope", [](ModelConfig& m) {
    m.memory = {.kind = MemoryKind::kEncoder, .encoder_layers = 2};
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
  });
  add("masked", [](ModelConfig& m) { mask(m); });
  return variants;
}

}  // namespace segue
