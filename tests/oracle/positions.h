// Every kind of position by its formula: what is added to embeddings, what queries meet keys
// with, and how both are turned.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/model_config.h"
#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/oracle/distance_curve.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/rotary.h"

namespace segue::oracle {

template <typename Scalar>
class Positions {
 public:
  using Rows = std::vector<Scalar>;
  using Weights = std::map<std::string, Rows>;

  Positions(const ModelConfig& config, const Weights& weights) : config_(config), weights_(weights) {}

  // Absolute kinds: each embedded token gets what stands for its position. Positions begin anew every `tgt_len`; 0:
  // never.
  void add_positions(Rows& embedded, int64_t tgt_len) const {
    const int64_t width = config_.d_model;
    for (size_t i = 0; i < embedded.size(); ++i) {
      const int64_t token = static_cast<int64_t>(i) / width;
      const int64_t column = static_cast<int64_t>(i) % width;
      const int64_t position = tgt_len > 0 ? token % tgt_len : token;
      if (kind() == PositionKind::kSinusoidal) embedded[i] += sinusoid(position, column);
      if (kind() == PositionKind::kLearned) embedded[i] += weight("embedding.places")[position * width + column];
    }
  }

  // Relative: row d, the sinusoids of the distance that d counts as, under a mask of [K, D].
  Rows encoded_distances(int64_t keys, const std::vector<double>& multipliers) const {
    if (kind() != PositionKind::kRelative) return {};
    const int64_t width = config_.d_model;
    Rows encoding;
    for (int64_t d = 0; d < keys; ++d) {
      for (int64_t c = 0; c < width; ++c)
        encoding.push_back(multipliers[clamped(d) * width + c] * sinusoid(clamped(d), c));
    }
    return encoding;
  }

  // Row d: what a key at distance d is met with, [K, N*H]; a table of Shaw's may end where no query sees a key.
  Rows distance_rows(const std::string& prefix, int64_t keys, const Rows& encoding) const {
    const int64_t width = config_.n_head * config_.d_head;
    if (kind() == PositionKind::kRelative)
      return matmul({keys, width, config_.d_model}, encoding, false, weight(prefix + "r"), true);
    Rows rows(keys * width);
    if (kind() != PositionKind::kShaw) return rows;
    for (int64_t d = 0; d < keys; ++d) {
      const int64_t row = std::min(clamped(d), config_.position.max_positions - 1);
      std::copy_n(weight(prefix + "distances").begin() + row * width, width, rows.begin() + d * width);
    }
    return rows;
  }

  // Rope: queries and keys of rows [K, 3, N, H], the `memory` first ones from before the segment, by their positions.
  Rows turned(Rows qkv, int64_t memory) const {
    if (kind() != PositionKind::kRope) return qkv;
    return rotary(std::move(qkv), {.vectors = 3 * config_.n_head,
                                   .head = config_.d_head,
                                   .heads = 2 * config_.n_head,
                                   .width = rotary_width(config_),
                                   .base = config_.position.rotary_base,
                                   .first_position = -memory,
                                   .scaling = config_.position.rotary_scaling});
  }

  // Column d: what is added to the scores of keys at distance d, [N, K].
  Rows distance_biases(const std::string& prefix, int64_t keys) const {
    const std::string tied = config_.position.untie_r ? prefix : "attention.";
    if (kind() == PositionKind::kKerple)
      return distance_curves(CurveFormula::kLogarithm, weight(tied + "log_r1"), weight(tied + "log_r2"),
                             static_cast<size_t>(keys));
    Rows biases(config_.n_head * keys);
    for (int64_t e = 0; e < config_.n_head * keys; ++e) {
      const int64_t head = e / keys;
      const int64_t distance = e % keys;
      if (kind() == PositionKind::kAlibi) biases[e] = -slopes(config_.n_head)[head] * static_cast<double>(distance);
      if (kind() == PositionKind::kT5) biases[e] = weight(tied + "buckets")[bucket(distance) * config_.n_head + head];
    }
    return biases;
  }

  // Column d: the logarithm of the share of its weight that a key at distance d keeps, [N, K]; nothing without learned
  // spans.
  Rows log_of_span_masks(const std::string& prefix, int64_t keys) const {
    const VisibilityConfig& visibility = config_.visibility;
    if (visibility.kind != VisibilityKind::kAdaptive) return Rows(config_.n_head * keys);
    return distance_curves(
        CurveFormula::kSpan, weight(prefix + "span"), {}, static_cast<size_t>(keys),
        {.longest = static_cast<double>(visibility.span), .ramp = static_cast<double>(visibility.ramp)});
  }

  // Column d: what rectified scores of keys at distance d are multiplied by, [N, K]; of other kinds, nothing.
  Rows distance_gains(const std::string& prefix, int64_t keys) const {
    if (kind() != PositionKind::kDistanceAware) return {};
    return distance_curves(CurveFormula::kSigmoid, weight(prefix + "alpha"), weight(prefix + "beta"),
                           static_cast<size_t>(keys));
  }

  // u or w, [N, H].
  Rows bias(const std::string& prefix, const std::string& name) const {
    if (kind() != PositionKind::kRelative) return Rows(config_.n_head * config_.d_head);
    return weight((config_.position.untie_r ? prefix : "attention.") + name);
  }

 private:
  PositionKind kind() const { return config_.position.kind; }
  const Rows& weight(const std::string& name) const { return weights_.at(name); }

  // ALiBi's, a geometric sequence for a power of two; otherwise that of the power below, and every other one of twice
  // as many heads.
  static std::vector<double> slopes(int64_t heads) {
    const int64_t power = int64_t{1} << static_cast<int64_t>(std::log2(static_cast<double>(heads)));
    const double ratio = std::pow(2.0, -8.0 / static_cast<double>(power));
    std::vector<double> all(1, ratio);
    while (static_cast<int64_t>(all.size()) < power) all.push_back(all.back() * ratio);
    if (power == heads) return all;
    const std::vector<double> twice = slopes(2 * power);
    for (int64_t h = 0; power + h < heads; ++h) all.push_back(twice[2 * h]);
    return all;
  }

  // T5's: the last one that begins at d or before; those of the second half begin at growing distances.
  int64_t bucket(int64_t d) const {
    const auto exact = static_cast<double>(config_.position.t5_buckets / 2);
    const double growing = static_cast<double>(config_.position.t5_buckets) - exact;
    const double ratio = static_cast<double>(config_.position.t5_max_distance) / exact;
    int64_t last = 0;
    for (int64_t b = 1; b < config_.position.t5_buckets; ++b) {
      const auto number = static_cast<double>(b);
      const double first = number <= exact ? number : exact * std::pow(ratio, (number - exact) / growing);
      if (first <= static_cast<double>(d) + 1e-7) last = b;
    }
    return last;
  }

  // The distance that d counts as.
  int64_t clamped(int64_t d) const {
    return config_.position.clamp_len > 0 ? std::min(d, config_.position.clamp_len) : d;
  }

  // Sines in the first half of the columns, then cosines.
  double sinusoid(int64_t position, int64_t column) const {
    const int64_t width = config_.d_model;
    const double exponent = 2.0 * static_cast<double>(column % (width / 2)) / static_cast<double>(width);
    const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
    return column < width / 2 ? std::sin(angle) : std::cos(angle);
  }

  const ModelConfig& config_;
  const Weights& weights_;
};

}  // namespace segue::oracle
