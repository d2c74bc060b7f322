// What Infini-attention keeps beside a layer's attention, by its formulas: sums of values, and of their keys' weights.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/config/model_config.h"
#include "tests/oracle/matmul.h"

namespace segue::oracle {

template <typename Scalar>
class InfiniMemory {
 public:
  using Rows = std::vector<Scalar>;

  // `gate` [N] is the layer's.
  InfiniMemory(const ModelConfig& model, const Rows& gate) : model_(model), gate_(gate) {}

  // Of one stream: [N, H, H + 1].
  static int64_t elements(const ModelConfig& model) { return model.n_head * model.d_head * (model.d_head + 1); }

  // What heads have [T, N, H] of what they attended to, and of what queries read of a state; projected [T, 3, N, H].
  Rows mixed(Rows attended, const Rows& projected, const Rows& state) const {
    for (int64_t row = 0; row < std::ssize(attended) / width(); ++row) {  // of a head in a token
      const int64_t head = row % model_.n_head;
      const Rows q = feature_of(projected, row, 0);
      Scalar weights = 0.0;
      for (int64_t i = 0; i < width(); ++i) weights += q[i] * state[index(head, i, width())];
      const Scalar share = 1.0 / (1.0 + std::exp(-gate_[head]));
      for (int64_t c = 0; c < width(); ++c) {
        Scalar sum = 0.0;
        for (int64_t i = 0; i < width(); ++i) sum += q[i] * state[index(head, i, c)];
        const Scalar read = real_part(weights) > 0.0 ? sum / weights : Scalar(0.0);
        Scalar& mine = attended[row * width() + c];
        mine = share * read + (1.0 - share) * mine;
      }
    }
    return attended;
  }

  // The segment's keys and values into the state.
  void write(const Rows& projected, Rows& state) const {
    for (int64_t row = 0; row < std::ssize(projected) / (3 * width()); ++row) {
      const int64_t head = row % model_.n_head;
      const Rows k = feature_of(projected, row, 1);
      for (int64_t i = 0; i < width(); ++i) {
        for (int64_t c = 0; c < width(); ++c) state[index(head, i, c)] += k[i] * projected[first_of(row, 2) + c];
        state[index(head, i, width())] += k[i];
      }
    }
  }

 private:
  int64_t width() const { return model_.d_head; }
  int64_t index(int64_t head, int64_t i, int64_t c) const { return (head * width() + i) * (width() + 1) + c; }
  // Of queries, keys or values.
  int64_t first_of(int64_t row, int64_t part) const {
    const int64_t token = row / model_.n_head, head = row % model_.n_head;
    return ((token * 3 + part) * model_.n_head + head) * width();
  }

  // elu + 1
  Rows feature_of(const Rows& projected, int64_t row, int64_t part) const {
    Rows feature;
    for (int64_t c = 0; c < width(); ++c) {
      const Scalar x = projected[first_of(row, part) + c];
      feature.push_back(real_part(x) > 0.0 ? x + 1.0 : std::exp(x));
    }
    return feature;
  }

  const ModelConfig& model_;
  const Rows& gate_;
};

}  // namespace segue::oracle
