// Relative attention by its formula, one pair of query and key after the other (kernels/relative_attention.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace segue::oracle {

// T queries, M memory keys, P positions, H features a head, E biases or gains, as in the contract.
struct AttentionExtents {
  size_t streams, queries, memory, heads, width, positions;
  std::function<bool(size_t b, size_t n, size_t i, size_t j)> sees;
  size_t biases, gains = 0;

  size_t keys() const { return memory + queries; }
  size_t position(size_t i, size_t j) const { return std::min(memory + i - j, positions - 1); }
  size_t biased(size_t i, size_t j) const { return std::min(memory + i - j, biases - 1); }
  size_t gained(size_t i, size_t j) const { return std::min(memory + i - j, gains - 1); }
};

// The inputs, or a gradient for each of them.
template <typename Scalar>
struct AttentionTensors {
  AttentionExtents extents;
  std::vector<Scalar> qkv, memory_kv, r, u, w, bias, gain;

  static AttentionTensors zeros(const AttentionExtents& e) {
    const size_t model = e.heads * e.width;
    return {e,
            std::vector<Scalar>(e.streams * e.queries * 3 * model),
            std::vector<Scalar>(e.streams * e.memory * 2 * model),
            std::vector<Scalar>(e.positions * model),
            std::vector<Scalar>(model),
            std::vector<Scalar>(model),
            std::vector<Scalar>(e.heads * e.biases),
            std::vector<Scalar>(e.heads * e.gains)};
  }

  Scalar& query(size_t b, size_t n, size_t i, size_t h) { return segment(b, i, 0, n, h); }
  Scalar& key(size_t b, size_t n, size_t j, size_t h) { return key_or_value(b, n, j, h, 0); }
  Scalar& value(size_t b, size_t n, size_t j, size_t h) { return key_or_value(b, n, j, h, 1); }
  Scalar& position(size_t d, size_t n, size_t h) { return r[(d * extents.heads + n) * extents.width + h]; }
  Scalar& content_bias(size_t n, size_t h) { return u[n * extents.width + h]; }
  Scalar& position_bias(size_t n, size_t h) { return w[n * extents.width + h]; }
  Scalar& distance_bias(size_t n, size_t e) { return bias[n * extents.biases + e]; }
  Scalar& distance_gain(size_t n, size_t e) { return gain[n * extents.gains + e]; }

 private:
  Scalar& segment(size_t b, size_t i, size_t part, size_t n, size_t h) {
    return qkv[(((b * extents.queries + i) * 3 + part) * extents.heads + n) * extents.width + h];
  }
  Scalar& key_or_value(size_t b, size_t n, size_t j, size_t h, size_t part) {
    if (j >= extents.memory) return segment(b, j - extents.memory, 1 + part, n, h);
    return memory_kv[(((b * extents.memory + j) * 2 + part) * extents.heads + n) * extents.width + h];
  }
};

template <typename Scalar>
struct AttentionRow {
  std::vector<Scalar> p;          // over all keys, 0 where not seen
  std::vector<Scalar> rectified;  // what gains multiply
  Scalar lse;
};

template <typename Scalar>
Scalar rectified(const Scalar& x) {
  return std::real(x) > 0.0 ? x : Scalar(0.0);
}

template <typename Scalar>
AttentionRow<Scalar> attention_row(AttentionTensors<Scalar>& x, size_t b, size_t n, size_t i) {
  const AttentionExtents& e = x.extents;
  std::vector<Scalar> scores(e.keys()), kept(e.keys());
  double largest = std::numeric_limits<double>::lowest();
  for (size_t j = 0; j < e.keys(); ++j) {
    if (!e.sees(b, n, i, j)) continue;
    for (size_t h = 0; h < e.width; ++h) {
      const Scalar q = x.query(b, n, i, h);
      scores[j] += (q + x.content_bias(n, h)) * x.key(b, n, j, h);
      scores[j] += (q + x.position_bias(n, h)) * x.position(e.position(i, j), n, h);
    }
    scores[j] /= std::sqrt(static_cast<double>(e.width));
    if (e.biases > 0) scores[j] += x.distance_bias(n, e.biased(i, j));
    if (e.gains > 0) {
      kept[j] = rectified(scores[j]);
      scores[j] = x.distance_gain(n, e.gained(i, j)) * kept[j];
    }
    largest = std::max(largest, std::real(scores[j]));
  }
  AttentionRow<Scalar> row{std::vector<Scalar>(e.keys()), kept, 0.0};
  Scalar sum = 0.0;
  for (size_t j = 0; j < e.keys(); ++j) {
    if (e.sees(b, n, i, j)) row.p[j] = std::exp(scores[j] - largest);
    sum += row.p[j];
  }
  for (Scalar& p : row.p) p /= sum;
  row.lse = largest + std::log(sum);
  return row;
}

