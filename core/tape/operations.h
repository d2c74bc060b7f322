// The coarse operations a model is written in. Each records a forward and a backward on the tape.
//
// Rows are tokens: a value [B, T, D] is used as B*T rows of D where the operation works row by row.
#pragma once

#include <string>
#include <vector>

#include "core/tape/parameters.h"
#include "core/tape/tape.h"
#include "kernels/distance_curve.h"
#include "kernels/feed_forward.h"
#include "kernels/pool_rows.h"
#include "kernels/rotary.h"

namespace segue {

// scale * table[tokens - first_token], with dropout: [B, T] -> [B, T, E], or [R] -> [R, E]. The table may hold a part
// of the vocabulary: the rows of other tokens are zero.
struct Lookup {
  int64_t first_token = 0;
  int64_t vocabulary = 0;  // how many tokens there are; 0: the table has all
  float scale = 1.0F;
  DropoutSite dropout = {};
};
Value embed(Tape& tape, Slot tokens, const Parameter& table, const Lookup& lookup);

// Rows of a table that is no parameter: indices [B, T] and a table [V, E] of activations -> [B, T, E]. No gradient.
Value look_up(Tape& tape, Slot indices, Slot table);

// Biases by distance: buckets [E] int32 and a table [R, N] -> [N, E] float32, whatever activations are.
Value bucket_bias(Tape& tape, Slot buckets, const Parameter& table);

// A curve of distance for every head: alpha and beta [N] -> [N, E] float32, column d for distance d.
struct DistanceCurve {
  kernels::CurveFormula formula;
  Parameter alpha, beta;  // no beta with kSpan
  kernels::SpanExtents span = {};
};
Value distance_curve(Tape& tape, const DistanceCurve& curve, int64_t distances);

// The sum of biases by distance, [N, E] float32 both.
Value sum_of_biases(Tape& tape, const Value& a, const Value& b);

// x · Wᵀ: [..., in] -> [..., out] for a weight [out, in].
Value linear(Tape& tape, const Value& x, const Parameter& weight);

// The sum of several such products, at least one.
struct Product {
  Value x;
  Parameter weight;
};
Value linear_sum(Tape& tape, const std::vector<Product>& products);

// x · W: [..., in] -> [..., out] for a weight [in, out].
Value linear_transposed(Tape& tape, const Value& x, const Parameter& weight);

Value dropout(Tape& tape, const Value& x, const DropoutSite& site);

// Rows [first, first + count) of every stream of a value [B, T, D].
struct StreamRows {
  Value from;
  int64_t first = 0;
  int64_t count = 0;
};
// Those of several values one after another: [B, sum of counts, D]. All rows of one value are that value. No gradient
// where none of them has one.
Value join_rows(Tape& tape, std::vector<StreamRows> parts);

// The last `count` rows of every stream: [B, T, D] -> [B, count, D].
Value newest_rows(Tape& tape, const Value& x, int64_t count);

// Such rows of one value, copied whatever they are.
Value copied_rows(Tape& tape, const StreamRows& rows);

// Columns [first, first + count) of x, copied: [B, T, D] -> [B, T, count]. Where x has a gradient, something recorded
// later overwrites all of it.
Value columns_of(Tape& tape, const Value& x, int64_t first, int64_t count);

// The same elements in another shape and in their place, of a tensor that is not bound. No other use of x may have its
// gradient.
Value reshaped(Tape& tape, const Value& x, const Shape& shape);

// Every `size` rows of a stream pooled into one: [B, R, D] -> [B, R / size, D]. No gradient.
Value pool_rows(Tape& tape, const Value& x, int64_t size, kernels::Pooling pooling);

// The `kept` rows of every stream that received most: [B, R, D] and [B, N, R] float32 -> [B, kept, D]. No gradient.
Value most_used_rows(Tape& tape, const Value& x, Slot received, int64_t kept);

// max(0, x).
Value rectify(Tape& tape, const Value& x);

// How far a value is from a constant of its shape, in mean squares, stream by stream: in `sums` [B] float32, where the
// first one overwrites and others add. The gradient is that of `weight` times the mean over all streams of the batch.
struct Distance {
  Value constant;
  Value x;
  double weight = 1.0;
};
void add_distance(Tape& tape, const Distance& distance, Slot sums, bool is_first);

// The vectors of x, [B, T, G*H] for a `head` H, turned by their positions and, unless x is bound, in its place: nothing
// recorded later may read x. `turn.first_position` counts from the segment's first token.
Value rotary(Tape& tape, const Value& x, int64_t head, const kernels::RotaryTurn& turn);

// A residual: the sum of all branches so far, and one not yet added: sum + dropout(branch). The branch may be missing.
// Between reversible layers `sum` is the stream that attention reads, and `beside` the one that it adds to.
struct Residual {
  Value sum;
  Value branch;
  DropoutSite site;
  Value beside = {};
};

struct LayerNormParameters {
  Parameter gain, bias;
  float epsilon = 1e-5F;
  LayerNormParameters constant() const { return {gain.constant(), bias.constant(), epsilon}; }
};

// Parameters of the layer norm `name`, [D] each.
void declare_layer_norm(const std::string& name, int64_t d_model, std::vector<ParameterSpec>& specs);
LayerNormParameters layer_norm(Parameters& parameters, const std::string& name, double epsilon);

// Layer norm of the residual sum, and the sum itself, which later branches are added to (pre-norm).
struct NormalisedResidual {
  Value sum;
  Value normalised;
};
NormalisedResidual add_and_normalise(Tape& tape, const Residual& residual, const LayerNormParameters& norm);

// Layer norm of the residual sum, which nothing else reads (post-norm), or of rows without a branch.
Value normalise(Tape& tape, const Residual& residual, const LayerNormParameters& norm);

// The residual sum alone.
Value add(Tape& tape, const Residual& residual);

struct FeedForwardParameters {
  Parameter w1, b1, w2, b2;
  kernels::Activation activation = kernels::Activation::kRelu;
};
Value feed_forward(Tape& tape, const Value& x, const FeedForwardParameters& parameters, const DropoutSite& site);

// What is asked of every target.
struct TokenTargets {
  Slot tokens;           // [B, T] int32, -1 where not scored
  bool margins = false;  // beside the losses
};

// What is known of them; kept after a replay.
struct TokenLoss {
  Slot nll;     // [B*T] nats, 0 where not scored
  Slot margin;  // [B*T]: see kernels/cross_entropy.h; none if not asked for, or of heads that cannot tell
};

// Cross-entropy of logits [B, T, V] against targets [B, T]. Its backward starts from ReplayInfo::loss_scale.
TokenLoss cross_entropy(Tape& tape, const Value& logits, const Parameter& bias, const TokenTargets& targets);

}  // namespace segue
