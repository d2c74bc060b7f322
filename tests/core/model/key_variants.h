// The models that vary a key, or combine some keys and kinds.
#pragma once

#include <vector>

#include "core/config/head_kind.h"
#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/core/model/small_model.h"

namespace segue {

// Keys, and combinations of keys and kinds.
inline std::vector<ModelVariant> key_variants() {
  return {
      {"post_norm", [](ModelConfig&) {}},
      {"pre_norm", [](ModelConfig& m) { m.block.pre_lnorm = true; }},
      {"final_norm", [](ModelConfig& m) { m.block = {.pre_lnorm = true, .final_norm = true}; }},
      {"gelu", [](ModelConfig& m) { m.block.activation = ActivationKind::kGelu; }},
      {"pre_norm_gelu_one_layer",
       [](ModelConfig& m) {
         m.block = {.pre_lnorm = true, .activation = ActivationKind::kGelu};
         m.n_layer = 1;
       }},
      {"large_epsilon", [](ModelConfig& m) { m.block.layer_norm_epsilon = 0.1; }},
      {"projected", [](ModelConfig& m) { m.d_embed = 9; }},
      {"projected_tied_projection",
       [](ModelConfig& m) {
         m.d_embed = 17;
         m.head.tie_projs = {true};
       }},
      {"untied_weight", [](ModelConfig& m) { m.head.tie_weight = false; }},
      {"untied_weight_projected",
       [](ModelConfig& m) {
         m.head.tie_weight = false;
         m.d_embed = 8;
       }},
      {"adaptive",
       [](ModelConfig& m) {
         m.head = {.kind = HeadKind::kAdaptive, .cutoffs = {5, 11}};
       }},
      {"adaptive_ascending_projected",
       [](ModelConfig& m) {
         m.d_embed = 9;
         m.head = {.kind = HeadKind::kAdaptive,
                   .tie_projs = {false, true, false},
                   .cutoffs = {3, 12},
                   .cluster_order = ClusterOrder::kAscending};
       }},
      {"adaptive_narrowing",
       [](ModelConfig& m) {
         m.head = {.kind = HeadKind::kAdaptive, .tie_projs = {false, true, true}, .cutoffs = {6, 9}, .div_val = 2};
       }},
      {"adaptive_narrowing_untied",
       [](ModelConfig& m) {
         m.head = {.kind = HeadKind::kAdaptive,
                   .tie_weight = false,
                   .cutoffs = {4, 5, 13},
                   .div_val = 2,
                   .proj_same_dim = false,
                   .cluster_order = ClusterOrder::kAscending};
       }},
      {"untie_r", [](ModelConfig& m) { m.position.untie_r = true; }},
      {"clamp_len", [](ModelConfig& m) { m.position.clamp_len = 3; }},
      {"clamp_len_beyond_keys", [](ModelConfig& m) { m.position.clamp_len = 100; }},
      {"same_length", [](ModelConfig& m) { m.visibility.same_length = true; }},
      {"same_length_extra_key",
       [](ModelConfig& m) { m.visibility = {.same_length = true, .same_length_extra_key = true}; }},
      {"window", [](ModelConfig& m) { m.visibility = {.kind = VisibilityKind::kWindow, .window = 4}; }},
      {"window_longer_than_memory_pre_norm_rope",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kWindow, .window = 9};
         m.block.pre_lnorm = true;
         m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
       }},
      {"window_of_two_zeros",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kWindow, .window = 2};
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"sparse_window_and_strided_by_head",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kSparse,
                         .patterns = {{.heads = {0, 2}, .window = 3},
                                      {.kind = PatternKind::kStrided, .heads = {1, 2}, .stride = 4}}};
       }},
      {"sparse_dilated_pre_norm_rope_zeros",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kSparse,
                         .patterns = {{.kind = PatternKind::kDilated, .window = 3, .stride = 3}}};
         m.block.pre_lnorm = true;
         m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"sparse_blocks_and_fixed_by_head",
       [](ModelConfig& m) {
         m.visibility = {
             .kind = VisibilityKind::kSparse,
             .patterns = {{.kind = PatternKind::kBlocks, .heads = {0, 2}, .block = 6, .before = 0},
                          {.kind = PatternKind::kFixed, .heads = {1}, .period = 3, .from = 1, .columns = 1},
                          {.kind = PatternKind::kFixed, .heads = {2}, .period = 3, .from = 2, .columns = 1}}};
         m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
       }},
      // A segment's last token and the next one's first have as many keys before them, at other phases.
      {"sparse_blocks_a_memory_one_short_of_a_segment",
       [](ModelConfig& m) {
         m.visibility = sparse({{.kind = PatternKind::kBlocks, .block = 3, .before = 1}});
         m.mem_len = 5;
       }},
      {"sparse_blockwise_by_head_t5_zeros",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kSparse,
                         .patterns = {{.kind = PatternKind::kBlockwise, .heads = {0}, .block = 3, .shift = 0},
                                      {.kind = PatternKind::kBlockwise, .heads = {1}, .block = 2, .shift = 2},
                                      {.kind = PatternKind::kBlockwise, .heads = {2}, .block = 3, .shift = 2}}};
         m.position.kind = PositionKind::kT5;
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"sparse_window_global_and_random_pre_norm",
       [](ModelConfig& m) {
         m.visibility = {
             .kind = VisibilityKind::kSparse,
             .patterns = {
                 {.window = 2},
                 {.kind = PatternKind::kGlobal, .period = 6, .columns = 1},
                 {.kind = PatternKind::kRandom, .block = 1, .period = 3, .count = 1, .nearest = 2, .farthest = 5}}};
         m.block.pre_lnorm = true;
       }},
      {"sparse_alibi_no_memory",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kSparse,
                         .patterns = {{.window = 1}, {.kind = PatternKind::kStrided, .heads = {0}, .stride = 2}}};
         m.position.kind = PositionKind::kAlibi;
         m.mem_len = 0;
       }},
      {"adaptive_spans_rope_pre_norm_zeros",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kAdaptive, .span = 3, .ramp = 2};
         m.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
         m.block.pre_lnorm = true;
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"adaptive_spans_alibi_longer_than_memory",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kAdaptive, .span = 11, .ramp = 5};
         m.position.kind = PositionKind::kAlibi;
       }},
      {"adaptive_spans_t5_no_memory",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kAdaptive, .span = 4, .ramp = 3};
         m.position.kind = PositionKind::kT5;
         m.mem_len = 0;
       }},
      {"adaptive_spans_kerple_untied",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kAdaptive, .span = 5, .ramp = 6};
         m.position = {.kind = PositionKind::kKerple, .untie_r = true};
       }},
      {"adaptive_spans_learned",
       [](ModelConfig& m) {
         m.visibility = {.kind = VisibilityKind::kAdaptive, .span = 7, .ramp = 4};
         m.position.kind = PositionKind::kLearned;
       }},
      {"zeros", [](ModelConfig& m) { m.memory.initial = InitialMemory::kZeros; }},
      {"zeros_pre_norm_same_length",
       [](ModelConfig& m) {
         m.memory.initial = InitialMemory::kZeros;
         m.block.pre_lnorm = true;
         m.visibility.same_length = true;
       }},
      {"no_memory", [](ModelConfig& m) { m.mem_len = 0; }},
      {"no_memory_pre_norm",
       [](ModelConfig& m) {
         m.mem_len = 0;
         m.block.pre_lnorm = true;
       }},
      {"memory_longer_than_segment", [](ModelConfig& m) { m.mem_len = 11; }},
      {"memory_of_one", [](ModelConfig& m) { m.mem_len = 1; }},
      {"one_head_of_one",
       [](ModelConfig& m) {
         m.n_head = 1;
         m.d_head = 1;
         m.d_inner = 1;
         m.d_model = 4;
       }},
      {"sinusoidal_pre_norm_no_memory_projected",
       [](ModelConfig& m) {
         m.position.kind = PositionKind::kSinusoidal;
         m.block.pre_lnorm = true;
         m.mem_len = 0;
         m.d_embed = 9;
       }},
      {"learned_more_rows_than_positions",
       [](ModelConfig& m) { m.position = {.kind = PositionKind::kLearned, .max_positions = 9}; }},
      {"learned_no_memory_adaptive",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kLearned, .max_positions = 7};
         m.mem_len = 0;
         m.head = {.kind = HeadKind::kAdaptive, .tie_projs = {false, true, true}, .cutoffs = {6, 9}, .div_val = 2};
       }},
      {"shaw_pre_norm_clamp_len",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kShaw, .clamp_len = 3, .max_positions = 4};
         m.block.pre_lnorm = true;
       }},
      {"rope_whole_heads_pre_norm_zeros",
       [](ModelConfig& m) {
         m.d_head = 6;
         m.position = {.kind = PositionKind::kRope, .rotary_base = 50.0};
         m.block.pre_lnorm = true;
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"rope_scaled",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kRope, .rotary_base = 50.0, .rotary_scaling = 2.5, .rotary_share = 0.8};
       }},
      {"rope_no_memory",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kRope, .rotary_share = 0.4};
         m.mem_len = 0;
       }},
      {"shaw_no_memory",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kShaw, .max_positions = 20};
         m.mem_len = 0;
       }},
      {"alibi_four_heads_same_length",
       [](ModelConfig& m) {
         m.position.kind = PositionKind::kAlibi;
         m.n_head = 4;
         m.visibility.same_length = true;
       }},
      {"alibi_no_memory",
       [](ModelConfig& m) {
         m.position.kind = PositionKind::kAlibi;
         m.mem_len = 0;
       }},
      {"t5_untied_few_buckets",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kT5, .untie_r = true, .t5_buckets = 6, .t5_max_distance = 9};
       }},
      {"t5_odd_buckets_zeros",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kT5, .t5_buckets = 3, .t5_max_distance = 8};
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"kerple_untied_no_memory",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kKerple, .untie_r = true};
         m.mem_len = 0;
       }},
      {"kerple_pre_norm_zeros",
       [](ModelConfig& m) {
         m.position.kind = PositionKind::kKerple;
         m.block.pre_lnorm = true;
         m.memory.initial = InitialMemory::kZeros;
       }},
      {"distance_aware_no_memory",
       [](ModelConfig& m) {
         m.position.kind = PositionKind::kDistanceAware;
         m.mem_len = 0;
       }},
      {"distance_aware_pre_norm_same_length",
       [](ModelConfig& m) {
         m.position.kind = PositionKind::kDistanceAware;
         m.block.pre_lnorm = true;
         m.visibility.same_length = true;
       }},
  };
}

}  // namespace segue
