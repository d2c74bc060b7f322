// The unit in which losses are shown: bits per byte where all of them are known so, otherwise nats per token, or per
// masked token of masked models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/report/run_data.h"

namespace segue::report {

class LossUnit {
 public:
  explicit LossUnit(bool per_byte, bool is_masked = false) : per_byte_(per_byte), is_masked_(is_masked) {}
  bool per_byte() const { return per_byte_; }
  std::string name() const {
    return per_byte_ ? "bits per byte" : is_masked_ ? "nats per masked token" : "nats per token";
  }

  double of(double loss, const std::optional<double>& bits_per_byte) const {
    return per_byte_ ? bits_per_byte.value_or(loss) : loss;
  }
  // The value of one nat per token in this unit, where a mean loss is known in both.
  double scale(double loss, const std::optional<double>& bits_per_byte) const {
    return per_byte_ && bits_per_byte && loss > 0.0 ? *bits_per_byte / loss : 1.0;
  }
  // The same of some tokens, which stand for so many bytes of text; by the mean loss of all where that is not known.
  double scale(int64_t tokens, int64_t bytes, double loss, const std::optional<double>& bits_per_byte) const;
  // Half the width of an interval: `bits95` in bits per byte where that is shown and known, else `confidence95`, which
  // is in nats per token, by the scale.
  double spread(double confidence95, const std::optional<double>& bits95, double scale) const {
    return per_byte_ && bits95 ? *bits95 : confidence95 * scale;
  }
  // "1.9214 bits per byte"
  std::string text(double value) const;

 private:
  bool per_byte_, is_masked_;
};

LossUnit unit_of_training(const std::vector<RunData>& runs);
LossUnit unit_of_evaluations(const std::vector<RunData>& runs);

}  // namespace segue::report
