// One scan, forward and backward, on random inputs.
#include "core/bench/state_bench.h"

#include <algorithm>
#include <cmath>

#include "kernels/gate.h"
#include "kernels/head_norm.h"
#include "kernels/state_scan.h"

namespace segue {

namespace {

// All tensors of a scan, named as in its contract.
struct Scan {
  Shape of_tokens, of_gates, of_states;
  bool erases;
  OwnedTensor q, k, v, log_decay, beta, state, output, final;
  OwnedTensor kept, doutput, dq, dk, dv, dlog_decay, dbeta, dinitial;

  Scan(Workbench& workbench, const StateShape& s)
      : of_tokens{s.streams, s.tgt_len, s.heads, s.d_head},
        of_gates{s.streams, s.tgt_len, s.heads},
        of_states{s.streams, s.heads, s.d_head, s.d_head},
        erases(s.erases),
        q(workbench.random_tensor(of_tokens)),
        k(workbench.random_tensor(of_tokens)),
        v(workbench.random_tensor(of_tokens)),
        state(workbench.random_tensor(DType::kFloat32, of_states)),
        output(workbench.empty_tensor(of_tokens)),
        final(DType::kFloat32, of_states, workbench.device()) {
    for (OwnedTensor* rows : {&q, &k}) make_unit(workbench, *rows);
    if (s.decay == StateDecay::kFixed) log_decay = fixed_decays(workbench, s.heads);
    if (s.decay == StateDecay::kToken) log_decay = gates(workbench, of_gates, kernels::GateFormula::kDecay);
    if (s.decay == StateDecay::kChannel) log_decay = gates(workbench, of_tokens, kernels::GateFormula::kDecay);
    if (s.erases) beta = gates(workbench, of_gates, kernels::GateFormula::kShare);
  }

  void add_backward(Workbench& workbench) {
    const auto floats = [&](const Shape& shape) { return OwnedTensor(DType::kFloat32, shape, workbench.device()); };
    const Shape& s = of_states;
    kept = floats({s[0], s[1], kernels::kept_states(of_tokens[1], workbench.device().kind), s[2], s[3]});
    doutput = workbench.random_tensor(of_tokens);
    for (OwnedTensor* gradient : {&dq, &dk, &dv}) *gradient = workbench.empty_tensor(of_tokens);
    if (log_decay.shape().rank() > 1) dlog_decay = floats(log_decay.shape());
    if (erases) dbeta = floats(of_gates);
    dinitial = floats(of_states);
  }

  kernels::StateScanInputs inputs() const {
    return {.q = q.view(),
            .k = k.view(),
            .v = v.view(),
            .log_decay = log_decay.view(),
            .beta = beta.view(),
            .initial = state.view(),
            .scale = 1.0F / std::sqrt(static_cast<float>(of_tokens[3])),
            .erases = erases};
  }

  void forward(kernels::Queue& queue) {
    kernels::state_scan_forward(
        queue, {.inputs = inputs(), .output = output.view(), .final = final.view(), .kept = kept.view()});
  }

  void backward(kernels::Queue& queue) {
    kernels::state_scan_backward(queue, {.inputs = inputs(),
                                         .kept = kept.view(),
                                         .doutput = doutput.view(),
                                         .dfinal = {},
                                         .dq = dq.view(),
                                         .dk = dk.view(),
                                         .dv = dv.view(),
                                         .dlog_decay = dlog_decay.view(),
                                         .dbeta = dbeta.view(),
                                         .dinitial = dinitial.view()});
  }

  int64_t forward_bytes() const { return bytes_of({&q, &k, &v, &log_decay, &beta, &state, &output, &final}); }
  int64_t backward_bytes() const {
    return 2 * bytes_of({&kept}) +
           bytes_of({&q, &k, &v, &log_decay, &beta, &doutput, &dq, &dk, &dv, &dlog_decay, &dbeta, &dinitial});
  }

  static int64_t bytes_of(std::initializer_list<const OwnedTensor*> tensors) {
    int64_t bytes = 0;
    for (const OwnedTensor* tensor : tensors) bytes += tensor->view().bytes();
    return bytes;
  }

