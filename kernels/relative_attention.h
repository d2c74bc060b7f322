// Relative attention over memory and segment (Dai et al. 2019, section 3.3 and appendix B), fused: the scores are never
// stored, and their gradients, on a GPU, only of some heads at a time.
//
// For one stream and head: queries i in [0, T); keys j in [0, K), K = M + T, of which [0, M) come from the memory and
// [M, K) from the segment; distance d = M + i - j; scale = 1/sqrt(H).
//
// forward   s[i,j] = scale * ((q[i] + u) · k[j] + (q[i] + w) · r[min(d, P-1)])      for visible (i, j)
//           or, without r, s[i,j] = scale * (q[i] + u) · k[j] + bias[n, min(d, E-1)]
//           or, without r, u and bias, s[i,j] = gain[n, min(d, E-1)] * max(0, c[i,j]),  c[i,j] = scale * q[i] · k[j]
//           visible: d < window when window > 0; or the pairs that a schedule of tiles lists, per head; of either only
//           those with d >= 0, or d >= -ahead[i] when there is `ahead`, and with d <= reach[i] when there is a reach
//           p = softmax of s over visible j;  o[i] = sum_j m[i,j] p[i,j] v[j]    (m: dropout multiplier, "dropatt")
// backward  dp[i,j] = m[i,j] (do[i] · v[j]);  delta[i] = sum_j p[i,j] dp[i,j] = do[i] · o[i];  ds = p * (dp - delta)
//           dv[j] = sum_i m[i,j] p[i,j] do[i]
//           dq[i] = scale * sum_j ds[i,j] (k[j] + r[min(d, P-1)]);  dk[j] = scale * sum_i ds[i,j] (q[i] + u)
//           dr[e] = scale * sum over streams and pairs (i,j) with min(d, P-1) = e of ds[i,j] (q[i] + w)
//           du += scale * sum of ds[i,j] k[j];  dw += scale * sum of ds[i,j] r[min(d, P-1)]  (sums over streams, i, j)
//           dbias[n,e] = sum over streams and pairs (i,j) with min(d, E-1) = e of ds[i,j]; 0 where there is none
//           with gain, dgain[n,e] is the same sum of ds[i,j] * max(0, c[i,j]), and what dq and dk see for ds[i,j] is
//           gain[n, min(d, E-1)] * ds[i,j] where c[i,j] > 0, otherwise 0
//
// Saved for backward: output and the log-sum of exp(s) of every row. The element of dropatt is
// ((stream * N + n) * T + i) * K + j with `first_element` the one of the view's first stream.
// P = K normally; fewer rows clamp the distance (clamp_len = P - 1). Without r the terms of r and w are absent, and
// cost nothing, and so does a bias or a gain that is absent; an empty u or w stands for zeros. E may exceed K. H at
// most 256, on a GPU 128. No output aliases an input. fp32 accumulation. Deterministic, also over thread counts. A: the
// dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "kernels/dropout.h"
#include "kernels/tile_schedule.h"

