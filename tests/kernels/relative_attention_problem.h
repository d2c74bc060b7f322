// A relative attention to be solved in a test: random inputs, the fused operation's outputs, and the oracle's view.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/relative_attention.h"
#include "tests/kernels/testing.h"
#include "tests/oracle/relative_attention.h"

namespace segue::kernels {

// What a query sees, by its place and a key's, both counted from the first key of the memory.
struct Pattern {
  std::string name = {};
  std::function<bool(int64_t head, int64_t query, int64_t key)> sees = {};
  bool by_head = false;  // whether heads differ
  int64_t ways = 0;      // heads that differ are alike so many apart; 0: none are

  bool exists() const { return sees != nullptr; }
  // Of each group of a schedule the first one that sees the same.
  std::vector<int64_t> first_alike(int64_t heads) const {
    std::vector<int64_t> first;
    for (int64_t group = 0; group < (by_head ? heads : 1); ++group) first.push_back(ways > 0 ? group % ways : group);
    return first;
  }
};

struct AttentionCase {
  int64_t b = 1, t = 1, m = 0, n = 1, h = 8;
  int64_t p = 0;  // 0: one position per key
  int64_t window = 0;
  float dropatt = 0.0F;
  double deviation = 1.0;  // of queries and keys
  DType dtype = DType::kFloat32;
  bool has_distances = true;  // false: neither r nor w
  bool has_biases = true;     // false: neither u nor w
  int64_t e = 0;              // biases by distance, of cases without distances; 0: none
  int64_t g = 0;              // gains by distance, of cases with none of these (with_gains); 0: none
  Pattern pattern = {};       // what a schedule of tiles lists; none: without one
  int64_t document = 0;       // mean length of the documents that queries do not see beyond; 0: no documents
  bool ahead = false;         // whether queries see the keys after their own

  int64_t keys() const { return m + t; }
  bool sees(int64_t head, int64_t i, int64_t j) const {
    const int64_t distance = m + i - j;
    if (distance < 0 && !ahead) return false;
    return pattern.exists() ? pattern.sees(head, m + i, j) : window == 0 || distance < window;
  }
  bool sees(int64_t stream, int64_t head, int64_t i, int64_t j) const {
    return sees(head, i, j) && (document == 0 || m + i - j <= reach(stream, i)) && j - m - i <= seen_ahead(stream, i);
  }
  // Whether a document begins at this place, counted from the first key of the memory.
  bool begins_document(int64_t stream, int64_t place) const {
    const RandomSequence random{.seed = 11, .step = 0, .site = 0};
    return random_bits(random, static_cast<uint64_t>(stream * 4096 + place)) % static_cast<uint64_t>(document) == 0;
  }
  // Beyond all keys where the query's document began before them.
  int64_t reach(int64_t stream, int64_t i) const {
    int64_t place = m + i;
    while (place >= 0 && !begins_document(stream, place)) --place;
    return place < 0 ? m + i + 5 : m + i - place;
  }
  int64_t seen_ahead(int64_t stream, int64_t i) const {
    if (!ahead) return 0;
    int64_t place = m + i + 1;
    while (place < keys() && (document == 0 || !begins_document(stream, place))) ++place;
    return place - 1 - m - i;
  }
  int64_t positions() const {
    if (!has_distances) return 0;
    return p == 0 ? keys() : p;
  }
  Shape u_shape() const { return {has_biases ? n : 0, h}; }
  Shape w_shape() const { return {has_biases && has_distances ? n : 0, h}; }
  Shape bias_shape() const { return {e > 0 ? n : 0, e}; }
  Shape gain_shape() const { return {g > 0 ? n : 0, g}; }
};

// The same with gains: attention by content alone but for them.
inline AttentionCase with_gains(AttentionCase c, int64_t g) {
  c.has_distances = c.has_biases = false;
  c.g = g;
  return c;
}

inline std::string text_of(const AttentionCase& c) {
  return fmt::format("B {} T {} M {} N {} H {} P {} window {} dropatt {} biases {} E {} gains {} {} documents {} {}",
                     c.b, c.t, c.m, c.n, c.h, c.positions(), c.window, c.dropatt, c.has_biases, c.e, c.g,
                     c.pattern.name, c.document, c.ahead ? "ahead" : "");
}

inline Dropout dropatt_of(const AttentionCase& c) {
  return {.p = c.dropatt, .random = {.seed = 77, .step = 5, .site = 3}, .first_element = 12345};
}

inline int64_t attention_workspace(const AttentionCase& c, DeviceKind device, int64_t score_bytes = kScoreBytes) {
  return relative_attention_workspace({.streams = c.b,
                                       .tgt_len = c.t,
                                       .keys = c.keys(),
                                       .positions = c.positions(),
                                       .biases = c.e + c.g,
                                       .heads = c.n,
                                       .d_head = c.h,
                                       .activations = c.dtype,
                                       .score_bytes = score_bytes},
                                      device);
}

// The schedule of a case with a pattern, where operations read it.
class ScheduledTiles {
 public:
  explicit ScheduledTiles(const AttentionCase& c) {
    if (!c.pattern.exists()) return;
    schedule_.emplace(
        c.t, c.m, c.pattern.first_alike(c.n),
        [&c](int64_t group, int64_t i, uint64_t* keys) {
          for (int64_t j = 0; j < c.keys(); ++j)
            if (c.sees(group, i, j)) keys[j / 64] |= uint64_t{1} << (j % 64);
        },
        c.ahead);
    const std::vector<int64_t>& words = schedule_->words();
    words_ = TestTensor(DType::kInt64, {static_cast<int64_t>(words.size())});
    std::ranges::copy(words, words_.as<int64_t>());
  }
  VisibleTiles tiles() const { return schedule_ ? schedule_->tiles_at(words_.view().as<int64_t>()) : VisibleTiles{}; }

