// Transformer-XL by its formulas (Dai et al. 2019, section 3 and appendix B), one stream at a time, in plain loops.
//
// A segment may be computed under any visibility: with the memory of the segments before it and its own mask, or as one
// dense pass over a whole stream whose mask says what segments and memories would have let through.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/memory_kind.h"
#include "core/config/model_config.h"
#include "core/config/score_kind.h"
#include "core/tape/dropout_sites.h"
#include "tests/oracle/associations.h"
#include "tests/oracle/feed_forward.h"
#include "tests/oracle/halting.h"
#include "tests/oracle/infini_memory.h"
#include "tests/oracle/kinds_of_memory.h"
#include "tests/oracle/layer_norm.h"
#include "tests/oracle/layers.h"
#include "tests/oracle/masked_attention.h"
#include "tests/oracle/positions.h"
#include "tests/oracle/rectifier.h"
#include "tests/oracle/recurrent_cell.h"
#include "tests/oracle/residual_gate.h"
#include "tests/oracle/state_attention.h"
#include "tests/oracle/vocabulary_clusters.h"

namespace segue::oracle {

// The source of a stream's dropout, in training.
struct StreamRandom {
  uint64_t seed = 0;
  uint64_t step = 0;
  int64_t stream = 0;  // its number among all streams of the run
};

// Per layer [M, width], or the state of a layer that keeps one: constants, through which no derivative passes. Of a
// model with memory tokens these follow as one element more, [K, D], or the associations of all layers [L, N, F, H], or
// nothing where the stream begins; likewise the sums of all layers [L, N, H, H + 1] of Infini-attention, and the
// recurrent states [K, D] of the layer that has them; of a memory that compresses one with as many numbers as there are
// compressed rows.
// With an encoder its only element are tokens [M].
using Memory = std::vector<std::vector<double>>;

// Where a segment stands in a step of several.
struct PlaceInStep {
  int64_t number = 0;  // among its segments
  int64_t first = 0;   // token
  int64_t tokens = 0;  // of a stream in the step; 0: those of the segment
};

inline bool hands_on_more_than_rows(const ModelConfig& model) {
  return memory_tokens(model) > 0 || has_infini_memory(model) || is_recurrent(model);
}

inline bool keeps_keys_and_values(const ModelConfig& model) { return model.memory.kind == MemoryKind::kKeysValues; }

// Of a row of memory: a layer's input, or the keys and values that were made of it; or a token.
inline int64_t memory_width(const ModelConfig& model) {
  if (encoder_layers(model) > 0) return 1;
  return keeps_keys_and_values(model) ? 2 * model.n_head * model.d_head : model.d_model;
}

template <typename Scalar>
class TransformerXl {
 public:
  using Rows = std::vector<Scalar>;
  using Weights = std::map<std::string, Rows>;  // by Segue's names

  TransformerXl(const ModelConfig& config, Weights weights, const std::optional<StreamRandom>& random = {})
      : config_(config), layers_(layers_of(config)), weights_(std::move(weights)), random_(random) {
    ModelConfig encoder = config;
    encoder.layers.clear();
    layers_.resize(config.n_layer + encoder_layers(config), encoder);
  }

  Rows& weight(const std::string& name) { return weights_.at(name); }
  const Rows& weight(const std::string& name) const { return weights_.at(name); }
  const Weights& weights() const { return weights_; }

  struct Segment {
    Rows nll;                    // [T]
    std::vector<Rows> fresh;     // per layer [T, width]: what becomes memory; with rows of memory tokens; or
                                 // tokens [T]; of a layer with a state, that after the segment
    Rows written;                // [K, D]: memory tokens for the next segment; or the states of all layers
    std::vector<Rows> received;  // per layer [M]: the attention of rows of memory, where they are kept by it
    Scalar ponder = 0.0;         // of tokens that halt: see Halting
    std::vector<int64_t> taken;  // [T]: and their passes
  };
  // `sees` has an element per layer. Positions of absolute kinds begin anew every `tgt_len` tokens; 0: never.
  Segment segment(const std::vector<int32_t>& tokens, const std::vector<int32_t>& targets, const Memory& memory,
                  const std::vector<Visibility>& sees, int64_t tgt_len = 0) const {
    const std::vector<double> read = hands_on_more_than_rows(config_) ? memory.back() : std::vector<double>();
    return segment(tokens, targets, memory, sees, tgt_len, {read.begin(), read.end()}, {});
  }

