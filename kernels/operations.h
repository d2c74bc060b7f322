// The operations of a device: a table that each device fills, with a line for every operation.
//
// The header that declares an operation says what it computes. The function there checks the arguments and calls the
// table of the queue's device, whose functions may rely on them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/device.h"
#include "kernels/blend.h"
#include "kernels/bucket_bias.h"
#include "kernels/clamp.h"
#include "kernels/convert.h"
#include "kernels/copy_block.h"
#include "kernels/cross_entropy.h"
#include "kernels/distance_curve.h"
#include "kernels/dropout.h"
#include "kernels/element_gate.h"
#include "kernels/embedding.h"
#include "kernels/feature_map.h"
#include "kernels/feed_forward.h"
#include "kernels/gate.h"
#include "kernels/gradient_clip.h"
#include "kernels/halting.h"
#include "kernels/head_norm.h"
#include "kernels/lamb.h"
#include "kernels/lamb_scalars.h"
#include "kernels/layer_norm.h"
#include "kernels/linear_cross_entropy.h"
#include "kernels/matmul.h"
#include "kernels/most_used_rows.h"
#include "kernels/pool_rows.h"
#include "kernels/rectifier.h"
#include "kernels/relative_attention.h"
#include "kernels/rotary_scalars.h"
#include "kernels/segment_memory.h"
#include "kernels/short_convolution.h"
#include "kernels/squared_difference.h"
#include "kernels/state_read.h"
#include "kernels/state_scan.h"
#include "kernels/state_turn_scalars.h"
#include "kernels/token_clusters.h"
#include "kernels/update_formulas.h"
#include "kernels/weighted_average.h"

// OPERATION(name, arguments) for each.
#define SEGUE_OPERATIONS(OPERATION)                                 \
  OPERATION(blend_backward, BlendBackward)                          \
  OPERATION(blend_forward, BlendForward)                            \
  OPERATION(bucket_bias_backward, BucketBiasBackward)               \
  OPERATION(bucket_bias_forward, BucketBiasForward)                 \
  OPERATION(clamp, Clamp)                                           \
  OPERATION(clip_gradients, GradientClip)                           \
  OPERATION(convert, Conversion)                                    \
  OPERATION(copy_block, CopyBlock)                                  \
  OPERATION(cross_entropy_backward, CrossEntropyBackward)           \
  OPERATION(cross_entropy_forward, CrossEntropyForward)             \
  OPERATION(distance_curve_backward, DistanceCurveBackward)         \
  OPERATION(distance_curve_forward, DistanceCurveForward)           \
  OPERATION(dropout_backward, DropoutBackward)                      \
  OPERATION(dropout_forward, DropoutForward)                        \
  OPERATION(element_gate_backward, ElementGateBackward)             \
  OPERATION(element_gate_forward, ElementGateForward)               \
  OPERATION(embedding_backward, EmbeddingBackward)                  \
  OPERATION(embedding_forward, EmbeddingForward)                    \
  OPERATION(feature_map_backward, FeatureMapBackward)               \
  OPERATION(feature_map_forward, FeatureMapForward)                 \
  OPERATION(feed_forward_backward, FeedForwardBackward)             \
  OPERATION(feed_forward_forward, FeedForwardForward)               \
  OPERATION(gate_backward, GateBackward)                            \
  OPERATION(gate_forward, GateForward)                              \
  OPERATION(gradient_norm, GradientNorm)                            \
  OPERATION(halted_rows_backward, HaltedRowsBackward)               \
  OPERATION(halted_rows_forward, HaltedRowsForward)                 \
  OPERATION(halting_backward, HaltingBackward)                      \
  OPERATION(halting_forward, HaltingForward)                        \
  OPERATION(head_norm_backward, HeadNormBackward)                   \
  OPERATION(head_norm_forward, HeadNormForward)                     \
  OPERATION(lamb_moments, ScaledLambMoments)                        \
  OPERATION(lamb_norms, LambNorms)                                  \
  OPERATION(lamb_step, ScaledLambStep)                              \
  OPERATION(layer_norm_backward, LayerNormBackward)                 \
  OPERATION(layer_norm_forward, LayerNormForward)                   \
  OPERATION(linear_cross_entropy, LinearCrossEntropy)               \
  OPERATION(matmul, Matmul)                                         \
  OPERATION(most_used_rows, MostUsedRows)                           \
  OPERATION(pool_rows, PoolRows)                                    \
  OPERATION(rectifier_backward, RectifierBackward)                  \
  OPERATION(rectifier_forward, RectifierForward)                    \
  OPERATION(relative_attention_backward, RelativeAttentionBackward) \
  OPERATION(relative_attention_forward, RelativeAttentionForward)   \
  OPERATION(relative_attention_received, RelativeAttentionReceived) \
  OPERATION(rotary, RotaryRows)                                     \
  OPERATION(segment_memory_update, SegmentMemoryUpdate)             \
  OPERATION(short_convolution_backward, ShortConvolutionBackward)   \
  OPERATION(short_convolution_forward, ShortConvolutionForward)     \
  OPERATION(squared_difference_backward, SquaredDifferenceBackward) \
  OPERATION(squared_difference_forward, SquaredDifferenceForward)   \
  OPERATION(state_read_backward, StateReadBackward)                 \
  OPERATION(state_read_forward, StateReadForward)                   \
  OPERATION(state_scan_backward, StateScanBackward)                 \
  OPERATION(state_scan_forward, StateScanForward)                   \
  OPERATION(state_turn, TurnedState)                                \
  OPERATION(token_clusters, TokenClusters)                          \
  OPERATION(update_elements, ElementUpdate)                         \
  OPERATION(weighted_average_backward, WeightedAverageBackward)     \
  OPERATION(weighted_average_forward, WeightedAverageForward)

namespace segue::kernels {

struct Operations {
  std::string_view level;  // of a processor, as compilers call it: "x86-64-v3"; of a GPU "CUDA"
  int64_t widest_head;     // H of relative attention, at most
  bool (*has_bfloat16_products)();
  int64_t (*linear_cross_entropy_workspace)(const LinearCrossEntropyExtents&);  // elements, of float32
  int64_t (*relative_attention_workspace)(const RelativeAttentionExtents&);     // elements, of float32
// NOLINTNEXTLINE(bugprone-macro-parentheses): a type
#define SEGUE_OPERATION(name, arguments) void (*name)(Queue&, const arguments&);
  SEGUE_OPERATIONS(SEGUE_OPERATION)
#undef SEGUE_OPERATION
};

// Those that a queue of such a device calls. Throws DeviceError when the processor runs none of the levels.
const Operations& operations_of(DeviceKind device);

}  // namespace segue::kernels

// For the functions of a device in their own namespace: what declares one, and its line in the table.
#define SEGUE_DECLARED_OPERATION(name, arguments) void name(Queue& queue, const arguments& args);
#define SEGUE_LISTED_OPERATION(name, arguments) .name = (name),
