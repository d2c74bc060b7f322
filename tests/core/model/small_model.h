// A small model, and what tests change of it.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/config/layers.h"
#include "core/config/visibility_kind.h"

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

// Segments of the tests that walk the variants have so many tokens at most.
constexpr int64_t kLongestSegment = 7;

// A table of positions whose size is not given has the rows that segments of `tgt_len` need.
inline ModelConfig with_position_rows(ModelConfig model, int64_t tgt_len) {
  name_position_rows(model, tgt_len);
  return model;
}

inline VisibilityConfig sparse(std::vector<PatternConfig> patterns) {
  return {.kind = VisibilityKind::kSparse, .patterns = std::move(patterns)};
}

// A change to the model that tests vary, by name.
struct ModelVariant {
  std::string name;
  std::function<void(ModelConfig& model)> change;
  ModelConfig config() const {
    ModelConfig model = small_model();
    change(model);
    return with_position_rows(std::move(model), kLongestSegment);
  }
};

inline void PrintTo(const ModelVariant& variant, std::ostream* out) { *out << variant.name; }

}  // namespace segue
