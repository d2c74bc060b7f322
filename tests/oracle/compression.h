// A memory that compresses, one stream at a time: what becomes of rows, and the loss of that (Rae et al. 2019, 3.1 and
// 3.2; docs/numerics.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "core/config/model_config.h"
#include "tests/oracle/kinds_of_memory.h"
#include "tests/oracle/layer_norm.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/most_used_rows.h"
#include "tests/oracle/residual_gate.h"

namespace segue::oracle {

// One layer's; `Weights` maps names to vectors of Scalar, that of what learns. Everything else is a constant.
template <typename Scalar, typename Weights>
class Compression {
 public:
  using Rows = std::vector<Scalar>;
  using Constants = std::vector<double>;

  Compression(const ModelConfig& model, int64_t layer, const Weights& weights)
      : model_(model),
        prefix_("layers." + std::to_string(shares_weights(model) ? 0 : layer) + "."),
        weights_(weights) {}

  // [R, D] and what attention these received [R] -> [R / c, D]
  Rows compressed(const Constants& rows, const Constants& received) const {
    Rows left(rows.begin(), rows.end());
    const int64_t rate = model_.memory.compression_rate;
    switch (model_.memory.compression) {
      case CompressionKind::kMean:
      case CompressionKind::kMax:
        return pooled(left, rate, model_.memory.compression == CompressionKind::kMean);
      case CompressionKind::kConvolution:
        return mapped(left, rate, "");
      case CompressionKind::kMostUsed:
        return chosen(left, most_used(received, static_cast<int64_t>(received.size()) / rate));
      case CompressionKind::kDilatedConvolution:
        break;
    }
    int64_t number = 0;
    for (int64_t size = rate; size > 1; size /= 2) {
      for (Scalar& element : left)
        if (number > 0 && std::real(element) <= 0.0) element = 0.0;
      left = mapped(left, 2, std::to_string(number++) + ".");
    }
    return left;
  }

  // The loss of rows [R, D] that became `compressed` while the layer's inputs were `inputs` [T, D].
  Scalar loss(const Constants& inputs, const Constants& rows, const Rows& compressed) const {
    const Rows old(rows.begin(), rows.end());
    switch (reconstruction_of(model_)) {
      case ReconstructionKind::kAttention:
        return distance(attended(inputs, compressed), attended(inputs, old));
      case ReconstructionKind::kAutoEncoding: {
        const int64_t width = model_.d_model;
        return distance(matmul<Scalar>({size(compressed) / width, model_.memory.compression_rate * width, width},
                                       compressed, false, weights_.at(prefix_ + "memory.decoder"), true),
                        old);
      }
      case ReconstructionKind::kAuto:
      case ReconstructionKind::kNone:
        break;
    }
    return 0.0;
  }

 private:
  static int64_t size(const Rows& rows) { return static_cast<int64_t>(rows.size()); }

  Rows pooled(const Rows& rows, int64_t rate, bool is_mean) const {
    const int64_t width = model_.d_model;
    Rows pooled(rows.size() / rate);
    for (int64_t g = 0; g < size(pooled) / width; ++g) {
      for (int64_t d = 0; d < width; ++d) {
        Scalar sum = 0.0, largest = rows[g * rate * width + d];
        for (int64_t i = 0; i < rate; ++i) {
          const Scalar element = rows[(g * rate + i) * width + d];
          sum += element;
          if (std::real(element) > std::real(largest)) largest = element;
        }
        pooled[g * width + d] = is_mean ? sum / static_cast<double>(rate) : largest;
      }
    }
    return pooled;
  }

  Rows chosen(const Rows& rows, const std::vector<int64_t>& numbers) const {
    Rows chosen;
    for (const int64_t row : numbers)
      chosen.insert(chosen.end(), rows.begin() + row * model_.d_model, rows.begin() + (row + 1) * model_.d_model);
    return chosen;
  }

  Rows mapped(const Rows& rows, int64_t count, const std::string& name) const {
    const Rows& weight = weights_.at(prefix_ + "memory." + name + "weight");
    const Rows& bias = weights_.at(prefix_ + "memory." + name + "bias");
    const int64_t width = model_.d_model;
    Rows to(rows.size() / count);
    for (int64_t e = 0; e < size(to); ++e) {
      const int64_t group = e / width, d = e % width;
      to[e] = bias[d];
      for (int64_t i = 0; i < count * width; ++i)
        to[e] += weight[d * count * width + i] * rows[group * count * width + i];
    }
    return to;
  }

