// Small models with every kind of head.
#pragma once

#include <vector>

#include "core/config/head_kind.h"
#include "core/config/model_config.h"

namespace segue {

inline constexpr int64_t kGridVocab = 23;

inline ModelConfig grid_model() {
  ModelConfig model{.n_layer = 2, .n_head = 2, .d_model = 8, .d_head = 3, .d_inner = 5, .mem_len = 12, .dropout = 0.25};
  model.position.clamp_len = 9;
  model.visibility.same_length = true;
  return model;
}

// The plain softmax, and adaptive ones: one cluster and several, tables shared and own, of the hidden states' width and
// others, tied and untied projections, both orders of clusters; each with and without biases per layer where
// `biases_per_layer` says so.
inline std::vector<ModelConfig> model_grid(bool biases_per_layer) {
  std::vector<ModelConfig> grid;
  const auto add = [&](ModelConfig model) {
    model.block.pre_lnorm = grid.size() % 2 == 1;
    model.position.untie_r = biases_per_layer && grid.size() % 3 == 1;
    grid.push_back(std::move(model));
  };
  for (const std::vector<int64_t>& cutoffs : {std::vector<int64_t>{}, {7}, {5, 9, 17}}) {
    for (const int64_t div_val : {1, 2}) {
      for (const int64_t d_embed : {8, 16}) {
        for (const bool tie_weight : {true, false}) {
          for (const int tie_projs : {0, 1, 2, 3}) {  // none, all, the first, all others
            for (const ClusterOrder order : {ClusterOrder::kReversed, ClusterOrder::kAscending}) {
              ModelConfig model = grid_model();
              const bool adaptive = !cutoffs.empty() || div_val > 1;
              if (!adaptive && order == ClusterOrder::kAscending) continue;
              if (cutoffs.empty() && tie_projs >= 2) continue;
              model.d_embed = d_embed;
              model.head = {.kind = adaptive ? HeadKind::kAdaptive : HeadKind::kSoftmax,
                            .tie_weight = tie_weight,
                            .tie_projs = std::vector<bool>(cutoffs.size() + 1, tie_projs % 2 == 1),
                            .cutoffs = cutoffs,
                            .div_val = div_val,
                            .cluster_order = order};
              if (tie_projs >= 2) model.head.tie_projs.front() = tie_projs == 2;
              add(std::move(model));
            }
          }
        }
      }
    }
  }
  return grid;
}

}  // namespace segue
