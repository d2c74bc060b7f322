// What a layer associates, by its formulas: matrices that memory tokens write into one after another, and that tokens
// read.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/model_config.h"
#include "tests/oracle/head_norm.h"
#include "tests/oracle/matmul.h"

namespace segue::oracle {

template <typename Scalar>
class Associations {
 public:
  using Rows = std::vector<Scalar>;

  // `prefix` begins the names of the layer's weights.
  Associations(const ModelConfig& model, const std::map<std::string, Rows>& weights, std::string prefix)
      : model_(model), weights_(weights), prefix_(std::move(prefix)) {}

  // Of one stream: [N, K, H].
  int64_t elements() const { return model_.n_head * features() * model_.d_head; }

  // x [R, D] -> [R, D], from such a state.
  Rows read(const Rows& x, const Rows& state) const {
    const Rows q = projected("q", x);
    Rows found;
    for (int64_t head = 0; head < std::ssize(q) / model_.d_head; ++head)
      for (int64_t c = 0; c < model_.d_head; ++c) found.push_back(found_under(feature_of(q, head), state, head, c));
    return matmul({std::ssize(x) / model_.d_model, model_.d_model, model_.n_head * model_.d_head}, found, false,
                  weight("output"), true);
  }

  // Tokens [M, D] into the state.
  void write(const Rows& tokens, Rows& state) const {
    const Rows k = projected("k", tokens), v = projected("v", tokens), strength = projected("strength", tokens);
    for (int64_t head = 0; head < std::ssize(strength); ++head) {  // of one token after another
      const Rows key = feature_of(k, head);
      const Scalar beta = 1.0 / (1.0 + std::exp(-strength[head] - weight("strength_bias")[head % model_.n_head]));
      for (int64_t c = 0; c < model_.d_head; ++c) {
        const Scalar change = beta * (v[head * model_.d_head + c] - found_under(key, state, head, c));
        for (int64_t i = 0; i < features(); ++i) state[index(head, i, c)] += key[i] * change;
      }
    }
  }

 private:
  int64_t features() const { return 2 * model_.d_head * model_.memory.shifts; }
  int64_t index(int64_t head, int64_t i, int64_t c) const {
    return (head % model_.n_head * features() + i) * model_.d_head + c;
  }
  const Rows& weight(const std::string& name) const { return weights_.at(prefix_ + name); }

  Rows projected(const std::string& name, const Rows& x) const {
    const Rows& w = weight(name);
    return matmul({std::ssize(x) / model_.d_model, std::ssize(w) / model_.d_model, model_.d_model}, x, false, w, true);
  }

  // Column c of what stands under a key.
  Scalar found_under(const Rows& key, const Rows& state, int64_t head, int64_t c) const {
    Scalar found = 0.0;
    for (int64_t i = 0; i < features(); ++i) found += key[i] * state[index(head, i, c)];
    return found;
  }

  // Products of the rectified columns of x and -x with their neighbours, of length 1.
  Rows feature_of(const Rows& rows, int64_t head) const {
    const int64_t width = model_.d_head;
    Rows both;
    for (const double sign : {1.0, -1.0}) {
      for (int64_t i = 0; i < width; ++i) {
        const Scalar x = sign * rows[head * width + i];
        both.push_back(real_part(x) > 0.0 ? x : Scalar(0.0));
      }
    }
    Rows products;
    Scalar squares = 0.0;
    for (int64_t shift = 1; shift <= model_.memory.shifts; ++shift) {
      for (int64_t i = 0; i < 2 * width; ++i) {
        products.push_back(both[i] * both[(i - shift + 2 * width) % (2 * width)]);
        squares += products.back() * products.back();
      }
    }
    for (Scalar& product : products) product /= std::sqrt(squares + static_cast<double>(1e-6F));
    return products;
  }

  const ModelConfig& model_;
  const std::map<std::string, Rows>& weights_;
  std::string prefix_;
};

}  // namespace segue::oracle
