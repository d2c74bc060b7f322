// What follows from a model's config: how its weights are used, and the sizes and kinds that its keys imply.
#include <algorithm>
#include <cmath>

#include "core/config/memory_row.h"
#include "core/config/model_config.h"
#include "core/config/objective_kind.h"
#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"

namespace segue {

bool ObjectiveConfig::is_masked() const { return kind == ObjectiveKind::kMasked; }

void take_over(const PositionConfig& position, ModelUse& use) {
  use.clamp_len = position.clamp_len;
  use.rotary_base = position.rotary_base;
  use.rotary_scaling = position.rotary_scaling;
}

void take_over(const VisibilityConfig& visibility, ModelUse& use) {
  use.same_length = visibility.same_length;
  use.same_length_extra_key = visibility.same_length_extra_key;
  use.window = visibility.kind == VisibilityKind::kWindow     ? visibility.window
               : visibility.kind == VisibilityKind::kAdaptive ? visibility.span + visibility.ramp
                                                              : 0;
  use.patterns = visibility.kind == VisibilityKind::kSparse ? visibility.patterns : std::vector<PatternConfig>();
}

ModelUse use_of(const ModelConfig& model) {
  ModelUse use{.mem_len = model.mem_len, .ahead = model.objective.is_masked(), .initial_memory = model.memory.initial};
  use.global_tokens = model.global_stream.tokens;
  row_of(model.memory.kind).take_over(model.memory, use);
  take_over(model.position, use);
  take_over(model.visibility, use);
  return use;
}

int64_t ModelUse::pushed_out(int64_t rows, int64_t tgt_len) const {
  const int64_t beyond = std::max<int64_t>(rows + tgt_len - uncompressed_rows(), 0);
  return (beyond + compression_rate - 1) / compression_rate * compression_rate;
}

int64_t distances_of(int64_t keys, int64_t clamp_len) { return clamp_len > 0 ? std::min(keys, clamp_len + 1) : keys; }

int64_t position_rows(const PositionConfig& position, const ModelUse& use, int64_t tgt_len) {
  if (position.kind == PositionKind::kLearned) return tgt_len;
  if (position.kind != PositionKind::kShaw) return 0;
  return distances_of(use.rows_of(tgt_len) + use.memory_rows(), use.clamp_len);
}

int64_t rotary_width(const ModelConfig& model) {
  return std::llround(model.position.rotary_share * static_cast<double>(model.d_head));
}

bool projects_global_tokens(const ModelConfig& model) {
  return model.global_stream.tokens > 0 && model.global_stream.projections == StreamProjections::kOwn;
}

int64_t effective_d_embed(const ModelConfig& model) { return model.d_embed == 0 ? model.d_model : model.d_embed; }

}  // namespace segue