 private:
  std::optional<TileSchedule> schedule_;
  TestTensor words_;
};

inline TestTensor reach_tensor(const AttentionCase& c) {
  if (c.document == 0) return {};
  TestTensor reach(DType::kInt32, {c.b, c.t});
  for (int64_t b = 0; b < c.b; ++b) {
    for (int64_t i = 0; i < c.t; ++i) reach.as<int32_t>()[b * c.t + i] = static_cast<int32_t>(c.reach(b, i));
  }
  return reach;
}

inline TestTensor ahead_tensor(const AttentionCase& c) {
  if (!c.ahead) return {};
  TestTensor ahead(DType::kInt32, {c.b, c.t});
  for (int64_t b = 0; b < c.b; ++b) {
    for (int64_t i = 0; i < c.t; ++i) ahead.as<int32_t>()[b * c.t + i] = static_cast<int32_t>(c.seen_ahead(b, i));
  }
  return ahead;
}

struct AttentionProblem {
  AttentionCase extents;
  ScheduledTiles scheduled;
  TestTensor reach, ahead;
  TestTensor qkv, memory_kv, r, u, w, bias, gain, doutput;

  explicit AttentionProblem(const AttentionCase& c)
      : extents(c),
        scheduled(c),
        reach(reach_tensor(c)),
        ahead(ahead_tensor(c)),
        qkv(cast(random_tensor({c.b, c.t, 3, c.n, c.h}, 1, c.deviation), c.dtype)),
        memory_kv(cast(random_tensor({c.b, c.m, 2, c.n, c.h}, 2, c.deviation), c.dtype)),
        r(cast(random_tensor({c.positions(), c.n, c.h}, 3, c.deviation), c.dtype)),
        u(random_tensor(c.u_shape(), 4)),
        w(random_tensor(c.w_shape(), 5)),
        bias(random_tensor(c.bias_shape(), 7)),
        gain(random_tensor(c.gain_shape(), 8)),
        doutput(cast(random_tensor({c.b, c.t, c.n, c.h}, 6), c.dtype)) {}
};

// Whatever a part of the memory is taken for.
inline const float kNaNOfAnyDType = std::bit_cast<float>(0xFFFFFFFFU);

// Overwritten outputs and the workspace begin as NaN; the accumulated outputs as `before`.
struct AttentionSolution {
  TestTensor output, lse, workspace, dqkv, dmemory_kv, dr, du, dw, dbias, dgain;

  explicit AttentionSolution(const AttentionCase& c, float before = 0.0F)
      : output(cast(unset_tensor({c.b, c.t, c.n, c.h}), c.dtype)),
        lse(unset_tensor({c.b, c.n, c.t})),
        workspace(filled_tensor({attention_workspace(c, test_device().kind)}, kNaNOfAnyDType)),
        dqkv(cast(unset_tensor({c.b, c.t, 3, c.n, c.h}), c.dtype)),
        dmemory_kv(cast(unset_tensor({c.b, c.m, 2, c.n, c.h}), c.dtype)),
        dr(cast(unset_tensor({c.positions(), c.n, c.h}), c.dtype)),
        du(filled_tensor(c.u_shape(), before)),
        dw(filled_tensor(c.w_shape(), before)),
        dbias(unset_tensor(c.bias_shape())),
        dgain(unset_tensor(c.gain_shape())) {}