  Rows constant(const std::string& name) const {
    Rows real;
    for (const Scalar& element : weights_.at(prefix_ + name)) real.push_back(std::real(element));
    return real;
  }

  Rows as_read(const Rows& rows) const {
    if (!normalises_first(model_)) return rows;
    return layer_norm(rows, constant("attention.norm.gain"), constant("attention.norm.bias"),
                      model_.block.layer_norm_epsilon)
        .y;
  }

  // What every head of every input gets of the rows, by content alone.
  Rows attended(const Constants& inputs, const Rows& rows) const {
    const int64_t heads = model_.n_head, width = model_.d_head, all = heads * width;
    const Rows qkv = constant("attention.qkv");
    const auto project = [&](const Rows& from, int64_t part) {
      const Rows weight(qkv.begin() + part * all * model_.d_model, qkv.begin() + (part + 1) * all * model_.d_model);
      return matmul<Scalar>({size(from) / model_.d_model, all, model_.d_model}, from, false, weight, true);
    };
    const Rows q = project(as_read({inputs.begin(), inputs.end()}), 0);
    const Rows k = project(as_read(rows), 1), v = project(as_read(rows), 2);
    Rows out(q.size());
    for (int64_t i = 0; i < size(q) / all; ++i) {
      for (int64_t n = 0; n < heads; ++n) {
        Rows weight(size(k) / all);
        Scalar sum = 0.0;
        for (int64_t j = 0; j < size(weight); ++j) {
          Scalar score = 0.0;
          for (int64_t h = 0; h < width; ++h) score += q[i * all + n * width + h] * k[j * all + n * width + h];
          sum += weight[j] = std::exp(score / std::sqrt(static_cast<double>(width)));
        }
        for (int64_t j = 0; j < size(weight); ++j)
          for (int64_t h = 0; h < width; ++h)
            out[i * all + n * width + h] += weight[j] / sum * v[j * all + n * width + h];
      }
    }
    return out;
  }

  static Scalar distance(const Rows& a, const Rows& b) {
    Scalar sum = 0.0;
    for (size_t e = 0; e < a.size(); ++e) sum += (a[e] - b[e]) * (a[e] - b[e]);
    return sum / static_cast<double>(a.size());
  }

  const ModelConfig& model_;
  std::string prefix_;
  const Weights& weights_;
};

// A layer's memory [compressed; rows] once `inputs` [T, D] came, and the rows that these pushed out: one group after
// the other, as long as more than M + c - 1 rows would stand. `received`: of the memory's rows, where it is known.
struct CompressedUpdate {
  std::vector<double> memory, pushed_out, received;  // the last of those that were pushed out
  int64_t compressed = 0;
};
template <typename Weights>
CompressedUpdate compressed_update(const ModelConfig& model, int64_t layer, const Weights& weights,
                                   const std::vector<double>& memory, int64_t compressed,
                                   const std::vector<double>& inputs, const std::vector<double>& received) {
  const int64_t width = model.d_model, rate = model.memory.compression_rate;
  const Compression<double, Weights> compression(model, layer, weights);
  std::vector<double> small(memory.begin(), memory.begin() + compressed * width);
  std::vector<double> rows(memory.begin() + compressed * width, memory.end());
  rows.insert(rows.end(), inputs.begin(), inputs.end());
  CompressedUpdate updated;
  while (static_cast<int64_t>(rows.size()) / width > model.mem_len + rate - 1) {
    const std::vector<double> group(rows.begin(), rows.begin() + rate * width);
    rows.erase(rows.begin(), rows.begin() + rate * width);
    updated.pushed_out.insert(updated.pushed_out.end(), group.begin(), group.end());
  }
  const int64_t left = static_cast<int64_t>(updated.pushed_out.size()) / width;
  if (!received.empty()) updated.received.assign(received.begin() + compressed, received.begin() + compressed + left);
  const std::vector<double> few = compression.compressed(updated.pushed_out, updated.received);
  small.insert(small.end(), few.begin(), few.end());
  const int64_t beyond = std::max<int64_t>(static_cast<int64_t>(small.size()) / width - model.memory.compressed_len, 0);
  small.erase(small.begin(), small.begin() + beyond * width);
  updated.compressed = static_cast<int64_t>(small.size()) / width;
  updated.memory = small;
  updated.memory.insert(updated.memory.end(), rows.begin(), rows.end());
  return updated;
}

}  // namespace segue::oracle
