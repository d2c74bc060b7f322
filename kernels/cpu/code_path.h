// The operations on the processor, compiled for several levels of x86-64, of which one is chosen at run time.
//
// The sources of this folder but this one's and those of matrix products are compiled once per level, in a namespace of
// that name; a level's operations are reached through its table alone. Matrix products are oneDNN's, which chooses for
// itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/copy_block.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/feed_forward.h"
#include "kernels/gradient_clip.h"
#include "kernels/lamb.h"
#include "kernels/lamb_scalars.h"
#include "kernels/layer_norm.h"
#include "kernels/linear_cross_entropy.h"
#include "kernels/relative_attention.h"
#include "kernels/segment_memory.h"
#include "kernels/token_clusters.h"
#include "kernels/update_rules.h"

namespace segue::kernels::cpu {

constexpr int64_t kMaxHeadWidth = 256;  // H of relative attention

// Arguments are those of the operation of the same name, already checked.
struct CodePath {
  std::string_view level;  // as compilers call it
  void (*copy_block)(const Stream&, const CopyBlock&);
  void (*cross_entropy_forward)(const Stream&, const CrossEntropyForward&);
  void (*cross_entropy_backward)(const Stream&, const CrossEntropyBackward&);
  void (*dropout_forward)(const Stream&, const DropoutForward&);
  void (*dropout_backward)(const Stream&, const DropoutBackward&);
  void (*embedding_forward)(const Stream&, const EmbeddingForward&);
  void (*embedding_backward)(const Stream&, const EmbeddingBackward&);
  void (*feed_forward_forward)(const Stream&, const FeedForwardForward&);
  void (*feed_forward_backward)(const Stream&, const FeedForwardBackward&);
  void (*gradient_norm)(const Stream&, const GradientNorm&);
  void (*clip_gradients)(const Stream&, const GradientClip&);
  void (*lamb_moments)(const Stream&, const LambMoments&, const LambMomentScalars&);
  void (*lamb_norms)(const Stream&, const LambNorms&);
  void (*lamb_step)(const Stream&, const LambStep&, const LambStepScalars&);
  void (*layer_norm_forward)(const Stream&, const LayerNormForward&);
  void (*layer_norm_backward)(const Stream&, const LayerNormBackward&);
  void (*linear_cross_entropy)(const Stream&, const LinearCrossEntropy&);
  int64_t (*linear_cross_entropy_workspace)(const LinearCrossEntropyExtents&);
  void (*relative_attention_forward)(const Stream&, const RelativeAttentionForward&);
  void (*relative_attention_backward)(const Stream&, const RelativeAttentionBackward&);
  int64_t (*relative_attention_workspace)(const RelativeAttentionExtents&);
  void (*segment_memory_update)(const Stream&, const SegmentMemoryUpdate&);
  void (*token_clusters)(const TokenClusters&);
  void (*update_adam)(const Stream&, const UpdatedBlock&, const AdamRule&);
  void (*update_adagrad)(const Stream&, const UpdatedBlock&, const AdagradRule&);
  void (*update_sgd)(const Stream&, const UpdatedBlock&, const SgdRule&);
  void (*update_momentum)(const Stream&, const UpdatedBlock&, const MomentumRule&);
};

// The best that this processor runs, or the one that SEGUE_CPU_LEVEL in the environment names ("x86-64-v3"). Throws
// DeviceError when the processor does not run that level, or none of them.
const CodePath& best_code_path();

// Floats of scratch, enough for each of the levels that this processor runs: whoever reserves them need not know which
// will run.
int64_t largest_linear_cross_entropy_workspace(const LinearCrossEntropyExtents& extents);
int64_t largest_relative_attention_workspace(const RelativeAttentionExtents& extents);

}  // namespace segue::kernels::cpu