namespace segue::kernels {

// The inputs that forward and backward share.
struct RelativeAttentionInputs {
  ConstTensorView qkv;        // [B, T, 3, N, H] A in: queries, keys, values of the segment
  ConstTensorView memory_kv;  // [B, M, 2, N, H] A in: keys, values of the memory; M may be 0
  int64_t memory_pitch = 0;   // rows from one stream's memory to the next one's, at least M; 0: M
  ConstTensorView r;          // [P, N, H] A in: row d is the projected position of distance d; 1 <= P <= K; or empty
  ConstTensorView u;          // [N, H] float32 in: r_w_bias; or empty
  ConstTensorView w;          // [N, H] float32 in: r_r_bias; or empty, as without r
  ConstTensorView bias =
      {};  // [N, E] float32 in: column d is added to scores at distance d; 1 <= E; or empty, as with r
  ConstTensorView gain = {};   // [N, E] float32 in: column d multiplies scores at distance d; 1 <= E; or empty, as with
                               // r, u, w or bias
  int64_t window = 0;          // 0: every earlier key; otherwise so many keys back, its own included
  VisibleTiles tiles = {};     // what each query sees, if not that; without window
  ConstTensorView reach = {};  // [B, T] int32 in: the farthest distance that each query sees, as many tokens as its
                               // document has before it: 0 <= reach[i + 1] <= reach[i] + 1, on trust; or empty
  ConstTensorView ahead = {};  // [B, T] int32 in: how many keys after its own each query sees, as many as its document
                               // has in the segment: 0 <= ahead[i] <= ahead[i + 1] + 1, ahead[T - 1] = 0, on trust;
                               // or empty, as with r, bias or gain
  Dropout dropout;             // of the weights
};

// How many bytes of a GPU's workspace may hold ds, which one kernel computes, making the scores anew, and others
// multiply: as many heads, of all streams, go through the backward at once as have room there, at least one. A head has
// T * K elements of A, in whole tiles; twice as many with r.
inline constexpr int64_t kScoreBytes = int64_t{256} << 20;

struct RelativeAttentionForward {
  RelativeAttentionInputs inputs;
  TensorView output;  // [B, T, N, H] A out, overwritten, saved
  TensorView lse;     // [B, N, T] float32 out, overwritten, saved
};
void relative_attention_forward(Queue& queue, const RelativeAttentionForward& args);

struct RelativeAttentionBackward {
  RelativeAttentionInputs inputs;     // as in the forward
  ConstTensorView doutput;            // [B, T, N, H] A in
  ConstTensorView output;             // as saved
  ConstTensorView lse;                // as saved
  TensorView workspace;               // [at least relative_attention_workspace] float32 scratch
  int64_t score_bytes = kScoreBytes;  // for which the workspace was made
  TensorView dqkv;                    // [B, T, 3, N, H] A out, overwritten
  TensorView dmemory_kv;              // [B, M, 2, N, H] A out, overwritten
  TensorView dr;                      // [P, N, H] A out, overwritten; these three are empty as r, u and w are
  TensorView du;                      // [N, H] float32 inout, accumulated
  TensorView dw;                      // [N, H] float32 inout, accumulated
  TensorView dbias = {};              // [N, E] float32 out, overwritten; empty without bias, or where it is not wanted
  TensorView dgain = {};              // [N, E] float32 out, overwritten; empty without gain, or where it is not wanted
};
void relative_attention_backward(Queue& queue, const RelativeAttentionBackward& args);

// How much of the attention rows of the memory receive from the segment, before dropout; those that no query sees
// receive 0:  received[b,n,g] = before[b,n,g] + sum_i p[i,j],  j = first_key + g
struct RelativeAttentionReceived {
  RelativeAttentionInputs inputs;  // as in the forward, without tiles
  ConstTensorView lse;             // as saved
  int64_t first_key = 0;           // R rows from this one on, 1 <= R, first_key + R <= M
  ConstTensorView before = {};     // [B, N, R] float32 in; or empty: zeros
  TensorView received;             // [B, N, R] float32 out, overwritten
};
void relative_attention_received(Queue& queue, const RelativeAttentionReceived& args);

// What determines the size of the backward's workspace: B, T, K, P, E, N, H and A. It does not shrink as K grows.
struct RelativeAttentionExtents {
  int64_t streams = 0;
  int64_t tgt_len = 0;
  int64_t keys = 0;
  int64_t positions = 0;  // 0: without r
  int64_t biases = 0;     // 0: without dbias and dgain
  int64_t heads = 0;
  int64_t d_head = 0;
  DType activations = DType::kFloat32;
  int64_t score_bytes = kScoreBytes;
};

// Elements of the backward's workspace on such a device.
int64_t relative_attention_workspace(const RelativeAttentionExtents& extents, DeviceKind device);

}  // namespace segue::kernels
