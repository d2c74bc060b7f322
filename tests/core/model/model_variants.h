// The models that tests of models vary over.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/config/carried.h"
#include "core/config/head_kind.h"
#include "core/config/memory_kind.h"
#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/core/model/block_variants.h"
#include "tests/core/model/key_variants.h"
#include "tests/core/model/kind_variants.h"
#include "tests/oracle/kinds_of_memory.h"

namespace segue {

// Models that predict masked tokens from both sides.
inline std::vector<ModelVariant> masked_variants() {
  using enum PatternKind;
  return {
      {"masked_pre_norm_none_zeros",
       [](ModelConfig& m) {
         mask(m);
         m.position = {.kind = PositionKind::kNone};
         m.block.pre_lnorm = true;
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"masked_sinusoidal_no_memory",
       [](ModelConfig& m) {
         mask(m);
         m.position = {.kind = PositionKind::kSinusoidal};
         m.mem_len = 0;
       }},
      {"masked_learned_adaptive",
       [](ModelConfig& m) {
         mask(m);
         m.position = {.kind = PositionKind::kLearned};
         m.head = {.kind = HeadKind::kAdaptive, .cutoffs = {5, 11}};
       }},
      {"masked_sparse_window_and_strided_by_head",
       [](ModelConfig& m) {
         mask(m, sparse({{.heads = {0, 1}, .window = 3}, {.kind = kStrided, .heads = {2}, .stride = 4}}));
       }},
      {"masked_sparse_blocks_global_and_random",
       [](ModelConfig& m) {
         mask(m, sparse({{.kind = kBlocks, .block = 2, .before = 2},
                         {.kind = kGlobal, .period = 6, .columns = 1},
                         {.kind = kRandom, .block = 2, .period = 6, .count = 1, .nearest = 1, .farthest = 3}}));
       }},
      {"masked_sparse_blockwise_dilated_and_fixed_pre_norm",
       [](ModelConfig& m) {
         mask(m, sparse({{.kind = kBlockwise, .heads = {0}, .block = 3, .shift = 0},
                         {.kind = kDilated, .heads = {1}, .window = 2, .stride = 2},
                         {.kind = kFixed, .heads = {2}, .period = 3, .from = 1, .columns = 1}}));
         m.block.pre_lnorm = true;
       }},
      {"masked_layers_full_then_window",
       [](ModelConfig& m) {
         mask(m);
         m.layers = {{.only = {1}, .visibility = sparse({{.window = 2}})}};
       }},
  };
}

// Such models with a second stream beside their tokens.
inline std::vector<ModelVariant> global_stream_variants() {
  return {
      {"global_stream_full_rope_zeros",
       [](ModelConfig& m) {
         mask(m);
         m.global_stream.tokens = 2;
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"global_stream_window_own_pre_norm",
       [](ModelConfig& m) {
         mask(m, sparse({{.window = 2}}));
         m.global_stream = {.tokens = 3, .projections = StreamProjections::kOwn};
         m.block.pre_lnorm = true;
       }},
      {"global_stream_blocks_by_head_keys_values",
       [](ModelConfig& m) {
         mask(m, sparse({{.kind = PatternKind::kBlocks, .heads = {0, 1}, .block = 2, .before = 1},
                         {.heads = {2}, .window = 3}}));
         m.global_stream = {.tokens = 1, .projections = StreamProjections::kOwn};
         m.memory.kind = MemoryKind::kKeysValues;
       }},
      {"global_stream_learned_no_memory",
       [](ModelConfig& m) {
         mask(m, sparse({{.window = 2}}));
         m.global_stream.tokens = 2;
         m.position = {.kind = PositionKind::kLearned};
         m.mem_len = 0;
       }},
  };
}

// Layers with axis objects of their own, in models of two layers.
inline std::vector<ModelVariant> layer_variants() {
  using enum PositionKind;
  constexpr VisibilityConfig kWindow{.kind = VisibilityKind::kWindow, .window = 4};
  return {
      {"layers_rope_then_none",
       [](ModelConfig& m) {
         m.position = {.kind = kRope, .rotary_share = 0.8};
         m.layers = {{.only = {1}, .position = PositionConfig{.kind = kNone}}};
       }},
      {"layers_relative_first_with_a_window",
       [](ModelConfig& m) { m.layers = {{.only = {0}, .visibility = kWindow}}; }},
      {"layers_dilated_wider_above",
       [](ModelConfig& m) {
         const auto dilated = [](int64_t stride) {
           return VisibilityConfig{.kind = VisibilityKind::kSparse,
                                   .patterns = {{.kind = PatternKind::kDilated, .window = 2, .stride = stride}}};
         };
         m.visibility = dilated(1);
         m.layers = {{.only = {1}, .visibility = dilated(5)}};
       }},
      {"layers_relative_then_rope_with_adaptive_spans",
       [](ModelConfig& m) {
         m.layers = {{.only = {1},
                      .position = PositionConfig{.kind = kRope, .rotary_share = 0.8},
                      .visibility = VisibilityConfig{.kind = VisibilityKind::kAdaptive, .span = 6, .ramp = 3}}};
       }},
      {"layers_alibi_then_t5_zeros",
       [](ModelConfig& m) {
         m.position.kind = kAlibi;
         m.layers = {{.only = {1}, .position = PositionConfig{.kind = kT5}}};
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"layers_none_then_relative_pre_norm",
       [](ModelConfig& m) {
         m.position.kind = kNone;
         m.layers = {{.only = {1}, .position = PositionConfig{.kind = kRelative}, .visibility = kWindow}};
         m.block.pre_lnorm = true;
       }},
      {"layers_relative_clamped_apart",
       [](ModelConfig& m) {
         m.layers = {{.only = {0}, .position = PositionConfig{.kind = kRelative, .clamp_len = 3}}};
       }},
      {"layers_shaw_then_rope_scaled_same_length",
       [](ModelConfig& m) {
         m.position.kind = kShaw;
         m.layers = {
             {.only = {1}, .position = PositionConfig{.kind = kRope, .rotary_scaling = 3.0, .rotary_share = 0.4}},
             {.only = {0}, .visibility = VisibilityConfig{.same_length = true, .same_length_extra_key = true}}};
       }},
      {"layers_learned_then_shaw",
       [](ModelConfig& m) {
         m.position.kind = kLearned;
         m.layers = {{.only = {1}, .position = PositionConfig{.kind = kShaw, .clamp_len = 4}}};
       }},
  };
}

inline const std::vector<ModelVariant>& model_variants() {
  static const std::vector<ModelVariant> kVariants = [] {
    std::vector<ModelVariant> all = key_variants();
    const auto append = [&all](std::vector<ModelVariant> kinds) { all.insert(all.end(), kinds.begin(), kinds.end()); };
    append(layer_variants());
    append(masked_variants());
    append(global_stream_variants());
    append(position_variants());
    append(visibility_variants());
    append(memory_variants());
    append(kind_variants("depth", &ModelConfig::depth));
    append(shared_layer_variants());
    append(halting_variants());
    append(block_variants());
    append(reversible_variants());
    append(state_variants());
    append(kind_variants("head", &ModelConfig::head));
    return all;
  }();
  return kVariants;
}

// Those that say what comes next.
inline std::vector<ModelVariant> next_token_variants() {
  std::vector<ModelVariant> variants = model_variants();
  std::erase_if(variants, [](const ModelVariant& variant) { return variant.config().objective.is_masked(); });
  return variants;
}

// Those that may tell documents apart: memory tokens are written once a segment, and rows of several documents may be
// compressed into one, or tokens of several read together; states go on from one to the next, and a global stream sees
// all of a segment.
inline std::vector<ModelVariant> that_tell_documents(std::vector<ModelVariant> variants) {
  std::erase_if(variants, [](const ModelVariant& variant) {
    const ModelConfig config = variant.config();
    return memory_tokens(config) > 0 || config.global_stream.tokens > 0 ||
           config.memory.kind == MemoryKind::kCompressed || encoder_layers(config) > 0 || hands_on_states(config);
  });
  return variants;
}

inline const ModelVariant& model_variant(const std::string& name) {
  const std::vector<ModelVariant>& all = model_variants();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ModelVariant& each) { return each.name == name; });
  if (found == all.end()) throw ContractError("no variant of the model is called {}", name);
  return *found;
}

inline std::string name_of_variant(const testing::TestParamInfo<ModelVariant>& info) { return info.param.name; }

}  // namespace segue
