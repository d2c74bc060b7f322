// Models of every kind of an axis.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/block_kind.h"
#include "core/config/depth_kind.h"
#include "core/config/head_kind.h"
#include "core/config/memory_kind.h"
#include "core/config/objective_kind.h"
#include "core/config/position_kind.h"
#include "core/config/score_kind.h"
#include "core/config/visibility_kind.h"
#include "core/kinds/memory/block_recurrent/options.h"
#include "tests/core/model/small_model.h"
#include "tests/oracle/kinds_of_memory.h"

namespace segue {

// Every kind of an axis but the default, with its other keys as they are by default:
// "position_sinusoidal" and the like.
template <typename Axis>
std::vector<ModelVariant> kind_variants(std::string_view axis, Axis ModelConfig::*member) {
  using Kind = decltype(Axis::kind);
  std::vector<ModelVariant> variants;
  for (size_t i = 0; i < choices_of(Kind{}).size(); ++i) {
    const auto kind = static_cast<Kind>(i);
    if (kind == Axis{}.kind) continue;
    variants.push_back({fmt::format("{}_{}", axis, name_of_choice(kind)),
                        [member, kind](ModelConfig& model) { (model.*member).kind = kind; }});
  }
  return variants;
}

// Of a head of odd width, rope turns all columns but the last.
inline std::vector<ModelVariant> position_variants() {
  std::vector<ModelVariant> variants = kind_variants("position", &ModelConfig::position);
  for (ModelVariant& variant : variants) {
    variant.change = [kind = variant.change](ModelConfig& m) {
      kind(m);
      if (m.position.kind == PositionKind::kRope) m.position.rotary_share = 0.8;
    };
  }
  return variants;
}
// A masked model that sees everything, or what `visibility` says.
inline void mask(ModelConfig& m, VisibilityConfig visibility = {.kind = VisibilityKind::kFull}) {
  m.objective.kind = ObjectiveKind::kMasked;
  m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
  m.visibility = std::move(visibility);
}

// The sparse kind once for each kind of pattern; the full and the adaptive one with what they go with.
inline std::vector<ModelVariant> visibility_variants() {
  std::vector<ModelVariant> variants;
  for (const ModelVariant& variant : kind_variants("visibility", &ModelConfig::visibility)) {
    ModelConfig model = small_model();
    variant.change(model);
    if (model.visibility.kind == VisibilityKind::kFull) {
      variants.push_back({variant.name, [](ModelConfig& m) { mask(m); }});
      continue;
    }
    if (model.visibility.kind == VisibilityKind::kAdaptive) {
      variants.push_back({variant.name, [kind = variant.change](ModelConfig& m) {
                            kind(m);
                            m.visibility.span = 6;
                            m.visibility.ramp = 4;
                            m.position.kind = PositionKind::kNone;
                          }});
      continue;
    }
    if (model.visibility.kind != VisibilityKind::kSparse) {
      variants.push_back(variant);
      continue;
    }
    for (size_t i = 0; i < choices_of(PatternKind{}).size(); ++i) {
      const auto kind = static_cast<PatternKind>(i);
      variants.push_back({fmt::format("{}_{}", variant.name, name_of_choice(kind)), [kind](ModelConfig& m) {
                            m.visibility = {.kind = VisibilityKind::kSparse,
                                            .patterns = {{.kind = kind,
                                                          .window = 3,
                                                          .stride = 3,
                                                          .block = 2,
                                                          .before = 3,
                                                          .shift = 1,
                                                          .period = 6,
                                                          .from = 4,
                                                          .columns = 2,
                                                          .count = 2,
                                                          .nearest = 1,
                                                          .farthest = 3}}};
                          }});
    }
  }
  return variants;
}
// Every compression, with rates that divide segments and such as do not, and all that places rows.
inline std::vector<ModelVariant> compressed_variants() {
  using enum CompressionKind;
  std::vector<ModelVariant> variants;
  const auto add = [&variants](std::string_view name, CompressionKind kind, int64_t rate,
                               std::function<void(ModelConfig&)> change) {
    variants.push_back(
        {fmt::format("memory_compressed_{}", name), [=](ModelConfig& m) {
           m.memory = {
               .kind = MemoryKind::kCompressed, .compressed_len = 3, .compression_rate = rate, .compression = kind};
           m.mem_len = kLongestSegment;
           change(m);
         }});
  };
  add("mean_rope_zeros", kMean, 4, [](ModelConfig& m) {
    m.memory.initial = InitialMemory::kZeros;
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
  });
  add("max_learned", kMax, 2, [](ModelConfig& m) { m.position.kind = PositionKind::kLearned; });
  add("convolution_pre_norm_rope", kConvolution, 3, [](ModelConfig& m) {
    m.block = {.pre_lnorm = true, .final_norm = true};
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
    m.memory.reconstruction_weight = 0.5;
  });
  add("convolution_auto_encoding_alibi", kConvolution, 2, [](ModelConfig& m) {
    m.memory.reconstruction = ReconstructionKind::kAutoEncoding;
    m.position.kind = PositionKind::kAlibi;
  });
  add("dilated_shaw", kDilatedConvolution, 4, [](ModelConfig& m) { m.position.kind = PositionKind::kShaw; });
  add("most_used", kMostUsed, 3, [](ModelConfig&) {});
  add("most_used_pre_norm_rope_zeros", kMostUsed, 2, [](ModelConfig& m) {
    m.block = {.pre_lnorm = true, .final_norm = true};
    m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
    m.memory.initial = InitialMemory::kZeros;
  });
  add("most_used_distance_aware", kMostUsed, 4, [](ModelConfig& m) { m.position.kind = PositionKind::kDistanceAware; });
  add("most_used_t5", kMostUsed, 3, [](ModelConfig& m) { m.position.kind = PositionKind::kT5; });
  add("most_used_masked", kMostUsed, 3, [](ModelConfig& m) { mask(m); });
  add("convolution_unlearned_masked", kConvolution, 3, [](ModelConfig& m) {
    mask(m);
    m.memory.reconstruction = ReconstructionKind::kNone;
  });
  return variants;
}

// Every decay with erasing and without, every feature; alone and above or below layers that attend.
inline std::vector<ModelVariant> state_variants() {
  using enum StateDecay;
  const auto alone = [](ScoreConfig score) {
    return [score](ModelConfig& m) {
      m.score = score;
      m.score.kind = ScoreKind::kState;
      m.position.kind = PositionKind::kNone;
      m.mem_len = 0;
    };
  };
  const auto in_layer = [](int64_t layer, ScoreConfig score) {
    score.kind = ScoreKind::kState;
    return LayerOverride{.only = {layer}, .position = PositionConfig{.kind = PositionKind::kNone}, .score = score};
  };
  std::vector<ModelVariant> variants = {
      {"state", alone({})},
      {"state_linear", alone({.feature = StateFeature::kEluPlusOne,
                              .unit_keys = false,
                              .decay = kNone,
                              .erases = false,
                              .strength = StateStrength::kFull,
                              .output_gate = false})},
      {"state_fixed_identity", alone({.feature = StateFeature::kIdentity,
                                      .unit_keys = false,
                                      .decay = kFixed,
                                      .erases = false,
                                      .strength = StateStrength::kFull})},
      {"state_step", alone({.unit_keys = false, .erases = false, .strength = StateStrength::kStep})},
      {"state_channel_erases_relu", alone({.feature = StateFeature::kRelu, .decay = kChannel})},
      {"state_channel_pre_norm",
       [change = alone({.feature = StateFeature::kIdentity,
                        .decay = kChannel,
                        .erases = false,
                        .strength = StateStrength::kFull})](ModelConfig& m) {
         change(m);
         m.block = {.pre_lnorm = true, .final_norm = true};
       }},
      {"state_convolution", alone({.feature = StateFeature::kIdentity, .convolution = 4})},
      {"state_averages", alone({.feature = StateFeature::kEluPlusOne,
                                .unit_keys = false,
                                .decay = kNone,
                                .erases = false,
                                .strength = StateStrength::kFull,
                                .output_norm = StateNorm::kWeights,
                                .output_gate = false})},
      {"state_dpfp_erases", alone({.feature = StateFeature::kDpfp, .shifts = 2, .decay = kNone})},
      {"state_performer", alone({.feature = StateFeature::kPerformer,
                                 .random_features = 7,
                                 .unit_keys = false,
                                 .decay = kNone,
                                 .erases = false,
                                 .strength = StateStrength::kFull,
                                 .output_norm = StateNorm::kWeights,
                                 .output_gate = false})},
      {"state_random_fourier", alone({.feature = StateFeature::kRandomFourier,
                                      .random_features = 6,
                                      .erases = false,
                                      .strength = StateStrength::kRest,
                                      .output_norm = StateNorm::kWeights})},
      {"state_random_fourier_channel_convolution",
       alone({.feature = StateFeature::kRandomFourier, .random_features = 6, .convolution = 2, .decay = kChannel})},
      {"state_fixed_rope",
       [alone](ModelConfig& m) {
         alone({.feature = StateFeature::kIdentity,
                .unit_keys = false,
                .decay = kFixed,
                .erases = false,
                .strength = StateStrength::kFull})(m);
         m.position = {.kind = PositionKind::kRope, .rotary_base = 30.0, .rotary_share = 0.8};
       }},
      {"state_erasing_rope_convolution_below_attention",
       [](ModelConfig& m) {
         ScoreConfig score{.kind = ScoreKind::kState, .convolution = 2};
         const PositionConfig turns{.kind = PositionKind::kRope, .rotary_scaling = 2.5, .rotary_share = 0.4};
         m.layers = {{.only = {0}, .position = turns, .score = score}};
       }},
      {"state_below_attention", [layers = in_layer(0, {.decay = kNone})](ModelConfig& m) { m.layers = {layers}; }},
      {"state_above_keys_values_pre_norm",
       [layers = in_layer(1, {.decay = kFixed, .strength = StateStrength::kFull})](ModelConfig& m) {
         m.layers = {layers};
         m.memory.kind = MemoryKind::kKeysValues;
         m.block.pre_lnorm = true;
       }},
      {"state_above_rope_zeros",
       [layers = in_layer(1, {.erases = false})](ModelConfig& m) {
         m.layers = {layers};
         m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"state_below_window",
       [layers = in_layer(0, {})](ModelConfig& m) {
         m.layers = {layers};
         m.visibility = {.kind = VisibilityKind::kWindow, .window = 4};
       }},
      {"state_above_spans",
       [layers = in_layer(1, {})](ModelConfig& m) {
         m.layers = {layers};
         m.position.kind = PositionKind::kAlibi;
         m.visibility = {.kind = VisibilityKind::kAdaptive, .span = 4, .ramp = 3, .initial = 0.4};
       }},
      {"state_below_blocks",
       [layers = in_layer(0, {.decay = kNone, .erases = false})](ModelConfig& m) {
         m.layers = {layers};
         m.visibility = {.kind = VisibilityKind::kSparse,
                         .patterns = {{.kind = PatternKind::kBlocks, .block = 3, .before = 3}}};
       }},
  };
  // A head that reads next to nothing is divided by next to nothing, which makes much of rounding.
  for (ModelVariant& variant : variants) {
    variant.change = [kind = variant.change](ModelConfig& m) {
      kind(m);
      m.block.layer_norm_epsilon = 1e-2;
    };
  }
  return variants;
}

// Of few columns the products of neighbours may all be next to 0, which scaled to length 1 make much of rounding.
constexpr int64_t kAssociatedHead = 8;

// What remembers keys and values goes through all that places keys, or chooses among them; few memory tokens, of both
// forms, with and without rows beside them; few compressed rows, and a memory that segments fit in.
inline std::vector<ModelVariant> memory_variants() {
  using enum PositionKind;
  std::vector<ModelVariant> variants = kind_variants("memory", &ModelConfig::memory);
  for (ModelVariant& variant : variants) {
    variant.change = [kind = variant.change](ModelConfig& m) {
      kind(m);
      if (memory_tokens(m) > 0) m.memory.tokens = 3;
      if (associates(m)) m.d_head = kAssociatedHead, m.memory.shifts = 3;
      if (is_recurrent(m)) m.memory.states = 3;
      if (m.memory.kind == MemoryKind::kEncoder) m.position = {.kind = kRope, .rotary_share = 0.8};
      if (m.memory.kind != MemoryKind::kCompressed) return;
      m.memory.compressed_len = 4;
      m.memory.compression_rate = 3;
      m.mem_len = kLongestSegment;
    };
  }
  for (ModelVariant& variant : compressed_variants()) variants.push_back(std::move(variant));
  variants.push_back({"memory_encoder_pre_norm_none_adaptive", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kEncoder, .encoder_layers = 1};
                        m.block = {.pre_lnorm = true, .final_norm = true};
                        m.position.kind = PositionKind::kNone;
                        m.head = {.kind = HeadKind::kAdaptive, .cutoffs = {5, 11}};
                      }});
  variants.push_back({"memory_encoder_longer_than_segment_relative_layer", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kEncoder, .encoder_layers = 1};
                        m.position = {.kind = kRope, .rotary_scaling = 2.5, .rotary_share = 0.4};
                        m.layers = {{.only = {1}, .position = PositionConfig{.kind = kRelative}}};
                        m.mem_len = 17;
                      }});
  variants.push_back({"memory_tokens_of_their_own_alone", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kTokens, .tokens = 2, .written = WrittenTokens::kOwn};
                        m.mem_len = 0;
                      }});
  variants.push_back({"memory_tokens_pre_norm_rope_zeros", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kTokens, .initial = InitialMemory::kZeros, .tokens = 1};
                        m.block = {.pre_lnorm = true, .final_norm = true};
                        m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
                      }});
  variants.push_back({"memory_associative_alone_pre_norm", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kAssociative, .tokens = 2, .shifts = 2};
                        m.d_head = kAssociatedHead;
                        m.block = {.pre_lnorm = true, .final_norm = true};
                        m.mem_len = 0;
                      }});
  variants.push_back({"memory_associative_rope_zeros", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kAssociative, .initial = InitialMemory::kZeros, .tokens = 1};
                        m.position = {.kind = PositionKind::kRope, .rotary_share = 0.5};
                        m.d_head = kAssociatedHead;
                      }});
  variants.push_back({"memory_infini_alone_pre_norm_rope", [](ModelConfig& m) {
                        m.memory.kind = MemoryKind::kInfini;
                        m.block = {.pre_lnorm = true, .final_norm = true};
                        m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
                        m.mem_len = 0;
                      }});
  variants.push_back({"memory_infini_window_shaw_zeros", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kInfini, .initial = InitialMemory::kZeros};
                        m.position.kind = PositionKind::kShaw;
                        m.visibility = {.kind = VisibilityKind::kWindow, .window = 4};
                      }});
  variants.push_back({"memory_block_recurrent_lstm_alone_pre_norm_rope", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kBlockRecurrent, .states = 5, .gate = RecurrentGate::kLstm};
                        m.block = {.pre_lnorm = true, .final_norm = true};
                        m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
                        m.mem_len = 0;
                      }});
  variants.push_back({"memory_block_recurrent_top_window_shaw_zeros", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kBlockRecurrent, .initial = InitialMemory::kZeros};
                        m.memory.states = 1;
                        m.memory.recurrent_layer = 1;
                        m.position.kind = PositionKind::kShaw;
                        m.visibility = {.kind = VisibilityKind::kWindow, .window = 4};
                      }});
  variants.push_back({"memory_block_recurrent_adaptive_spans_alibi", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kBlockRecurrent, .states = 9};
                        m.visibility = {.kind = VisibilityKind::kAdaptive, .span = 6, .ramp = 5};
                        m.position.kind = PositionKind::kAlibi;
                      }});
  variants.push_back({"memory_tokens_sinusoidal_adaptive", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kTokens, .tokens = 2};
                        m.position.kind = PositionKind::kSinusoidal;
                        m.head = {.kind = HeadKind::kAdaptive, .cutoffs = {5, 11}};
                        m.mem_len = 0;
                      }});
  const auto add = [&variants](std::string_view name, std::function<void(ModelConfig&)> change) {
    variants.push_back({fmt::format("keys_values_{}", name), [change = std::move(change)](ModelConfig& m) {
                          m.memory.kind = MemoryKind::kKeysValues;
                          change(m);
                        }});
  };
  for (const PositionKind kind : {kSinusoidal, kLearned, kShaw, kAlibi, kT5, kKerple, kDistanceAware, kNone})
    add(name_of_choice(kind), [kind](ModelConfig& m) { m.position.kind = kind; });
  add("rope", [](ModelConfig& m) { m.position = {.kind = kRope, .rotary_share = 0.8}; });
  add("pre_norm_same_length", [](ModelConfig& m) {
    m.block.pre_lnorm = true;
    m.visibility.same_length = true;
  });
  add("zeros", [](ModelConfig& m) { m.memory.initial = InitialMemory::kZeros; });
  add("rope_scaled_pre_norm_zeros", [](ModelConfig& m) {
    m.position = {.kind = kRope, .rotary_scaling = 2.5, .rotary_share = 0.4};
    m.block.pre_lnorm = true;
    m.memory.initial = InitialMemory::kZeros;
  });
  add("rope_longer_than_segment_window", [](ModelConfig& m) {
    m.position = {.kind = kRope, .rotary_share = 0.8};
    m.mem_len = 17;
    m.visibility = {.kind = VisibilityKind::kWindow, .window = 16};
  });
  add("clamp_len_of_one_row", [](ModelConfig& m) {
    m.position.clamp_len = 3;
    m.mem_len = 1;
  });
  add("no_memory_rope", [](ModelConfig& m) {
    m.position = {.kind = kRope, .rotary_share = 0.8};
    m.mem_len = 0;
  });
  add("sparse_strided_by_head_rope", [](ModelConfig& m) {
    m.position = {.kind = kRope, .rotary_share = 0.8};
    m.visibility = sparse({{.heads = {0, 2}, .window = 3}, {.kind = PatternKind::kStrided, .heads = {1}, .stride = 2}});
  });
  add("adaptive_spans_alibi", [](ModelConfig& m) {
    m.visibility = {.kind = VisibilityKind::kAdaptive, .span = 6, .ramp = 5};
    m.position.kind = kAlibi;
  });
  add("masked_rope", [](ModelConfig& m) { mask(m); });
  add("layers_relative_then_rope", [](ModelConfig& m) {
    m.layers = {{.only = {1}, .position = PositionConfig{.kind = kRope, .rotary_share = 0.8}}};
  });
  return variants;
}

}  // namespace segue
