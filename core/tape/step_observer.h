// Lets measurements time each part of a training step. Without an observer a part costs one branch.
#pragma once

#include <string>

namespace segue {

// The operations that matrix products need by their formula: a multiply-add counts as two, masked scores and
// recomputation count nothing.
struct Flops {
  double forward = 0.0;
  double backward = 0.0;
};

struct StepPart {
  std::string name;
  std::string pass;    // "forward", "recompute", "backward"; "" of what has no direction
  double flops = 0.0;  // 0: no products
  double bytes = 0.0;  // of the activations or parameters that it goes through, each read or written once
};

// Called before each part, and after it: when it is done on the CPU, when it is queued on a GPU. Parts do not overlap.
class StepObserver {
 public:
  StepObserver() = default;
  virtual ~StepObserver() = default;
  StepObserver(const StepObserver&) = delete;
  StepObserver& operator=(const StepObserver&) = delete;

  virtual void begin() = 0;
  virtual void end(StepPart part) = 0;
};

template <typename Describe, typename Run>
void observed(StepObserver* observer, const Describe& describe, const Run& run) {
  if (observer == nullptr) return run();
  observer->begin();
  run();
  observer->end(describe());
}

}  // namespace segue
