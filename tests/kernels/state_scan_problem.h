// Problems of the scan of states, what the kernel makes of them, and what the oracle does.
#pragma once

#include <fmt/format.h>

#include "kernels/state_scan.h"
#include "tests/kernels/bfloat16.h"
#include "tests/oracle/state_scan.h"

namespace segue::kernels {

// What has a decay of its own.
enum class DecayShape : uint8_t { kNone, kHead, kToken, kChannel };

struct StateCase {
  int64_t b, t, n, k, v;
  DecayShape decay = DecayShape::kNone;
  bool erases = false;
  bool has_beta = true;
  bool has_initial = true;
  DType dtype = DType::kFloat32;

  std::string text() const {
    return fmt::format("B {} T {} N {} K {} V {} decay {} {} {} {} {}", b, t, n, k, v, static_cast<int>(decay),
                       erases ? "erases" : "", has_beta ? "beta" : "", has_initial ? "initial" : "", name_of(dtype));
  }
};

// Keys of about unit length, so that what is erased is what was written; decays and strengths between 0 and 1.
struct StateProblem {
  StateCase c;
  TestTensor q, k, v, log_decay, beta, initial, doutput, dfinal;

  explicit StateProblem(const StateCase& of)
      : c(of),
        q(cast(random_tensor({c.b, c.t, c.n, c.k}, 1), c.dtype)),
        k(cast(random_tensor({c.b, c.t, c.n, c.k}, 2, 1.0 / std::sqrt(static_cast<double>(c.k))), c.dtype)),
        v(cast(random_tensor({c.b, c.t, c.n, c.v}, 3), c.dtype)),
        initial(c.has_initial ? random_tensor({c.b, c.n, c.k, c.v}, 4) : TestTensor()),
        doutput(cast(random_tensor({c.b, c.t, c.n, c.v}, 5), c.dtype)),
        dfinal(random_tensor({c.b, c.n, c.k, c.v}, 6)) {
    const auto gates = [](const Shape& shape, uint16_t site, auto made) {
      TestTensor tensor = random_tensor(shape, site);
      for (int64_t e = 0; e < shape.elements(); ++e) tensor.as<float>()[e] = made(tensor.as<float>()[e]);
      return tensor;
    };
    const auto logarithm = [](float x) { return -std::log1p(std::exp(-x - 1.0F)); };
    if (c.decay == DecayShape::kHead) log_decay = gates({c.n}, 7, logarithm);
    if (c.decay == DecayShape::kToken) log_decay = gates({c.b, c.t, c.n}, 7, logarithm);
    if (c.decay == DecayShape::kChannel) log_decay = gates({c.b, c.t, c.n, c.k}, 7, logarithm);
    if (c.has_beta) beta = gates({c.b, c.t, c.n}, 8, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
  }

  StateScanInputs inputs() const {
    return {.q = q.view(),
            .k = k.view(),
            .v = v.view(),
            .log_decay = c.decay == DecayShape::kNone ? ConstTensorView{} : log_decay.view(),
            .beta = c.has_beta ? beta.view() : ConstTensorView{},
            .initial = c.has_initial ? initial.view() : ConstTensorView{},
            .scale = 0.7F,
            .erases = c.erases};
  }

  template <typename Scalar = double>
  oracle::StateScan<Scalar> of_head(int64_t b, int64_t n) const {
    const auto rows = [&](const TestTensor& from, int64_t width) {
      const std::vector<Scalar> all = oracle_values<Scalar>(from.view());
      std::vector<Scalar> picked;
      for (int64_t t = 0; t < c.t; ++t) {
        const auto first = all.begin() + ((b * c.t + t) * c.n + n) * width;
        picked.insert(picked.end(), first, first + width);
      }
      return picked;
    };
    const auto times = [&](int64_t width) { return static_cast<size_t>(c.t * width); };
    oracle::StateScan<Scalar> in{.t = static_cast<size_t>(c.t),
                                 .k_width = static_cast<size_t>(c.k),
                                 .v_width = static_cast<size_t>(c.v),
                                 .q = rows(q, c.k),
                                 .k = rows(k, c.k),
                                 .v = rows(v, c.v),
                                 .log_decay = std::vector<Scalar>(times(c.k)),
                                 .beta = std::vector<Scalar>(times(1), 1.0),
                                 .initial = std::vector<Scalar>(static_cast<size_t>(c.k * c.v)),
                                 .scale = static_cast<double>(0.7F),
                                 .erases = c.erases};
    if (c.decay == DecayShape::kChannel) in.log_decay = rows(log_decay, c.k);
    for (int64_t t = 0; t < c.t; ++t) {
      for (int64_t i = 0; i < c.k; ++i) {
        Scalar& decay = in.log_decay[static_cast<size_t>(t * c.k + i)];
        if (c.decay == DecayShape::kHead) decay = log_decay.as<float>()[n];
        if (c.decay == DecayShape::kToken) decay = log_decay.as<float>()[(b * c.t + t) * c.n + n];
      }
    }
    if (c.has_beta) in.beta = rows(beta, 1);
    if (c.has_initial) {
      const std::vector<Scalar> all = oracle_values<Scalar>(initial.view());
      const auto first = all.begin() + (b * c.n + n) * c.k * c.v;
      in.initial.assign(first, first + c.k * c.v);
    }
    return in;
  }
};

struct StateSolution {
  TestTensor output, final, kept, dq, dk, dv, dlog_decay, dbeta, dinitial;

