// The models that tests of models vary over.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/config/model_config.h"

namespace segue {

// Odd sizes, and heads that together are not as wide as the model.
inline ModelConfig small_model() {
  ModelConfig model;
  model.n_layer = 2;
  model.n_head = 3;
  model.d_model = 14;
  model.d_head = 5;
  model.d_inner = 19;
  model.mem_len = 6;
  model.dropout = 0.0;
  model.dropatt = 0.0;
  return model;
}

// What the tests vary, by name.
struct ModelVariant {
  std::string name;
  void (*change)(ModelConfig& model);
  ModelConfig config() const {
    ModelConfig model = small_model();
    change(model);
    return model;
  }
};

inline void PrintTo(const ModelVariant& variant, std::ostream* stream) { *stream << variant.name; }

inline const std::vector<ModelVariant>& model_variants() {
  static const std::vector<ModelVariant> kVariants{
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
      {"adaptive_one_cluster", [](ModelConfig& m) { m.head.kind = HeadKind::kAdaptive; }},
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
      {"sinusoidal", [](ModelConfig& m) { m.position.kind = PositionKind::kSinusoidal; }},
      {"sinusoidal_pre_norm_no_memory_projected",
       [](ModelConfig& m) {
         m.position.kind = PositionKind::kSinusoidal;
         m.block.pre_lnorm = true;
         m.mem_len = 0;
         m.d_embed = 9;
       }},
      {"learned", [](ModelConfig& m) { m.position = {.kind = PositionKind::kLearned, .max_positions = 9}; }},
      {"learned_no_memory_adaptive",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kLearned, .max_positions = 7};
         m.mem_len = 0;
         m.head = {.kind = HeadKind::kAdaptive, .tie_projs = {false, true, true}, .cutoffs = {6, 9}, .div_val = 2};
       }},
      {"shaw", [](ModelConfig& m) { m.position = {.kind = PositionKind::kShaw, .max_positions = 13}; }},
      {"shaw_pre_norm_clamp_len",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kShaw, .clamp_len = 3, .max_positions = 4};
         m.block.pre_lnorm = true;
       }},
      {"shaw_no_memory",
       [](ModelConfig& m) {
         m.position = {.kind = PositionKind::kShaw, .max_positions = 20};
         m.mem_len = 0;
       }},
  };
  return kVariants;
}

inline const ModelVariant& model_variant(const std::string& name) {
  const std::vector<ModelVariant>& all = model_variants();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ModelVariant& each) { return each.name == name; });
  if (found == all.end()) throw ContractError("no variant of the model is called {}", name);
  return *found;
}

inline std::string name_of_variant(const testing::TestParamInfo<ModelVariant>& info) { return info.param.name; }

}  // namespace segue
