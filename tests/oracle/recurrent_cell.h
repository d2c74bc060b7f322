// What becomes of recurrent states with a segment, and what tokens read of them, by the formulas: in plain loops, for
// one stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/model_config.h"
#include "core/kinds/memory/block_recurrent/options.h"
#include "tests/oracle/layer_norm.h"
#include "tests/oracle/matmul.h"

namespace segue::oracle {

template <typename Scalar>
class RecurrentCell {
 public:
  using Rows = std::vector<Scalar>;

  // `layer` begins the names of the layer's weights: "layers.L".
  RecurrentCell(const ModelConfig& model, const std::map<std::string, Rows>& weights, std::string layer)
      : model_(model), weights_(weights), layer_(std::move(layer)) {}

  // Of one stream: [K, D].
  static int64_t elements(const ModelConfig& model) { return model.memory.states * model.d_model; }

  // What tokens x [T, D], as attention reads them, get of states: [T, D].
  Rows read(const Rows& x, const Rows& states) const {
    const Rows kv = keys_and_values(states);
    const Rows attended = attend(projected(x, weight(".attention.states.q")), kv);
    return projected(attended, weight(".attention.states.output"), width());
  }

  // The states after a segment whose queries, keys and values are `qkv` [T, 3, N, H], without positions.
  Rows after(const Rows& states, const Rows& qkv) const {
    const Rows rows = embedded(states);
    const Rows all = weight(".recurrent.qkv");
    const Rows own_q = projected(rows, Rows(all.begin(), all.begin() + width() * model_.d_model));
    const Rows of_states = attend(own_q, keys_and_values(states));
    const Rows of_tokens = attend(projected(rows, weight(".recurrent.token_q")), without_queries(qkv));
    Rows both;
    for (int64_t state = 0; state < model_.memory.states; ++state) {
      for (const Rows* part : {&of_states, &of_tokens})
        both.insert(both.end(), part->begin() + state * width(), part->begin() + (state + 1) * width());
    }
    const auto of_both = [&](const char* name) { return projected(both, weight(name), 2 * width()); };
    const Rows z = of_both(".recurrent.output");
    const bool is_fixed = model_.memory.gate == RecurrentGate::kFixed;
    const Rows forget = is_fixed ? Rows() : of_both(".recurrent.forget");
    const Rows input = is_fixed ? Rows() : of_both(".recurrent.input");
    Rows next;
    for (int64_t e = 0; e < std::ssize(states); ++e) {
      const int64_t column = e % model_.d_model;
      if (is_fixed) {
        const Scalar kept = share(weight(".recurrent.keep")[column]);
        next.push_back(kept * states[e] + (1.0 - kept) * z[e]);
      } else {
        next.push_back(share(forget[e] + weight(".recurrent.forget_bias")[column]) * states[e] +
                       share(input[e] + weight(".recurrent.input_bias")[column]) * z[e]);
      }
    }
    return next;
  }

 private:
  int64_t width() const { return model_.n_head * model_.d_head; }
  const Rows& weight(const std::string& name) const { return weights_.at(layer_ + name); }
  static Scalar share(Scalar logit) { return 1.0 / (1.0 + std::exp(-logit)); }

  Rows projected(const Rows& x, const Rows& w, int64_t columns) const {
    return matmul({std::ssize(x) / columns, std::ssize(w) / columns, columns}, x, false, w, true);
  }
  Rows projected(const Rows& x, const Rows& w) const { return projected(x, w, model_.d_model); }

  // Behind the layer norm, with the embedding of each state's number.
  Rows embedded(const Rows& states) const {
    Rows rows = layer_norm(states, weight(".recurrent.norm.gain"), weight(".recurrent.norm.bias"),
                           model_.block.layer_norm_epsilon)
                    .y;
    const double scale = std::sqrt(static_cast<double>(model_.d_model));
    for (size_t e = 0; e < rows.size(); ++e) rows[e] += scale * weight(".recurrent.embedding")[e];
    return rows;
  }

  // [K, 2, N, H]
  Rows keys_and_values(const Rows& states) const {
    const Rows& all = weight(".recurrent.qkv");
    return projected(embedded(states), Rows(all.begin() + width() * model_.d_model, all.end()));
  }

  Rows without_queries(const Rows& qkv) const {
    Rows rows;
    for (auto row = qkv.begin(); row != qkv.end(); row += 3 * width())
      rows.insert(rows.end(), row + width(), row + 3 * width());
    return rows;
  }

  // Queries [R, N, H] and all keys and values [M, 2, N, H]: [R, N, H].
  Rows attend(const Rows& queries, const Rows& kv) const {
    const int64_t size = model_.d_head, keys = std::ssize(kv) / (2 * width());
    Rows attended(queries.size(), Scalar(0.0));
    for (int64_t row = 0; row < std::ssize(queries) / size; ++row) {  // of a head
      const int64_t head = row % model_.n_head;
      Rows scores;
      double largest = -1e300;
      for (int64_t m = 0; m < keys; ++m) {
        Scalar score = 0.0;
        for (int64_t c = 0; c < size; ++c)
          score += queries[row * size + c] * kv[(m * 2 * model_.n_head + head) * size + c];
        scores.push_back(score / std::sqrt(static_cast<double>(size)));
        largest = std::max(largest, real_part(scores.back()));
      }
      Scalar sum = 0.0;
      for (Scalar& score : scores) sum += score = std::exp(score - largest);
      for (int64_t m = 0; m < keys; ++m)
        for (int64_t c = 0; c < size; ++c)
          attended[row * size + c] += scores[m] / sum * kv[((m * 2 + 1) * model_.n_head + head) * size + c];
    }
    return attended;
  }

  const ModelConfig& model_;
  const std::map<std::string, Rows>& weights_;
  std::string layer_;
};

}  // namespace segue::oracle
