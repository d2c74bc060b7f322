// Relative effective context length (Dai et al. 2019, section 4.2 and appendix C), of models compared with one another.
//
// l_i(c, t) is the loss of model i at token t given c tokens of context, and b_c(t) = min_i l_i(c, t) the pool's best.
// Only the tokens T count whose b_c is among the largest, a share r of all: those the pool finds hard. Then
//   f_i(c, c') = mean over T of min(b_c(t), l_i(c', t)),   gain_i(c, c') = 1 - exp(f_i(c, c') - f_i(c, c)),
// where c' is the next longer context, and the effective context is the largest c that is reached from the smallest
// while every gain is at least the threshold. It is called "relative" since it depends on the pool, which must stay the
// same.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/json_fields.h"

namespace segue {

struct EffectiveContextOptions {
  std::vector<double> ratios = {0.1, 0.5, 1.0};  // r
  double threshold = 0.01;
  void describe(JsonFields& fields);
};

struct GainPoint {
  int64_t context = 0;     // c
  double loss = 0.0;       // f_i(c, c), nats
  double next_loss = 0.0;  // f_i(c, c')
  double gain = 0.0;
};

struct GainCurve {
  double ratio = 0.0;
  std::vector<GainPoint> points;  // of every context but the longest
  int64_t effective_context = 0;  // 0: not even the step from the smallest context is worth the threshold
  bool ends_within = false;       // otherwise longer contexts than there are might help as much
};

// Losses of the tokens that all files score, in one order, of a model at one of the contexts.
using LossesAt = std::function<std::vector<float>(size_t model, size_t context)>;

// The curves of every model, one for each ratio. `contexts` ascend. Throws UsageError when there are fewer than two, or
// options out of range, and DataError when no token is left.
std::vector<std::vector<GainCurve>> effective_contexts(size_t models, std::span<const int64_t> contexts,
                                                       const LossesAt& losses, const EffectiveContextOptions& options);

// A model's per-token files (per_token_file.h); "FILE@512" says the context of a file that does not say it itself.
struct ContextFiles {
  std::string name;
  std::vector<std::string> files;
};

// {"format": "segue-effective-context", "version": 1, "threshold", "step": between contexts, null where it varies,
//  "ratios", "tokens": compared, "models": [{"name", "effective_context": {RATIO: c, ...}, "curves": [{"ratio",
//  "effective_context", "ends_within", "points": [{"context", "loss", "next_loss", "gain"}]}]}]}
// Tokens that some file does not score are left out. Throws DataError naming two files and how they differ when they
// are not about the same tokens, or a model lacks a context that another has.
OrderedJson compare_effective_contexts(const std::vector<ContextFiles>& models, const EffectiveContextOptions& options);

}  // namespace segue
