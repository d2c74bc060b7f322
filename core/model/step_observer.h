// Who asks how long each part of a step takes: measurements do. Without one a part costs a branch.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace segue {

// Of matrix products, as the formula needs them: a multiply-add counts as two, masked scores and what is computed twice
// count nothing.
struct Flops {
  double forward = 0.0;
  double backward = 0.0;
};

struct StepPart {
  std::string name;
  std::string pass;    // "forward", "backward"; "" of what has no direction
  double flops = 0.0;  // 0: no products
  double bytes = 0.0;  // of the activations or parameters that it goes through, each read or written once
};

// Told after each part, where work has finished when its call returns: on the CPU.
using StepObserver = std::function<void(const StepPart& part, double seconds)>;

template <typename Describe, typename Run>
void observed(const StepObserver& observer, const Describe& describe, const Run& run) {
  if (!observer) return run();
  const auto start = std::chrono::steady_clock::now();
  run();
  observer(describe(), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace segue