template <typename Scalar>
struct AttentionResult {
  std::vector<Scalar> output;  // [B, T, N, H]
  std::vector<Scalar> lse;     // [B, N, T]
};

// `multipliers` [B, N, T, K] are dropatt's.
template <typename Scalar>
AttentionResult<Scalar> relative_attention(AttentionTensors<Scalar>& x, const std::vector<double>& multipliers) {
  const AttentionExtents& e = x.extents;
  AttentionResult<Scalar> result{std::vector<Scalar>(e.streams * e.queries * e.heads * e.width),
                                 std::vector<Scalar>(e.streams * e.heads * e.queries)};
  for (size_t b = 0; b < e.streams; ++b) {
    for (size_t n = 0; n < e.heads; ++n) {
      for (size_t i = 0; i < e.queries; ++i) {
        const size_t pair_row = (b * e.heads + n) * e.queries + i;
        const AttentionRow<Scalar> row = attention_row(x, b, n, i);
        result.lse[pair_row] = row.lse;
        for (size_t j = 0; j < e.keys(); ++j) {
          const double m = multipliers[pair_row * e.keys() + j];
          for (size_t h = 0; h < e.width; ++h)
            result.output[((b * e.queries + i) * e.heads + n) * e.width + h] += m * row.p[j] * x.value(b, n, j, h);
        }
      }
    }
  }
  return result;
}

// One query's part of every gradient; `doutput` and `m` are its rows.
inline void add_attention_row_gradients(AttentionTensors<double>& x, size_t b, size_t n, size_t i,
                                        const double* doutput, const double* m, AttentionTensors<double>& dx) {
  const AttentionExtents& e = x.extents;
  const double scale = 1.0 / std::sqrt(static_cast<double>(e.width));
  const AttentionRow<double> row = attention_row(x, b, n, i);
  std::vector<double> dp(e.keys());
  double delta = 0.0;
  for (size_t j = 0; j < e.keys(); ++j) {
    for (size_t h = 0; h < e.width; ++h) dp[j] += m[j] * doutput[h] * x.value(b, n, j, h);
    delta += row.p[j] * dp[j];
  }
  for (size_t j = 0; j < e.keys(); ++j) {
    if (!e.sees(b, n, i, j)) continue;
    if (e.biases > 0) dx.distance_bias(n, e.biased(i, j)) += row.p[j] * (dp[j] - delta);
    double ds = scale * row.p[j] * (dp[j] - delta);
    if (e.gains > 0) {
      dx.distance_gain(n, e.gained(i, j)) += row.p[j] * (dp[j] - delta) * row.rectified[j];
      ds = row.rectified[j] > 0.0 ? ds * x.distance_gain(n, e.gained(i, j)) : 0.0;
    }
    const size_t d = e.position(i, j);
    for (size_t h = 0; h < e.width; ++h) {
      const double q = x.query(b, n, i, h);
      const double k = x.key(b, n, j, h);
      const double r = x.position(d, n, h);
      dx.value(b, n, j, h) += m[j] * row.p[j] * doutput[h];
      dx.query(b, n, i, h) += ds * (k + r);
      dx.key(b, n, j, h) += ds * (q + x.content_bias(n, h));
      dx.position(d, n, h) += ds * (q + x.position_bias(n, h));
      dx.content_bias(n, h) += ds * k;
      dx.position_bias(n, h) += ds * r;
    }
  }
}

inline AttentionTensors<double> relative_attention_gradients(AttentionTensors<double>& x,
                                                             const std::vector<double>& multipliers,
                                                             const std::vector<double>& doutput) {
  const AttentionExtents& e = x.extents;
  AttentionTensors<double> dx = AttentionTensors<double>::zeros(e);
  for (size_t b = 0; b < e.streams; ++b) {
    for (size_t n = 0; n < e.heads; ++n) {
      for (size_t i = 0; i < e.queries; ++i) {
        const double* row_doutput = doutput.data() + ((b * e.queries + i) * e.heads + n) * e.width;
        const double* row_multipliers = multipliers.data() + ((b * e.heads + n) * e.queries + i) * e.keys();
        add_attention_row_gradients(x, b, n, i, row_doutput, row_multipliers, dx);
      }
    }
  }
  return dx;
}

}  // namespace segue::oracle