  std::vector<std::pair<std::string, ConstTensorView>> results() const {
    return {{"output", output.view()}, {"lse", lse.view()}, {"dqkv", dqkv.view()}, {"dmemory_kv", dmemory_kv.view()},
            {"dr", dr.view()},         {"du", du.view()},   {"dw", dw.view()},     {"dgain", dgain.view()},
            {"dbias", dbias.view()}};
  }
};

inline RelativeAttentionInputs inputs_of(const AttentionProblem& x) {
  return {.qkv = x.qkv.view(),
          .memory_kv = x.memory_kv.view(),
          .r = x.r.view(),
          .u = x.u.view(),
          .w = x.w.view(),
          .bias = x.bias.view(),
          .gain = x.gain.view(),
          .window = x.extents.window,
          .tiles = x.scheduled.tiles(),
          .reach = x.reach.view(),
          .ahead = x.ahead.view(),
          .dropout = dropatt_of(x.extents)};
}

inline RelativeAttentionForward forward_args(const AttentionProblem& x, AttentionSolution& y) {
  return {.inputs = inputs_of(x), .output = y.output.view(), .lse = y.lse.view()};
}

inline RelativeAttentionBackward backward_args(const AttentionProblem& x, AttentionSolution& y) {
  return {.inputs = inputs_of(x),
          .doutput = x.doutput.view(),
          .output = y.output.view(),
          .lse = y.lse.view(),
          .workspace = y.workspace.view(),
          .dqkv = y.dqkv.view(),
          .dmemory_kv = y.dmemory_kv.view(),
          .dr = y.dr.view(),
          .du = y.du.view(),
          .dw = y.dw.view(),
          .dbias = y.dbias.view(),
          .dgain = y.dgain.view()};
}

inline AttentionSolution solve(const AttentionProblem& x, int threads = 2, float before = 0.0F) {
  Queue queue(test_device(), threads);
  AttentionSolution y(x.extents, before);
  relative_attention_forward(queue, forward_args(x, y));
  relative_attention_backward(queue, backward_args(x, y));
  return y;
}

// The keys of the document of each query of each stream: the first, 0 where it began before and without documents, and
// the one behind the last that may be seen.
struct KeysOfDocument {
  int64_t first = 0, end = 0;
};
inline std::vector<KeysOfDocument> keys_of_documents(const AttentionCase& c) {
  std::vector<KeysOfDocument> found(static_cast<size_t>(c.b * c.t));
  for (int64_t b = 0; b < c.b; ++b) {
    for (int64_t i = 0; i < c.t; ++i) {
      const int64_t reach = c.document > 0 ? c.reach(b, i) : c.keys();
      found[static_cast<size_t>(b * c.t + i)] = {std::max<int64_t>(0, c.m + i - reach),
                                                 c.m + i + 1 + c.seen_ahead(b, i)};
    }
  }
  return found;
}

template <typename Scalar = double>
oracle::AttentionTensors<Scalar> oracle_inputs(const AttentionProblem& x) {
  const AttentionCase& c = x.extents;
  const auto size = [](int64_t extent) { return static_cast<size_t>(extent); };
  const int64_t positions = c.has_distances ? c.positions() : 1;
  const auto values_or_zeros = [](const TestTensor& tensor, int64_t elements) {
    return tensor.shape().elements() == 0 ? std::vector<Scalar>(static_cast<size_t>(elements))
                                          : oracle_values<Scalar>(tensor.view());
  };
  const auto sees = [c, documents = keys_of_documents(c)](size_t b, size_t n, size_t i, size_t j) {
    const auto key = static_cast<int64_t>(j);
    const KeysOfDocument& own = documents[b * static_cast<size_t>(c.t) + i];
    return c.sees(static_cast<int64_t>(n), static_cast<int64_t>(i), key) && key >= own.first && key < own.end;
  };
  return {{size(c.b), size(c.t), size(c.m), size(c.n), size(c.h), size(positions), sees, size(c.e), size(c.g)},
          oracle_values<Scalar>(x.qkv.view()),
          oracle_values<Scalar>(x.memory_kv.view()),
          values_or_zeros(x.r, positions * c.n * c.h),
          values_or_zeros(x.u, c.n * c.h),
          values_or_zeros(x.w, c.n * c.h),
          values_or_zeros(x.bias, 0),
          values_or_zeros(x.gain, 0)};
}

// dropatt's multipliers, one element at a time as the contract numbers them.
inline std::vector<double> oracle_multipliers(const AttentionCase& c) {
  const Dropout dropout = dropatt_of(c);
  const double kept = 1.0 / (1.0 - static_cast<double>(dropout.p));
  std::vector<double> multipliers(static_cast<size_t>(c.b * c.n * c.t * c.keys()), 1.0);
  if (dropout.p == 0.0F) return multipliers;
  for (size_t element = 0; element < multipliers.size(); ++element) {
    const uint32_t bits = random_bits(dropout.random, dropout.first_element + element);
    multipliers[element] = bits >= dropout_threshold(dropout.p) ? kept : 0.0;
  }
  return multipliers;
}

// The results of another implementation, by the names of AttentionSolution::results.
using AttentionResults = std::map<std::string, std::vector<double>>;

inline AttentionResults oracle_results(const AttentionProblem& problem) {
  auto inputs = oracle_inputs(problem);
  const std::vector<double> multipliers = oracle_multipliers(problem.extents);
  const auto forward = oracle::relative_attention(inputs, multipliers);
  const auto gradients =
      oracle::relative_attention_gradients(inputs, multipliers, oracle_values(problem.doutput.view()));
  return {
      {"output", forward.output}, {"lse", forward.lse}, {"dqkv", gradients.qkv}, {"dmemory_kv", gradients.memory_kv},
      {"dr", gradients.r},        {"du", gradients.u},  {"dw", gradients.w},     {"dgain", gradients.gain},
      {"dbias", gradients.bias}};
}

}  // namespace segue::kernels
