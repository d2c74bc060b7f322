// A training step on random tokens: the parts that the trainer has, without data, reports and checkpoints.
#pragma once

#include <vector>

#include "core/bench/workbench.h"
#include "core/config/config.h"
#include "core/engine/segment_engine.h"
#include "core/optimizer/optimizer.h"
#include "core/train/stream_group.h"

namespace segue {

class TrainingStep {
 public:
  // Trains the streams of one rank. Device and precision are those of the workbench, whatever the config says.
  TrainingStep(Workbench& workbench, const Config& config, int64_t vocab_size, const Share& streams);

  int64_t reserve();                     // the bytes of the activations
  Flops flops();                         // of all streams of the rank
  void observe(StepObserver* observer);  // null: nobody
  void fill_memory();

  // Forward and backward of all streams, clip and update; between them what `between` does. `progress` hears of the
  // last backward.
  void run(const Tape::GradientProgress& progress = nullptr, const std::function<void()>& between = nullptr);

  double gradient_norm() const { return optimizer_.norm(); }
  int64_t parameters() const { return parameters_.count(); }
  TensorView gradients() { return parameters_.gradients(); }

 private:
  SegmentInputs inputs_of(const StreamGroup& group) const;

  const Config& config_;
  kernels::Queue& queue_;
  Transformer model_;
  Parameters parameters_;
  Optimizer optimizer_;
  Arena arena_;
  SegmentEngine engine_;
  std::vector<StreamGroup> groups_;
  Share streams_;
  OwnedTensor tokens_;
  OwnedTensor targets_;
  StepObserver* observer_ = nullptr;
};

}  // namespace segue
