// Warns when the loss stays far too high although it is still a number.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>

namespace segue {

// Looks at the losses of a process's steps, in nats per token, against loss_limit, the start being the mean of the
// first of them.
class HighLossWarning {
 public:
  explicit HighLossWarning(int64_t vocabulary) : vocabulary_(vocabulary) {}

  // A warning when this is the last of so many steps above the limit that it is no accident, or far above what a
  // uniform guess costs; the first time only.
  std::optional<std::string> take(int64_t step, double loss);

  // A warning when more than half of the last steps were above the limit.
  std::optional<std::string> at_end() const;

 private:
  // At ten times ln V the tokens that come have a probability of V^-10. First steps at a full rate reach a few times
  // ln V, and a model that is not lost comes back from there.
  static constexpr int kFar = 10;
  static constexpr int64_t kLong = 50;  // steps: what full rates before a warm-up do is overcome sooner
  double limit() const;

  int64_t vocabulary_;
  int64_t steps_ = 0;
  double start_ = 0.0;      // sum of the first losses
  int64_t above_ = 0;       // steps in a row
  int64_t first_step_ = 0;  // of these
  double last_ = 0.0;
  std::bitset<kLong> recent_;  // the last steps: above the limit
  bool has_warned_ = false;
};

}  // namespace segue
