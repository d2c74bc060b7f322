// The table of one level's operations.
#include "kernels/cpu/code_path.h"
#include "kernels/cpu/copy_block.h"
#include "kernels/cpu/cross_entropy.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/feed_forward.h"
#include "kernels/cpu/gradient_clip.h"
#include "kernels/cpu/lamb.h"
#include "kernels/cpu/layer_norm.h"
#include "kernels/cpu/linear_cross_entropy.h"
#include "kernels/cpu/optimizer_step.h"
#include "kernels/cpu/relative_attention.h"
#include "kernels/cpu/segment_memory.h"
#include "kernels/cpu/token_clusters.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

extern const CodePath kCodePath;
const CodePath kCodePath{
    .level = SEGUE_CPU_LEVEL_NAME,
    .copy_block = copy_block,
    .cross_entropy_forward = cross_entropy_forward,
    .cross_entropy_backward = cross_entropy_backward,
    .dropout_forward = dropout_forward,
    .dropout_backward = dropout_backward,
    .embedding_forward = embedding_forward,
    .embedding_backward = embedding_backward,
    .feed_forward_forward = feed_forward_forward,
    .feed_forward_backward = feed_forward_backward,
    .gradient_norm = gradient_norm,
    .clip_gradients = clip_gradients,
    .lamb_moments = lamb_moments,
    .lamb_norms = lamb_norms,
    .lamb_step = lamb_step,
    .layer_norm_forward = layer_norm_forward,
    .layer_norm_backward = layer_norm_backward,
    .linear_cross_entropy = linear_cross_entropy,
    .linear_cross_entropy_workspace = linear_cross_entropy_workspace,
    .relative_attention_forward = relative_attention_forward,
    .relative_attention_backward = relative_attention_backward,
    .relative_attention_workspace = relative_attention_workspace,
    .segment_memory_update = segment_memory_update,
    .token_clusters = token_clusters,
    .update_adam = update,
    .update_adagrad = update,
    .update_sgd = update,
    .update_momentum = update,
};

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