  // The same in a step of several segments, with what the one before it wrote.
  Segment segment(const std::vector<int32_t>& tokens, const std::vector<int32_t>& targets, const Memory& memory,
                  const std::vector<Visibility>& sees, int64_t tgt_len, const Rows& read,
                  const PlaceInStep& place) const {
    Segment out;
    Rows x = with_memory_tokens(embedded(tokens, tgt_len, place), read);
    const int64_t memory_elements = memory_tokens(config_) * config_.d_model;
    const bool encodes = encoder_layers(config_) > 0;
    const Rows made = encodes ? encoded(memory.front()) : Rows();
    Rows beside = x;  // the stream that attention adds to, of reversible layers
    Halting<Scalar> halting(x.size() / config_.d_model, config_.depth.halting_epsilon, config_.n_layer);
    for (int64_t layer = 0; layer < config_.n_layer; ++layer) {
      const Associations<Scalar> associations(config_, weights_, prefix_of(layer) + ".associations.");
      Rows state;  // of this layer
      if (associates(config_)) state.resize(associations.elements());
      if (has_infini_memory(config_)) state.resize(InfiniMemory<Scalar>::elements(config_));
      if (is_recurrent_layer(layer)) state.resize(RecurrentCell<Scalar>::elements(config_));
      const Rows before = x;
      if (has_step_codes(config_)) x = with_step_code(x, layer);
      const Rows logits = halts(config_) ? halting_logits(x) : Rows();
      if (!state.empty() && !read.empty())
        std::copy_n(read.begin() + std::ssize(out.written), state.size(), state.begin());
      if (associates(config_)) x = sum_of(x, associations.read(x, state));
      out.fresh.push_back(x);
      const Rows rows = encodes ? made : Rows(memory[layer].begin(), memory[layer].end());
      Rows* received = keeps_most_used(config_) ? &out.received.emplace_back() : nullptr;
      x = layer_output(layer, x, {rows, sees[layer], place.number, received, &state, &beside}, out.fresh.back());
      if (halts(config_)) x = halting.after_pass(logits, before, std::move(x));
      if (associates(config_)) associations.write(Rows(x.end() - memory_elements, x.end()), state);
      out.written.insert(out.written.end(), state.begin(), state.end());
    }
    const int64_t global_elements = config_.global_stream.tokens * config_.d_model;
    for (Rows& fresh : out.fresh) {  // of the segment's own tokens
      const auto tokens_and_global = static_cast<int64_t>(tokens.size()) + config_.global_stream.tokens;
      if (global_elements > 0)
        fresh.erase(fresh.begin(),
                    fresh.begin() + std::ssize(fresh) / tokens_and_global * config_.global_stream.tokens);
    }
    if (encodes) out.fresh = {Rows(tokens.begin(), tokens.end())};
    if (halts(config_)) {
      x = halting.output();
      out.ponder = halting.ponder();
      out.taken = halting.taken();
    }
    if (is_reversible(config_)) x = sum_of(std::move(x), beside);
    if (config_.block.final_norm) x = normalised(x, "final_norm");
    if (read_tokens(config_) > 0) out.written.assign(x.end() - memory_elements, x.end());
    x.assign(x.begin() + read_tokens(config_) * config_.d_model + global_elements, x.end() - memory_elements);
    out.nll = VocabularyClusters<Scalar>(config_, weights_)
                  .losses(dropped_in_step(std::move(x), kOutputDropoutSite, place), targets);
    return out;
  }

