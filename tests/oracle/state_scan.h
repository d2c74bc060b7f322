// States that tokens write and read, one token after the other; without erasing also as sums over all earlier tokens.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace segue::oracle {

// One stream and head: q, k, log_decay [T, K], v [T, V], beta [T], state [K, V].
template <typename Scalar>
struct StateScan {
  size_t t, k_width, v_width;
  std::vector<Scalar> q, k, v, log_decay, beta, initial;
  double scale = 1.0;
  bool erases = false;
};

template <typename Scalar>
struct StateScanResults {
  std::vector<Scalar> output;               // [T, V]
  std::vector<std::vector<Scalar>> states;  // [T + 1] of [K, V]

  const std::vector<Scalar>& last() const { return states.back(); }
};

template <typename Scalar>
StateScanResults<Scalar> state_scan(const StateScan<Scalar>& in) {
  StateScanResults<Scalar> results{.output = std::vector<Scalar>(in.t * in.v_width), .states = {in.initial}};
  for (size_t t = 0; t < in.t; ++t) {
    std::vector<Scalar> state = results.states.back();
    for (size_t i = 0; i < in.k_width; ++i) {
      for (size_t c = 0; c < in.v_width; ++c) state[i * in.v_width + c] *= std::exp(in.log_decay[t * in.k_width + i]);
    }
    for (size_t c = 0; c < in.v_width; ++c) {
      Scalar found = 0.0;
      for (size_t i = 0; in.erases && i < in.k_width; ++i)
        found += in.k[t * in.k_width + i] * state[i * in.v_width + c];
      const Scalar written = in.beta[t] * (in.v[t * in.v_width + c] - found);
      Scalar read = 0.0;
      for (size_t i = 0; i < in.k_width; ++i) {
        state[i * in.v_width + c] += in.k[t * in.k_width + i] * written;
        read += in.q[t * in.k_width + i] * state[i * in.v_width + c];
      }
      results.output[t * in.v_width + c] = in.scale * read;
    }
    results.states.push_back(state);
  }
  return results;
}

// Without erasing: of every earlier token what its key, decayed since, has in common with the query. [T, V]
inline std::vector<double> state_scan_as_sums(const StateScan<double>& in) {
  std::vector<double> output(in.t * in.v_width);
  for (size_t t = 0; t < in.t; ++t) {
    std::vector<double> decay(in.k_width, 1.0);  // since the token s
    for (size_t s = t + 1; s-- > 0;) {
      double weight = 0.0;
      for (size_t i = 0; i < in.k_width; ++i) weight += in.q[t * in.k_width + i] * decay[i] * in.k[s * in.k_width + i];
      for (size_t c = 0; c < in.v_width; ++c)
        output[t * in.v_width + c] += in.scale * weight * in.beta[s] * in.v[s * in.v_width + c];
      for (size_t i = 0; i < in.k_width; ++i) decay[i] *= std::exp(in.log_decay[s * in.k_width + i]);
    }
    for (size_t i = 0; i < in.k_width; ++i) {
      for (size_t c = 0; c < in.v_width; ++c)
        output[t * in.v_width + c] += in.scale * in.q[t * in.k_width + i] * decay[i] * in.initial[i * in.v_width + c];
    }
  }
  return output;
}

struct StateScanGradients {
  std::vector<double> q, k, v, log_decay, beta, initial;
};

// Of `doutput` [T, V] and `dlast` [K, V].
inline StateScanGradients state_scan_gradients(const StateScan<double>& in, const std::vector<double>& doutput,
                                               const std::vector<double>& dlast) {
  const StateScanResults<double> results = state_scan(in);
  const size_t width = in.v_width;
  StateScanGradients to{.q = std::vector<double>(in.q.size()),
                        .k = std::vector<double>(in.k.size()),
                        .v = std::vector<double>(in.v.size()),
                        .log_decay = std::vector<double>(in.log_decay.size()),
                        .beta = std::vector<double>(in.t),
                        .initial = dlast};
  std::vector<double>& gradient = to.initial;
  for (size_t t = in.t; t-- > 0;) {
    const double* key = in.k.data() + t * in.k_width;
    const auto decay = [&](size_t i) { return std::exp(in.log_decay[t * in.k_width + i]); };
    const auto decayed = [&](size_t i, size_t c) { return decay(i) * results.states[t][i * width + c]; };
    for (size_t c = 0; c < width; ++c) {
      const double dread = in.scale * doutput[t * width + c];
      double found = 0.0, dwritten = 0.0;
      for (size_t i = 0; i < in.k_width; ++i) {
        if (in.erases) found += key[i] * decayed(i, c);
        to.q[t * in.k_width + i] += results.states[t + 1][i * width + c] * dread;
        gradient[i * width + c] += in.q[t * in.k_width + i] * dread;
        dwritten += key[i] * gradient[i * width + c];
      }
      const double difference = in.v[t * width + c] - found;
      to.v[t * width + c] = in.beta[t] * dwritten;
      to.beta[t] += dwritten * difference;
      const double dfound = in.erases ? -in.beta[t] * dwritten : 0.0;
      for (size_t i = 0; i < in.k_width; ++i) {
        to.k[t * in.k_width + i] += gradient[i * width + c] * in.beta[t] * difference + dfound * decayed(i, c);
        const double ddecayed = gradient[i * width + c] + dfound * key[i];
        to.log_decay[t * in.k_width + i] += ddecayed * decayed(i, c);
        gradient[i * width + c] = ddecayed * decay(i);
      }
    }
  }
  return to;
}

}  // namespace segue::oracle
