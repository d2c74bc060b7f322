// Relative attention from plain operations in float32: matrix products, a shift and a softmax on [T, K] scores; or the
// same in bfloat16, every tensor on the way rounded.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/bfloat16.h"
#include "tests/kernels/relative_attention_problem.h"

namespace segue::kernels {

using Floats = std::vector<float>;

// One stream and head, everything materialised.
class UnfusedHead {
 public:
  UnfusedHead(const AttentionProblem& x, const std::vector<double>& multipliers, int64_t b, int64_t n)
      : c_(x.extents),
        b_(b),
        n_(n),
        rounds_(c_.dtype == DType::kBFloat16),
        scale_(1.0F / std::sqrt(static_cast<float>(c_.h))),
        m_(size(c_.t * c_.keys())) {
    std::transform(multipliers.begin() + (b * c_.n + n) * c_.t * c_.keys(),
                   multipliers.begin() + (b * c_.n + n + 1) * c_.t * c_.keys(), m_.begin(),
                   [](double m) { return static_cast<float>(m); });
    const auto gather = [&](Floats& to, const TestTensor& from, int64_t row) {
      for (int64_t h = 0; h < c_.h; ++h) to.push_back(element_of(from, (row * c_.n + n) * c_.h + h));
    };
    for (int64_t j = 0; j < c_.keys(); ++j) {
      const int64_t i = j - c_.m;
      gather(k_, i < 0 ? x.memory_kv : x.qkv, i < 0 ? (b * c_.m + j) * 2 : (b * c_.t + i) * 3 + 1);
      gather(v_, i < 0 ? x.memory_kv : x.qkv, i < 0 ? (b * c_.m + j) * 2 + 1 : (b * c_.t + i) * 3 + 2);
    }
    for (int64_t d = 0; d < c_.positions(); ++d) gather(r_, x.r, d);
    for (int64_t e = 0; e < c_.e; ++e) bias_.push_back(x.bias.as<float>()[n * c_.e + e]);
    for (int64_t e = 0; e < c_.g; ++e) gain_.push_back(x.gain.as<float>()[n * c_.g + e]);
    dbias.resize(bias_.size());
    dgain.resize(gain_.size());
    for (int64_t i = 0; i < c_.t; ++i) {
      gather(qu_, x.qkv, (b * c_.t + i) * 3);
      gather(doutput_, x.doutput, b * c_.t + i);
    }
    qw_ = qu_;
    for (int64_t e = 0; e < c_.t * c_.h; ++e) {
      if (x.u.shape().elements() > 0) qu_[size(e)] += x.u.as<float>()[n * c_.h + e % c_.h];
      if (x.w.shape().elements() > 0) qw_[size(e)] += x.w.as<float>()[n * c_.h + e % c_.h];
    }
    settle(qu_);
    settle(qw_);
  }

  void forward() {
    p_ = score();
    for (int64_t i = 0; i < c_.t; ++i) {
      float* row = p_.data() + i * c_.keys();
      const float largest = *std::max_element(row, row + c_.keys());
      float sum = 0.0F;
      for (int64_t j = 0; j < c_.keys(); ++j) sum += row[j] = std::exp(row[j] - largest);
      for (int64_t j = 0; j < c_.keys(); ++j) row[j] /= sum;
    }
    settle(p_);
    output = product(dropped(), false, v_, false, c_.t, c_.h, c_.keys());
  }