 private:
  // What the encoder makes of the tokens before a segment, each of which sees all of them: [M, D].
  Rows encoded(const std::vector<double>& numbers) const {
    const std::vector<int32_t> tokens(numbers.begin(), numbers.end());
    if (tokens.empty()) return {};
    Rows x = dropped(VocabularyClusters<Scalar>(config_, weights_).embedded(tokens), kEncoderDropoutSite, 0);
    const Visibility all = [](int64_t, int64_t, int64_t) { return true; };
    Rows beside = x;
    for (int64_t layer = config_.n_layer; layer < std::ssize(layers_); ++layer) {
      Rows unused;
      x = layer_output(layer, x, {Rows(), all, 0, nullptr, nullptr, &beside}, unused);
    }
    if (is_reversible(config_)) x = sum_of(std::move(x), beside);
    return config_.block.final_norm ? normalised(x, "encoder.final_norm") : x;
  }

  Rows normalised(const Rows& x, const std::string& name) const {
    return layer_norm(x, weight(name + ".gain"), weight(name + ".bias"), config_.block.layer_norm_epsilon).y;
  }

  bool is_recurrent_layer(int64_t layer) const { return is_recurrent(config_) && layer == recurrent_layer(config_); }

  // Layers of the encoder are numbered after the model's.
  std::string prefix_of(int64_t layer) const {
    if (layer < config_.n_layer) return "layers." + std::to_string(shares_weights(config_) ? 0 : layer);
    return "encoder.layers." + std::to_string(layer - config_.n_layer);
  }

  Rows learned(const std::string& name) const {
    Rows rows = weight(name);
    for (Scalar& element : rows) element *= std::sqrt(static_cast<double>(config_.d_model));
    return rows;
  }

  // Before and after the rows of the segment's own tokens.
  Rows with_memory_tokens(const Rows& own, const Rows& read) const {
    Rows rows;
    if (config_.global_stream.tokens > 0) rows = learned("global_stream.tokens");
    if (memory_tokens(config_) == 0) {
      rows.insert(rows.end(), own.begin(), own.end());
      return rows;
    }
    if (!associates(config_)) rows = read.empty() ? learned("memory.initial") : read;
    const Rows written = writes_own_tokens(config_) ? learned("memory.written") : rows;
    rows.insert(rows.end(), own.begin(), own.end());
    rows.insert(rows.end(), written.begin(), written.end());
    return rows;
  }

  template <typename Element>
  int64_t row_count(const std::vector<Element>& rows) const {
    return static_cast<int64_t>(rows.size()) / config_.d_model;
  }

  std::vector<double> mask(double p, uint16_t site, int64_t first_element, int64_t count) const {
    if (!random_) return std::vector<double>(count, 1.0);
    return dropout_mask({.p = static_cast<float>(p),
                         .random = {.seed = random_->seed, .step = random_->step, .site = site},
                         .first_element = static_cast<uint64_t>(first_element)},
                        count);
  }

  // The mask of a tensor of which every stream has its own `count` elements, in the n-th segment of a step.
  std::vector<double> stream_mask(double p, uint16_t site, int64_t count, int64_t segment) const {
    return mask(p, site, (random_ ? random_->stream * count : 0) + first_dropout_element(segment), count);
  }

  Rows dropped(Rows x, uint16_t site, int64_t segment) const {
    return multiply(x, stream_mask(config_.dropout, site, static_cast<int64_t>(x.size()), segment));
  }

  // Of a tensor of all tokens of a step.
  Rows dropped_in_step(Rows x, uint16_t site, const PlaceInStep& place) const {
    const auto count = static_cast<int64_t>(x.size());
    const int64_t of_stream = place.tokens == 0 ? count : place.tokens * config_.d_model;
    const int64_t first = (random_ ? random_->stream * of_stream : 0) + place.first * config_.d_model;
    return multiply(x, mask(config_.dropout, site, first, count));
  }

  Positions<Scalar> positions(int64_t layer) const { return {layers_[layer], weights_}; }

  Rows embedded(const std::vector<int32_t>& tokens, int64_t tgt_len, const PlaceInStep& place) const {
    Rows rows = VocabularyClusters<Scalar>(config_, weights_).embedded(tokens);
    Positions<Scalar>(config_, weights_).add_positions(rows, tgt_len);
    return dropped_in_step(std::move(rows), kEmbeddingDropoutSite, place);
  }

