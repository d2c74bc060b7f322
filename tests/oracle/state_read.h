// Reads of a state and their gradients, from the formulas.
#pragma once

#include <cstddef>
#include <vector>

namespace segue::oracle {

// q [B, T, N, K], state [B, N, K, V], output [B, T, N, V].
struct StateReadExtents {
  size_t b, t, n, k, v;

  // call(of q, of the state, of the output) for every product: the elements that take part.
  template <typename Call>
  void for_each_product(const Call& call) const {
    for (size_t row = 0; row < b * t * n; ++row) {
      const size_t head = row / (t * n) * n + row % n;
      for (size_t i = 0; i < k; ++i) {
        for (size_t c = 0; c < v; ++c) call(row * k + i, (head * k + i) * v + c, row * v + c);
      }
    }
  }
};

template <typename Scalar>
std::vector<Scalar> state_read(const StateReadExtents& extents, const std::vector<Scalar>& q,
                               const std::vector<Scalar>& state) {
  std::vector<Scalar> output(extents.b * extents.t * extents.n * extents.v);
  extents.for_each_product([&](size_t of_q, size_t of_state, size_t to) { output[to] += q[of_q] * state[of_state]; });
  return output;
}

template <typename Scalar>
struct StateReadGradients {
  std::vector<Scalar> q, state;
};
template <typename Scalar>
StateReadGradients<Scalar> state_read_gradients(const StateReadExtents& extents, const std::vector<Scalar>& q,
                                                const std::vector<Scalar>& state, const std::vector<Scalar>& doutput) {
  StateReadGradients<Scalar> to{std::vector<Scalar>(q.size()), std::vector<Scalar>(state.size())};
  extents.for_each_product([&](size_t of_q, size_t of_state, size_t from) {
    to.q[of_q] += state[of_state] * doutput[from];
    to.state[of_state] += q[of_q] * doutput[from];
  });
  return to;
}

}  // namespace segue::oracle