 private:
  static void make_unit(Workbench& workbench, OwnedTensor& rows) {
    const Shape& s = rows.shape();
    const int64_t count = s[0] * s[1] * s[2];
    const TensorView flat = rows.view().reshaped({count, s[3]});
    OwnedTensor scale(DType::kFloat32, {count}, workbench.device());
    kernels::head_norm_forward(
        workbench.queue(), {.inputs = {.norm = kernels::HeadNorm::kUnit, .x = flat}, .y = flat, .scale = scale.view()});
    workbench.queue().synchronize();
  }

  // A layer's at its beginning keep most of the state: here 1 - 1/20 of it, about.
  static OwnedTensor gates(Workbench& workbench, const Shape& shape, kernels::GateFormula formula) {
    const int64_t columns = shape[shape.rank() - 1];
    const int64_t rows = shape.elements() / columns;
    const auto filled = [&](float value) {
      OwnedTensor on_host(DType::kFloat32, {columns});
      std::fill_n(on_host.as<float>(), columns, value);
      return converted_copy(on_host.view(), DType::kFloat32, workbench.device());
    };
    const bool decays = formula == kernels::GateFormula::kDecay;
    const OwnedTensor x = workbench.random_tensor({rows, columns});
    const OwnedTensor bias = filled(decays ? -3.0F : 0.0F), rate = filled(0.0F);
    OwnedTensor made(DType::kFloat32, shape, workbench.device());
    kernels::gate_forward(workbench.queue(), {.formula = formula,
                                              .x = x.view(),
                                              .bias = bias.view(),
                                              .rate = decays ? rate.view() : ConstTensorView{},
                                              .gates = made.view().reshaped({rows, columns})});
    workbench.queue().synchronize();
    return made;
  }

  static OwnedTensor fixed_decays(Workbench& workbench, int64_t heads) {
    OwnedTensor on_host(DType::kFloat32, {heads});
    for (int64_t n = 0; n < heads; ++n) on_host.as<float>()[n] = std::log1p(-std::exp2(-5.0F - static_cast<float>(n)));
    return converted_copy(on_host.view(), DType::kFloat32, workbench.device());
  }
};

}  // namespace

void StateShape::describe(JsonFields& fields) {
  fields.optional("batch_size", streams, {.meaning = "batch size, B", .minimum = 1});
  fields.optional("heads", heads, {.meaning = "number of heads, N", .minimum = 1});
  fields.optional("d_head", d_head,
                  {.meaning = "width of a head's keys and values, H", .minimum = 1, .maximum = kernels::kMaxStateKeys});
  fields.optional("tgt_len", tgt_len, {.meaning = "length of a segment, T", .unit = "tokens", .minimum = 1});
  fields.optional("decay", decay, {.meaning = "share of the state that is kept before each token"});
  fields.optional("erases", erases,
                  {.meaning = "a token first erases what the state holds under its key (the delta rule)"});
}

// Of a token and head the forward has two products with the state, writing and reading, and a third where it erases;
// the backward two for each.
StateBench bench_state(Workbench& workbench, const Effort& effort, const StateShape& shape, bool forward_only) {
  Scan scan(workbench, shape);
  const double products = shape.erases ? 3.0 : 2.0;
  const double flops =
      2.0 * products * static_cast<double>(shape.streams * shape.tgt_len * shape.heads * shape.d_head * shape.d_head);
  const auto tokens = static_cast<double>(shape.streams * shape.tgt_len);
  StateBench bench;
  bench.measurements.push_back(
      {.name = "forward",
       .timing = time_calls(workbench.queue(), effort, [&] { scan.forward(workbench.queue()); }),
       .flops = flops,
       .bytes = static_cast<double>(scan.forward_bytes()),
       .tokens = tokens});
  bench.state_bytes = Scan::bytes_of({&scan.final});
  if (forward_only) return bench;
  scan.add_backward(workbench);
  const auto both = [&] {
    scan.forward(workbench.queue());
    scan.backward(workbench.queue());
  };
  bench.measurements.push_back({.name = "forward and backward",
                                .timing = time_calls(workbench.queue(), effort, both),
                                .flops = 3.0 * flops,
                                .bytes = static_cast<double>(scan.forward_bytes() + scan.backward_bytes()),
                                .tokens = tokens});
  bench.kept_bytes = Scan::bytes_of({&scan.kept});
  return bench;
}

}  // namespace segue
