// Relative attention of one stream under any visibility, one pair of query and key after the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace segue::oracle {

// Whether a head's query at one position sees the key at another. Positions count from the segment's first token; keys
// of the memory stand at negative ones.
using Visibility = std::function<bool(int64_t head, int64_t query, int64_t key)>;

template <typename Scalar>
struct MaskedAttention {
  int64_t memory, queries, heads, width;
  std::vector<Scalar> qkv;   // [K, 3, N, H]: memory first, whose queries are not used
  std::vector<Scalar> r;     // [K, N, H]: row d for distance d
  std::vector<Scalar> u, w;  // [N, H]
  std::vector<Scalar> bias;  // [N, K]: column d for distance d
  std::vector<Scalar> gain;  // likewise, of scores without those below zero; or empty: scores are as they are

  int64_t keys() const { return memory + queries; }
  Scalar query(int64_t i, int64_t n, int64_t h) const { return qkv[((memory + i) * 3 * heads + n) * width + h]; }
  Scalar key(int64_t j, int64_t n, int64_t h) const { return qkv[((j * 3 + 1) * heads + n) * width + h]; }
  Scalar value(int64_t j, int64_t n, int64_t h) const { return qkv[((j * 3 + 2) * heads + n) * width + h]; }

  // Who sees keys ahead has nothing by distance.
  int64_t distance(int64_t i, int64_t j) const { return std::max<int64_t>(memory + i - j, 0); }

  // ((q + u) · k + (q + w) · r[distance]) / sqrt(H) + bias[distance]; gain[distance] times that where it is above zero
  Scalar score(int64_t i, int64_t j, int64_t n) const {
    Scalar sum = 0.0;
    for (int64_t h = 0; h < width; ++h) {
      sum += (query(i, n, h) + u[n * width + h]) * key(j, n, h);
      sum += (query(i, n, h) + w[n * width + h]) * r[(distance(i, j) * heads + n) * width + h];
    }
    const int64_t at_distance = n * keys() + distance(i, j);
    const Scalar s = sum / std::sqrt(static_cast<double>(width)) + bias[at_distance];
    if (gain.empty()) return s;
    return std::real(s) > 0.0 ? gain[at_distance] * s : Scalar(0.0);
  }

  // The softmax of a query's scores over the keys it sees; 0 for the others.
  std::vector<Scalar> probabilities(int64_t i, int64_t n, const Visibility& sees) const {
    using std::exp, std::real;
    std::vector<Scalar> p(keys());
    double largest = std::numeric_limits<double>::lowest();
    for (int64_t j = 0; j < keys(); ++j) {
      if (!sees(n, i, j - memory)) continue;
      p[j] = score(i, j, n);
      largest = std::max(largest, real(p[j]));
    }
    Scalar sum = 0.0;
    for (int64_t j = 0; j < keys(); ++j) {
      if (sees(n, i, j - memory)) sum += p[j] = exp(p[j] - largest);
    }
    for (Scalar& each : p) each /= sum;
    return p;
  }

  // [M]: what each row of the memory gets of the weights of all queries and heads.
  std::vector<Scalar> received(const Visibility& sees) const {
    std::vector<Scalar> sums(memory);
    for (int64_t n = 0; n < heads; ++n) {
      for (int64_t i = 0; i < queries; ++i) {
        const std::vector<Scalar> p = probabilities(i, n, sees);
        for (int64_t j = 0; j < memory; ++j) sums[j] += p[j];
      }
    }
    return sums;
  }

  // [T, N, H]; `multipliers` [N, T, K] are dropatt's.
  std::vector<Scalar> output(const Visibility& sees, const std::vector<double>& multipliers) const {
    std::vector<Scalar> o(queries * heads * width);
    for (int64_t n = 0; n < heads; ++n) {
      for (int64_t i = 0; i < queries; ++i) {
        const std::vector<Scalar> p = probabilities(i, n, sees);
        for (int64_t j = 0; j < keys(); ++j) {
          const double m = multipliers[(n * queries + i) * keys() + j];
          for (int64_t h = 0; h < width; ++h) o[(i * heads + n) * width + h] += m * p[j] * value(j, n, h);
        }
      }
    }
    return o;
  }
};

}  // namespace segue::oracle
