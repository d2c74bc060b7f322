// States that tokens write and read, one token after the other, or in chunks, within which each token compares itself
// with those before it; without erasing also as sums over all earlier tokens.
#pragma once

#include <algorithm>
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
  using std::exp;
  StateScanResults<Scalar> results{.output = std::vector<Scalar>(in.t * in.v_width), .states = {in.initial}};
  for (size_t t = 0; t < in.t; ++t) {
    std::vector<Scalar> state = results.states.back();
    for (size_t i = 0; i < in.k_width; ++i) {
      for (size_t c = 0; c < in.v_width; ++c) state[i * in.v_width + c] *= exp(in.log_decay[t * in.k_width + i]);
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

// The same, `chunk` tokens at a time: the states are those before each chunk and after the last. A chunk as long as the
// text is the quadratic form, every token against every token before it.
inline StateScanResults<double> state_scan_in_chunks(const StateScan<double>& in, size_t chunk) {
  const size_t keys = in.k_width, values = in.v_width;
  StateScanResults<double> results{.output = std::vector<double>(in.t * values), .states = {in.initial}};
  for (size_t first = 0; first < in.t; first += chunk) {
    const size_t count = std::min(chunk, in.t - first);
    std::vector<double> state = results.states.back();
    // Of rows [T, K] of two tokens, each channel decayed by all tokens after s up to t.
    const auto compare = [&](const std::vector<double>& rows, size_t t, size_t s) {
      double sum = 0.0;
      for (size_t i = 0; i < keys; ++i) {
        double decays = 0.0;
        for (size_t r = s + 1; r <= t; ++r) decays += in.log_decay[r * keys + i];
        sum += rows[t * keys + i] * std::exp(decays) * in.k[s * keys + i];
      }
      return sum;
    };
    // What the decays from the token `from` on to `to` leave of a channel.
    const auto left = [&](size_t from, size_t to, size_t i) {
      double decays = 0.0;
      for (size_t r = from; r <= to; ++r) decays += in.log_decay[r * keys + i];
      return std::exp(decays);
    };
    // What rows [T, K] of a token find in the state before the chunk.
    const auto find = [&](const std::vector<double>& rows, size_t t, size_t c) {
      double sum = 0.0;
      for (size_t i = 0; i < keys; ++i) sum += rows[t * keys + i] * left(first, t, i) * state[i * values + c];
      return sum;
    };
    const size_t last = first + count - 1;
    for (size_t c = 0; c < values; ++c) {
      std::vector<double> written(count);
      for (size_t t = first; t <= last; ++t) {
        double found = in.erases ? find(in.k, t, c) : 0.0;
        for (size_t s = first; in.erases && s < t; ++s) found += compare(in.k, t, s) * written[s - first];
        written[t - first] = in.beta[t] * (in.v[t * values + c] - found);
        double read = find(in.q, t, c);
        for (size_t s = first; s <= t; ++s) read += compare(in.q, t, s) * written[s - first];
        results.output[t * values + c] = in.scale * read;
      }
      for (size_t i = 0; i < keys; ++i) {
        double& element = state[i * values + c];
        element *= left(first, last, i);
        for (size_t s = first; s <= last; ++s)
          element += left(s + 1, last, i) * in.k[s * keys + i] * written[s - first];
      }
    }
    results.states.push_back(state);
  }
  return results;
}

template <typename Scalar>
struct StateScanGradients {
  std::vector<Scalar> q, k, v, log_decay, beta, initial;
};

// Of `doutput` [T, V] and `dlast` [K, V].
template <typename Scalar>
StateScanGradients<Scalar> state_scan_gradients(const StateScan<Scalar>& in, const std::vector<Scalar>& doutput,
                                                const std::vector<Scalar>& dlast) {
  using std::exp;
  const StateScanResults<Scalar> results = state_scan(in);
  const size_t width = in.v_width;
  StateScanGradients<Scalar> to{.q = std::vector<Scalar>(in.q.size()),
                                .k = std::vector<Scalar>(in.k.size()),
                                .v = std::vector<Scalar>(in.v.size()),
                                .log_decay = std::vector<Scalar>(in.log_decay.size()),
                                .beta = std::vector<Scalar>(in.t),
                                .initial = dlast};
  std::vector<Scalar>& gradient = to.initial;
  for (size_t t = in.t; t-- > 0;) {
    const Scalar* key = in.k.data() + t * in.k_width;
    const auto decay = [&](size_t i) { return exp(in.log_decay[t * in.k_width + i]); };
    const auto decayed = [&](size_t i, size_t c) { return decay(i) * results.states[t][i * width + c]; };
    for (size_t c = 0; c < width; ++c) {
      const Scalar dread = in.scale * doutput[t * width + c];
      Scalar found = 0.0, dwritten = 0.0;
      for (size_t i = 0; i < in.k_width; ++i) {
        if (in.erases) found += key[i] * decayed(i, c);
        to.q[t * in.k_width + i] += results.states[t + 1][i * width + c] * dread;
        gradient[i * width + c] += in.q[t * in.k_width + i] * dread;
        dwritten += key[i] * gradient[i * width + c];
      }
      const Scalar difference = in.v[t * width + c] - found;
      to.v[t * width + c] = in.beta[t] * dwritten;
      to.beta[t] += dwritten * difference;
      const Scalar dfound = in.erases ? -in.beta[t] * dwritten : Scalar(0.0);
      for (size_t i = 0; i < in.k_width; ++i) {
        to.k[t * in.k_width + i] += gradient[i * width + c] * in.beta[t] * difference + dfound * decayed(i, c);
        const Scalar ddecayed = gradient[i * width + c] + dfound * key[i];
        to.log_decay[t * in.k_width + i] += ddecayed * decayed(i, c);
        gradient[i * width + c] = ddecayed * decay(i);
      }
    }
  }
  return to;
}

}  // namespace segue::oracle