  void backward() {
    Floats ds = product(doutput_, false, v_, true, c_.t, c_.keys(), c_.h);
    Floats dposition(size(c_.t * c_.positions()));
    for (int64_t i = 0; i < c_.t; ++i) {
      float delta = 0.0F;
      for (int64_t j = i * c_.keys(); j < (i + 1) * c_.keys(); ++j)
        delta += p_[size(j)] * (ds[size(j)] = round(ds[size(j)] * m_[size(j)]));
      for (int64_t j = 0; j < c_.keys(); ++j) {
        float& element = ds[size(i * c_.keys() + j)];
        float dscore = p_[size(i * c_.keys() + j)] * (element - delta);
        if (c_.e > 0 && sees(i, j)) dbias[size(at_bias(i, j))] += round(dscore);
        if (c_.g > 0 && sees(i, j)) {
          const float rectified = rectified_[size(i * c_.keys() + j)];
          dgain[size(at_gain(i, j))] += round(round(dscore) * rectified);
          dscore = rectified > 0.0F ? round(dscore) * gain_[size(at_gain(i, j))] : 0.0F;
        }
        element = round(scale_ * dscore);
        if (c_.has_distances && sees(i, j)) dposition[size(at_position(i, j))] += element;
      }
    }
    settle(dposition);
    dcontent_q = product(ds, false, k_, false, c_.t, c_.h, c_.keys());
    dposition_q = product(dposition, false, r_, false, c_.t, c_.h, c_.positions());
    dk = product(ds, true, qu_, false, c_.keys(), c_.h, c_.t);
    dv = product(dropped(), true, doutput_, false, c_.keys(), c_.h, c_.t);
    dr = product(dposition, true, qw_, false, c_.positions(), c_.h, c_.t);
  }

  Floats output, dcontent_q, dposition_q, dk, dv, dr, dbias, dgain;

 private:
  static size_t size(int64_t extent) { return static_cast<size_t>(extent); }
  bool sees(int64_t i, int64_t j) const { return c_.sees(b_, n_, i, j); }
  int64_t at_position(int64_t i, int64_t j) const {
    return i * c_.positions() + std::min(c_.m + i - j, c_.positions() - 1);
  }
  int64_t at_bias(int64_t i, int64_t j) const { return std::min(c_.m + i - j, c_.e - 1); }
  int64_t at_gain(int64_t i, int64_t j) const { return std::min(c_.m + i - j, c_.g - 1); }
  static float element_of(const TestTensor& tensor, int64_t e) {
    return tensor.view().dtype == DType::kFloat32 ? tensor.as<float>()[e]
                                                  : static_cast<float>(tensor.as<BFloat16>()[e]);
  }
  float round(float value) const { return rounds_ ? static_cast<float>(BFloat16(value)) : value; }
  void settle(Floats& values) const {
    for (float& value : values) value = round(value);
  }
  Floats score() {
    Floats scores = product(qu_, false, k_, true, c_.t, c_.keys(), c_.h);
    const Floats position = product(qw_, false, r_, true, c_.t, c_.positions(), c_.h);
    rectified_.resize(scores.size());
    for (int64_t i = 0; i < c_.t; ++i) {
      float* row = scores.data() + i * c_.keys();
      for (int64_t j = 0; j < c_.keys(); ++j) {
        if (c_.has_distances && sees(i, j)) row[j] = round(row[j] + position[size(at_position(i, j))]);
        row[j] = sees(i, j) ? round(scale_ * row[j]) : -INFINITY;
        if (c_.e > 0 && sees(i, j)) row[j] = round(row[j] + bias_[size(at_bias(i, j))]);
        if (c_.g == 0 || !sees(i, j)) continue;
        const float rectified = rectified_[size(i * c_.keys() + j)] = std::max(row[j], 0.0F);
        row[j] = round(gain_[size(at_gain(i, j))] * rectified);
      }
    }
    return scores;
  }
  Floats dropped() const {
    Floats dropped = p_;
    for (size_t e = 0; e < dropped.size(); ++e) dropped[e] *= m_[e];
    settle(dropped);
    return dropped;
  }
  Floats product(const Floats& a, bool transpose_a, const Floats& b, bool transpose_b, int64_t rows, int64_t columns,
                 int64_t depth) const {
    Floats c(size(rows * columns));
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t l = 0; l < depth; ++l) {
        const float left = a[size(transpose_a ? l * rows + i : i * depth + l)];
        for (int64_t j = 0; j < columns; ++j)
          c[size(i * columns + j)] += left * b[size(transpose_b ? j * depth + l : l * columns + j)];
      }
    }
    settle(c);
    return c;
  }

  AttentionCase c_;
  int64_t b_, n_;
  bool rounds_;
  float scale_;
  Floats m_, k_, v_, r_, qu_, qw_, bias_, gain_, doutput_, p_;
  Floats rectified_;  // the scores that gains multiply
};

