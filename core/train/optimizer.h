// The optimizer: global-norm clipping and the update of all parameters at once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/config/config.h"
#include "core/model/parameters.h"
#include "core/train/ordered_collectives.h"
#include "distributed/buckets.h"
#include "kernels/stream.h"

namespace segue {

// Adam or AdamW. Owns the two moments, laid out as the flat parameters are; or, when it is sharded, its rank's part of
// them: then it updates a part of every bucket and gets the rest from the other ranks (stage 1 of ZeRO: Rajbhandari et
// al. 2020). Everything passed in outlives it.
class Optimizer {
 public:
  Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream);

  // Sharded: `buckets` of the flat gradients have a part for every rank.
  Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream, const Buckets& buckets,
            Communicator& communicator);

  // What a rank holds: the moments and, when the buckets have parts, the sums of its own.
  static int64_t bytes(const Buckets& buckets);

  bool is_sharded() const { return sharding_.has_value(); }
  // Where the sums of this rank's parts of the gradients are expected, one behind the other; empty when not sharded:
  // then the parameters' own gradients are read.
  TensorView gradient_shard() { return gradient_shard_.view(); }

  // Queues a step: clips the gradients to `clip` by their global norm (coefficient min(1, clip / (norm + 1e-6))) and
  // updates the parameters and their compute copy. Without effect on them when the norm is not finite, but counted.
  void step(double learning_rate);

  // Of the last step: the norm before clipping and the coefficient, [2] float64 where the stream runs.
  ConstTensorView outcome() const { return clipped_.view(); }
  double norm() const;  // waits

  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

  // This rank's parts.
  TensorView first_moment() { return first_moment_.view(); }
  TensorView second_moment() { return second_moment_.view(); }

  // A moment, laid out as the flat parameters are, on the CPU of the first rank; nothing on the others. Called by all.
  std::optional<HostTensor> collect(ConstTensorView moment);
  // The other way: takes this rank's parts from flat moments on the CPU; waits.
  void restore(ConstTensorView flat_first_moment, ConstTensorView flat_second_moment);

 private:
  // Elements that are updated together: where the parameters lie, and where the moments.
  struct Piece {
    Share flat;
    Share own;
  };
  struct Sharding {
    Buckets buckets;
    Communicator& communicator;
    OrderedCollectives collectives;
  };
  Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream, std::vector<Piece> pieces);
  void update(const Piece& piece, ConstTensorView gradients, double learning_rate);
  void gather(TensorView flat);

  OptimizerConfig config_;
  Parameters& parameters_;
  kernels::Stream& stream_;
  std::vector<Piece> pieces_;
  OwnedTensor first_moment_;
  OwnedTensor second_moment_;
  OwnedTensor norm_parts_;  // scratch
  OwnedTensor clipped_;     // norm and scale of the last step
  OwnedTensor gradient_shard_;
  std::optional<Sharding> sharding_;
  int64_t steps_ = 0;
};

}  // namespace segue