  // One mask for all streams and layers.
  Rows encoded_distances(int64_t layer, int64_t keys) const {
    return positions(layer).encoded_distances(keys,
                                              mask(config_.dropout, kPositionDropoutSite, 0, keys * config_.d_model));
  }

  // The inputs of a layer besides the residual.
  struct Surroundings {
    const Rows& memory;
    const Visibility& sees;
    int64_t segment;  // its number in the step
    Rows* received;   // or null: not wanted
    Rows* state;      // of Infini-attention, or of recurrent states: before the segment, then after it
    Rows* beside;     // of reversible layers: their other stream, then that after the layer
  };

  // `fresh` is x, and becomes what the memory takes in.
  Rows layer_output(int64_t layer, const Rows& x, const Surroundings& around, Rows& fresh) const {
    const bool keeps_state = layers_[layer].score.kind == ScoreKind::kState;
    const bool pre = normalises_first(config_);
    const auto norm = [&](const std::string& part, const Rows& rows) {
      return normalised(rows, prefix_of(layer) + part + ".norm");
    };
    const auto residual = [&](const Rows& stream, Rows branch, LayerDropout place, const std::string& part) {
      if (is_gated(config_)) branch = rectified(std::move(branch));
      branch = dropped(std::move(branch), layer_dropout_site(layer, place), around.segment);
      if (!is_gated(config_)) return sum_of(stream, std::move(branch));
      return ResidualGateOf<Scalar>(config_, weights_, prefix_of(layer) + part + ".gate.").output(stream, branch);
    };
    Rows mixed;
    if (keeps_state) {
      fresh = around.memory;
      mixed = StateAttention<Scalar>(layers_[layer], weights_, prefix_of(layer) + ".attention.")
                  .output(pre ? norm(".attention", x) : x, fresh);
    } else {
      Rows context;
      if (!keeps_keys_and_values(config_)) context = around.memory;
      context.insert(context.end(), x.begin(), x.end());
      if (pre) context = norm(".attention", context);
      Rows projected = projections(layer, context, row_count(context) - row_count(x));
      if (keeps_keys_and_values(config_)) {
        fresh = without_queries(projected);
        projected = with_memory(around.memory, projected);
      }
      const Rows own(projected.end() - 3 * heads_width() * row_count(x), projected.end());
      mixed = attention(layer, std::move(projected), around);
      if (is_recurrent_layer(layer)) {
        const RecurrentCell<Scalar> cell(config_, weights_, prefix_of(layer));
        mixed = sum_of(mixed, cell.read(pre ? norm(".attention", x) : x, *around.state));
        *around.state = cell.after(*around.state, own);
      }
    }
    const bool reversible = is_reversible(config_);
    Rows y = residual(reversible ? *around.beside : x, std::move(mixed), LayerDropout::kAttentionOutput, ".attention");
    if (!pre) y = norm(".attention", y);
    const Rows fed = fed_forward(layer, pre ? norm(".feed_forward", y) : y, around.segment);
    const Rows z = residual(reversible ? x : y, fed, LayerDropout::kFeedForwardOutput, ".feed_forward");
    if (reversible) *around.beside = y;
    return pre ? z : norm(".feed_forward", z);
  }

  Rows with_step_code(Rows x, int64_t pass) const {
    const Rows& codes = weight("depth.step_codes");
    for (size_t e = 0; e < x.size(); ++e) x[e] += codes[pass * config_.d_model + e % config_.d_model];
    return x;
  }

  // [T, D] -> [T]
  Rows halting_logits(const Rows& x) const {
    const Rows& w = weight("depth.halting.w");
    Rows logits(x.size() / config_.d_model, weight("depth.halting.bias").front());
    for (size_t e = 0; e < x.size(); ++e) logits[e / config_.d_model] += w[e % config_.d_model] * x[e];
    return logits;
  }

  int64_t heads_width() const { return config_.n_head * config_.d_head; }