// All streams and heads, each result where the fused operation puts it.
class UnfusedSolution {
 public:
  explicit UnfusedSolution(const AttentionProblem& x) : c_(x.extents) {
    const std::vector<double> multipliers = oracle_multipliers(c_);
    const int64_t model = c_.n * c_.h;
    output_.resize(static_cast<size_t>(c_.b * c_.t * model));
    dqkv_.resize(static_cast<size_t>(c_.b * c_.t * 3 * model));
    dmemory_kv_.resize(static_cast<size_t>(c_.b * c_.m * 2 * model));
    dr_.resize(static_cast<size_t>(c_.positions() * model));
    du_.resize(static_cast<size_t>(model));
    dw_.resize(static_cast<size_t>(model));
    dbias_.resize(static_cast<size_t>(c_.n * c_.e));
    dgain_.resize(static_cast<size_t>(c_.n * c_.g));
    for (int64_t b = 0; b < c_.b; ++b) {
      for (int64_t n = 0; n < c_.n; ++n) {
        UnfusedHead head(x, multipliers, b, n);
        head.forward();
        head.backward();
        add(head, b, n);
      }
    }
  }

  // Without the log-sums, which nothing here computes.
  AttentionResults results() const {
    return {{"output", output_}, {"dqkv", dqkv_}, {"dmemory_kv", dmemory_kv_}, {"dr", dr_},
            {"du", du_},         {"dw", dw_},     {"dbias", dbias_},           {"dgain", dgain_}};
  }

 private:
  void add_row(std::vector<double>& to, int64_t row, int64_t n, const Floats& from, int64_t from_row) const {
    for (int64_t h = 0; h < c_.h; ++h)
      to[static_cast<size_t>((row * c_.n + n) * c_.h + h)] +=
          static_cast<double>(from[static_cast<size_t>(from_row * c_.h + h)]);
  }
  void add(const UnfusedHead& head, int64_t b, int64_t n) {
    for (int64_t i = 0; i < c_.t; ++i) {
      add_row(output_, b * c_.t + i, n, head.output, i);
      add_row(dqkv_, (b * c_.t + i) * 3, n, head.dcontent_q, i);
      add_row(dqkv_, (b * c_.t + i) * 3, n, head.dposition_q, i);
      add_row(du_, 0, n, head.dcontent_q, i);
      add_row(dw_, 0, n, head.dposition_q, i);
    }
    for (int64_t j = 0; j < c_.keys(); ++j) {
      std::vector<double>& to = j < c_.m ? dmemory_kv_ : dqkv_;
      const int64_t row = j < c_.m ? (b * c_.m + j) * 2 : (b * c_.t + j - c_.m) * 3 + 1;
      add_row(to, row, n, head.dk, j);
      add_row(to, row + 1, n, head.dv, j);
    }
    for (int64_t d = 0; d < c_.positions(); ++d) add_row(dr_, d, n, head.dr, d);
    for (int64_t e = 0; e < c_.e; ++e)
      dbias_[static_cast<size_t>(n * c_.e + e)] += static_cast<double>(head.dbias[static_cast<size_t>(e)]);
    for (int64_t e = 0; e < c_.g; ++e)
      dgain_[static_cast<size_t>(n * c_.g + e)] += static_cast<double>(head.dgain[static_cast<size_t>(e)]);
  }

  AttentionCase c_;
  std::vector<double> output_, dqkv_, dmemory_kv_, dr_, du_, dw_, dbias_, dgain_;
};

}  // namespace segue::kernels
