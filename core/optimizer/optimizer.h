// The optimizer: global-norm clipping and the update of all parameters at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "core/optimizer/bounded_parameters.h"
#include "core/optimizer/ordered_collectives.h"
#include "core/optimizer/update_rule.h"
#include "core/tape/parameters.h"
#include "core/tape/step_observer.h"
#include "distributed/buckets.h"
#include "kernels/queue.h"

namespace segue {

// Clips, and updates by the rule of `config.kind`. Owns the moments of the rule, laid out as the flat parameters are;
// or, when it is sharded, its rank's part of them: then it updates a part of every bucket and gets the rest from the
// other ranks (stage 1 of ZeRO: Rajbhandari et al. 2020). Everything passed in outlives it.
class Optimizer {
 public:
  Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Queue& queue);

  // Sharded: `buckets` of the flat gradients have a part for every rank.
  Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Queue& queue, const Buckets& buckets,
            Collectives& collectives);
  ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // The bytes that a rank holds: the moments and, when the buckets have parts, the sums of its own.
  static int64_t bytes(const OptimizerConfig& config, const Buckets& buckets);

  const OptimizerConfig& config() const { return config_; }
  bool is_sharded() const { return sharding_.has_value(); }
  // Where the sums of this rank's parts of the gradients are expected, one behind the other; empty when not sharded:
  // then the parameters' own gradients are read.
  TensorView gradient_shard() { return gradient_shard_.view(); }

  // Queues a step: adds penalties to the gradients of bounded parameters, clips all to `clip` by their global norm
  // (coefficient min(1, clip / (norm + 1e-6))), updates the parameters and their compute copy, and brings bounded ones
  // back into their ranges. Without effect on them when the norm is not finite, but counted.
  void step(double learning_rate);

  void observe(StepObserver* observer) { observer_ = observer; }

  // The outcome of the last step: the norm before clipping and the coefficient, [2] float64 on the device.
  ConstTensorView outcome() const { return clipped_.view(); }
  double norm() const;  // waits

  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

  // As many as moment_names(config) says, in its order: this rank's parts.
  size_t moments() const { return moments_.size(); }
  TensorView moment(size_t i) { return moments_[i].view(); }

  // A moment, laid out as the flat parameters are, on the CPU of the first rank; nothing on the others. Called by all.
  std::optional<HostTensor> collect_moment(size_t i);
  // The other way: takes this rank's parts from a flat moment on the CPU; waits.
  void restore_moment(size_t i, ConstTensorView flat);

 private:
  struct Sharding {
    Buckets buckets;
    Collectives& collectives;
    OrderedCollectives ordered;
  };
  Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Queue& queue, std::vector<Piece> pieces,
            std::optional<Sharding> sharding);
  void clip(ConstTensorView gradients);
  void gather(TensorView flat);
  double bytes_of_update() const;

  OptimizerConfig config_;
  Parameters& parameters_;
  kernels::Queue& queue_;
  std::vector<Piece> pieces_;
  std::optional<Sharding> sharding_;
  std::vector<OwnedTensor> moments_;
  OwnedTensor norm_parts_;  // scratch
  OwnedTensor clipped_;     // norm and scale of the last step
  OwnedTensor gradient_shard_;
  BoundedParameters bounded_;
  std::unique_ptr<UpdateRule> rule_;
  StepObserver* observer_ = nullptr;
  int64_t steps_ = 0;
};

}  // namespace segue