  // [R, D] -> [R, 3, N, H], of so many rows of memory and those of a segment.
  Rows projections(int64_t layer, const Rows& rows, int64_t memory) const {
    const auto projected = [&](const char* name) {
      return matmul({row_count(rows), 3 * heads_width(), config_.d_model}, rows, false,
                    weight(prefix_of(layer) + ".attention." + name), true);
    };
    Rows all = projected("qkv");
    if (projects_global_tokens(config_)) {
      const int64_t width = 3 * heads_width();
      std::copy_n(projected("global_qkv").begin() + memory * width, config_.global_stream.tokens * width,
                  all.begin() + memory * width);
    }
    return all;
  }

  // [T, 3, N, H] -> [T, 2, N, H]
  Rows without_queries(const Rows& projected) const {
    Rows rows;
    for (auto row = projected.begin(); row != projected.end(); row += 3 * heads_width())
      rows.insert(rows.end(), row + heads_width(), row + 3 * heads_width());
    return rows;
  }

  // A memory [M, 2, N, H] before them, whose queries nobody reads.
  Rows with_memory(const Rows& memory, const Rows& projected) const {
    Rows rows;
    for (auto row = memory.begin(); row != memory.end(); row += 2 * heads_width()) {
      rows.insert(rows.end(), heads_width(), 0.0);
      rows.insert(rows.end(), row, row + 2 * heads_width());
    }
    rows.insert(rows.end(), projected.begin(), projected.end());
    return rows;
  }

  // `projected` [K, 3, N, H] begins with the memory.
  Rows attention(int64_t layer, Rows projected, const Surroundings& around) const {
    const std::string prefix = prefix_of(layer) + ".attention.";
    const int64_t keys = static_cast<int64_t>(projected.size()) / (3 * heads_width());
    const int64_t width = keeps_keys_and_values(config_) ? 2 * heads_width() : config_.d_model;
    const int64_t memory = static_cast<int64_t>(around.memory.size()) / width;
    const Rows own(projected.begin() + memory * 3 * heads_width(), projected.end());
    const MaskedAttention<Scalar> heads{
        .memory = memory,
        .queries = keys - memory,
        .heads = config_.n_head,
        .width = config_.d_head,
        .qkv = positions(layer).turned(std::move(projected), memory),
        .r = positions(layer).distance_rows(prefix, keys, encoded_distances(layer, keys)),
        .u = positions(layer).bias(prefix, "u"),
        .w = positions(layer).bias(prefix, "w"),
        .bias =
            sum_of(positions(layer).distance_biases(prefix, keys), positions(layer).log_of_span_masks(prefix, keys)),
        .gain = positions(layer).distance_gains(prefix, keys)};
    if (around.received != nullptr) *around.received = heads.received(around.sees);
    const std::vector<double> multipliers =
        stream_mask(config_.dropatt, layer_dropout_site(layer, LayerDropout::kAttentionScores),
                    config_.n_head * heads.queries * keys, around.segment);
    Rows attended = heads.output(around.sees, multipliers);
    if (has_infini_memory(config_)) {
      const InfiniMemory<Scalar> infini(config_, weight(prefix + "infini.gate"));
      attended = infini.mixed(std::move(attended), own, *around.state);
      infini.write(own, *around.state);
    }
    return matmul({heads.queries, config_.d_model, heads_width()}, attended, false, weight(prefix + "output"), true);
  }

  Rows fed_forward(int64_t layer, const Rows& x, int64_t segment) const {
    const std::string prefix = prefix_of(layer) + ".feed_forward.";
    const FeedForward<Scalar> network{x, weight(prefix + "w1"), weight(prefix + "b1"), weight(prefix + "w2"),
                                      weight(prefix + "b2")};
    const bool gelu = config_.block.activation == ActivationKind::kGelu;
    return feed_forward(network, gelu ? kernels::Activation::kGelu : kernels::Activation::kRelu,
                        stream_mask(config_.dropout, layer_dropout_site(layer, LayerDropout::kHidden),
                                    row_count(x) * config_.d_inner, segment))
        .y;
  }

  ModelConfig config_;
  std::vector<ModelConfig> layers_;
  Weights weights_;
  std::optional<StreamRandom> random_;
};

}  // namespace segue::oracle