  explicit StateSolution(const StateCase& c)
      : output(cast(unset_tensor({c.b, c.t, c.n, c.v}), c.dtype)),
        final(unset_tensor({c.b, c.n, c.k, c.v})),
        kept(unset_tensor({c.b, c.n, kept_states(c.t, test_device().kind), c.k, c.v})),
        dq(cast(unset_tensor({c.b, c.t, c.n, c.k}), c.dtype)),
        dk(cast(unset_tensor({c.b, c.t, c.n, c.k}), c.dtype)),
        dv(cast(unset_tensor({c.b, c.t, c.n, c.v}), c.dtype)),
        dinitial(unset_tensor({c.b, c.n, c.k, c.v})) {
    if (c.decay == DecayShape::kToken) dlog_decay = unset_tensor({c.b, c.t, c.n});
    if (c.decay == DecayShape::kChannel) dlog_decay = unset_tensor({c.b, c.t, c.n, c.k});
    if (c.has_beta) dbeta = unset_tensor({c.b, c.t, c.n});
  }
};

// What the gradient of the last state is: one tensor, or none, or what becomes the gradient of the first.
enum class LastGradient : uint8_t { kGiven, kNone, kOverwritten };

inline StateSolution solve(const StateProblem& x, int threads = 2, LastGradient last = LastGradient::kGiven) {
  Queue queue(test_device(), threads);
  StateSolution y(x.c);
  if (last == LastGradient::kOverwritten) y.dinitial = copy_of(x.dfinal.view());
  state_scan_forward(queue,
                     {.inputs = x.inputs(), .output = y.output.view(), .final = y.final.view(), .kept = y.kept.view()});
  state_scan_backward(queue, {.inputs = x.inputs(),
                              .kept = y.kept.view(),
                              .doutput = x.doutput.view(),
                              .dfinal = last == LastGradient::kGiven  ? x.dfinal.view()
                                        : last == LastGradient::kNone ? ConstTensorView{}
                                                                      : y.dinitial.view(),
                              .dq = y.dq.view(),
                              .dk = y.dk.view(),
                              .dv = y.dv.view(),
                              .dlog_decay = y.dlog_decay.view(),
                              .dbeta = y.dbeta.view(),
                              .dinitial = y.dinitial.view()});
  return y;
}

// The oracle's results of all heads, laid out as the tensors are, computed with this kind of number.
template <typename Scalar = double>
struct ExpectedStates {
  using Numbers = std::vector<Scalar>;
  Numbers output, final, dq, dk, dv, dlog_decay, dbeta, dinitial;

  explicit ExpectedStates(const StateProblem& x)
      : output(size(x.c.t * x.c.v, x.c)),
        final(size(x.c.k * x.c.v, x.c)),
        dq(size(x.c.t * x.c.k, x.c)),
        dk(size(x.c.t * x.c.k, x.c)),
        dv(size(x.c.t * x.c.v, x.c)),
        dbeta(size(x.c.t, x.c)),
        dinitial(size(x.c.k * x.c.v, x.c)) {
    const StateCase& c = x.c;
    Numbers of_channels(size(c.t * c.k, c));
    const Numbers all_doutput = oracle_values<Scalar>(x.doutput.view()),
                  all_dfinal = oracle_values<Scalar>(x.dfinal.view());
    for (int64_t b = 0; b < c.b; ++b) {
      for (int64_t n = 0; n < c.n; ++n) {
        const auto rows_from = [&](const Numbers& all, int64_t width) {
          Numbers picked;
          for (int64_t t = 0; t < c.t; ++t) {
            const auto first = all.begin() + ((b * c.t + t) * c.n + n) * width;
            picked.insert(picked.end(), first, first + width);
          }
          return picked;
        };
        const auto rows_to = [&](Numbers& all, const Numbers& rows, int64_t width) {
          for (int64_t t = 0; t < c.t; ++t)
            std::copy_n(rows.begin() + t * width, width, all.begin() + ((b * c.t + t) * c.n + n) * width);
        };
        const int64_t state = c.k * c.v;
        const int64_t place = (b * c.n + n) * state;
        const auto in = x.of_head<Scalar>(b, n);
        const auto results = oracle::state_scan(in);
        const auto to = oracle::state_scan_gradients<Scalar>(
            in, rows_from(all_doutput, c.v), {all_dfinal.begin() + place, all_dfinal.begin() + place + state});
        rows_to(output, results.output, c.v);
        std::ranges::copy(results.last(), final.begin() + place);
        rows_to(dq, to.q, c.k);
        rows_to(dk, to.k, c.k);
        rows_to(dv, to.v, c.v);
        rows_to(of_channels, to.log_decay, c.k);
        rows_to(dbeta, to.beta, 1);
        std::ranges::copy(to.initial, dinitial.begin() + place);
      }
    }
    if (c.decay == DecayShape::kChannel) dlog_decay = of_channels;
    if (c.decay == DecayShape::kToken) {
      for (size_t first = 0; first < of_channels.size(); first += static_cast<size_t>(c.k)) {
        Scalar sum = 0.0;
        for (int64_t i = 0; i < c.k; ++i) sum += of_channels[first + static_cast<size_t>(i)];
        dlog_decay.push_back(sum);
      }
    }
    if (!c.has_beta) dbeta.clear();
  }

 private:
  static size_t size(int64_t of_head, const StateCase& c) { return static_cast<size_t>(of_head * c.b * c.n); }
};

}  // namespace segue::kernels
