// Reads from the weights how many keys each head with a learned span gives some weight. This happens before a segment
// runs, so that no time goes to the other keys.
#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "core/attention/adaptive_span.h"
#include "kernels/queue.h"

namespace segue {

class LearnedSpanReader {
 public:
  // `parameters` are the model's and outlive it.
  LearnedSpanReader(const ModelConfig& model, Parameters& parameters);

  // Sets ReplayInfo::head_windows, rounded up to whole tiles; to nothing in a model without learned spans. On a GPU it
  // waits for all that was queued, of which the weights come.
  void read(kernels::Queue& queue, std::vector<int64_t>& windows);

 private:
  struct Layer {
    AdaptiveSpan span;
    ConstTensorView z;  // where the weights are
    OwnedTensor copy;   // on a GPU, for the host
  };
  std::vector<Layer> layers_;
  int64_t heads_;
  int64_t count_;  // of all layers' heads
};

}  // namespace segue
