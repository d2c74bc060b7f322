#include "core/train/high_loss_warning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/evaluation/loss_limit.h"

namespace segue {

double HighLossWarning::limit() const {
  return loss_limit(vocabulary_, start_ / static_cast<double>(std::min(steps_, kLong)));
}

std::optional<std::string> HighLossWarning::take(int64_t step, double loss) {
  if (steps_++ < kLong) start_ += loss;
  last_ = loss;
  recent_ <<= 1;
  recent_[0] = loss > limit();
  const double uniform = std::log(static_cast<double>(vocabulary_));
  if (vocabulary_ > 1 && loss > kFar * uniform && !has_warned_) {
    has_warned_ = true;
    return fmt::format(
        "step {}: the loss is {:.4g}, more than {} times what a uniform guess costs, {:.3f}: lower optimizer.lr, or "
        "look at the data",
        step, loss, kFar, uniform);
  }
  if (!recent_[0]) {
    above_ = 0;
    return std::nullopt;
  }
  if (++above_ == 1) first_step_ = step;
  if (above_ < kLong || has_warned_) return std::nullopt;
  has_warned_ = true;
  return fmt::format(
      "the loss has been above {:.3f} since step {}, now {:.4g}: a uniform guess costs {:.3f}; lower "
      "optimizer.lr, or look at the data",
      limit(), first_step_, loss, uniform);
}

std::optional<std::string> HighLossWarning::at_end() const {
  const auto above = static_cast<int64_t>(recent_.count());
  const int64_t steps = std::min(steps_, kLong);
  if (2 * above <= steps) return std::nullopt;
  return fmt::format(
      "training has failed: it ends with a loss of {:.4g}, above {:.3f} in {} of the last {} steps, where a uniform "
      "guess costs {:.3f}",
      last_, limit(), above, steps, std::log(static_cast<double>(vocabulary_)));
}

}  // namespace segue
