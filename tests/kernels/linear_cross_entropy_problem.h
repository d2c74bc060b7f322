// A linear layer with targets, and what the operation makes of it, for the tests of both precisions.
#pragma once

#include <vector>

#include "kernels/linear_cross_entropy.h"
#include "tests/kernels/bfloat16.h"
#include "tests/kernels/testing.h"
#include "tests/oracle/linear_cross_entropy.h"

namespace segue::kernels {

// Which rows count: without a list all, or those that are scored; or those on a list of all, of some, of none.
enum class Listed { kAll, kScored, kEvery, kSome, kNone };

struct LayerSize {
  int64_t rows, width, table, gates;
  Listed listed;
};

struct LayerResults;

struct LayerProblem {
  LayerSize size;
  DType dtype;
  float scale = 1.0F / static_cast<float>(size.rows);
  int64_t scratch_bytes = kScratchBytes;
  std::vector<int32_t> columns, rows;
  TestTensor x, table, bias, gates, gate_bias;
  TestTensor targets, row_list, count;

  explicit LayerProblem(const LayerSize& of, DType activations = DType::kFloat32)
      : size(of),
        dtype(activations),
        x(cast(random_tensor({of.rows, of.width}, 1), activations)),
        table(
            cast(random_tensor({of.table, of.width}, 2, 3.0 / std::sqrt(static_cast<double>(of.width))), activations)),
        bias(random_tensor({of.table}, 3)),
        gates(cast(random_tensor({of.gates, of.width}, 4), activations)),
        gate_bias(random_tensor({of.gates}, 5)) {
    const double classes = static_cast<double>(of.table + of.gates);
    for (int64_t i = 0; i < of.rows; ++i) {
      const auto number = static_cast<uint64_t>(i);
      columns.push_back(static_cast<int32_t>(random_uniform({1, 2, 3}, number) * classes));
      const bool some = random_uniform({1, 2, 4}, number) < 0.6;
      const bool by_chance = of.listed == Listed::kSome || of.listed == Listed::kScored;
      if (by_chance ? some : of.listed != Listed::kNone) rows.push_back(static_cast<int32_t>(i));
    }
    std::vector<int32_t> padded = rows;
    padded.resize(columns.size(), -99);
    std::vector<int32_t> known(columns.size(), has_list() ? -99 : -1);  // of rows that are not listed nothing is
    for (const int32_t row : rows) known[static_cast<size_t>(row)] = columns[static_cast<size_t>(row)];
    targets = index_tensor(known);
    row_list = index_tensor(padded);
    count = index_tensor({static_cast<int32_t>(rows.size())});
  }

  bool has_list() const { return size.listed != Listed::kAll && size.listed != Listed::kScored; }

  static TestTensor joined(const TestTensor& first, const TestTensor& second) {
    Shape shape = first.shape();
    Shape both{shape[0] + second.shape()[0]};
    if (shape.rank() == 2) both.append(shape[1]);
    TestTensor joined(first.view().dtype, both);
    copy_tensor(joined.view().rows(0, shape[0]), first.view(), test_device());
    copy_tensor(joined.view().rows(shape[0], second.shape()[0]), second.view(), test_device());
    return joined;
  }

  oracle::LinearLayer<double> oracle_layer() const {
    return {oracle_values(x.view()), oracle_values(joined(table, gates).view()),
            oracle_values(joined(bias, gate_bias).view()), size.width};
  }

  // The largest of the two terms of dx that may cancel: scale * w.
  double term_of_dx() const { return static_cast<double>(scale) * largest(oracle_values(table.view())); }

  LinearCrossEntropy arguments(LayerResults& results, bool accumulate) const;
  LayerResults run(int threads, bool accumulate) const;
  std::vector<double> expected_nll(const LayerResults& before, const std::vector<double>& added) const;
  std::vector<double> expected_dx(const LayerResults& before, const std::vector<double>& added) const;
};

// The outputs: before a run, what they hold then.
struct LayerResults {
  bool accumulate;
  TestTensor nll, dx, dtable, dbias, dgates, dgate_bias, workspace;

  LayerResults(const LayerProblem& problem, bool accumulates)
      : accumulate(accumulates),
        nll(random_tensor({problem.size.rows}, 10)),
        dx(accumulates ? random_tensor(problem.x.shape(), 11) : unset_tensor(problem.x.shape())),
        dtable(random_tensor(problem.table.shape(), 12)),
        dbias(random_tensor(problem.bias.shape(), 13)),
        dgates(random_tensor(problem.gates.shape(), 14)),
        dgate_bias(random_tensor(problem.gate_bias.shape(), 15)),
        workspace(unset_tensor({linear_cross_entropy_workspace({.rows = problem.size.rows,
                                                                .width = problem.size.width,
                                                                .classes = problem.size.table + problem.size.gates,
                                                                .listed = problem.has_list(),
                                                                .activations = problem.dtype,
                                                                .scratch_bytes = problem.scratch_bytes},
                                                               test_device().kind)})) {
    dx = cast(std::move(dx), problem.dtype);
  }

  std::vector<double> dw() const { return oracle_values(LayerProblem::joined(dtable, dgates).view()); }
  std::vector<double> db() const { return oracle_values(LayerProblem::joined(dbias, dgate_bias).view()); }
};

inline LinearCrossEntropy LayerProblem::arguments(LayerResults& results, bool accumulate) const {
  LinearCrossEntropy args{.x = x.view(),
                          .table = table.view(),
                          .bias = bias.view(),
                          .gates = gates.view(),
                          .gate_bias = gate_bias.view(),
                          .columns = targets.view(),
                          .nll = results.nll.view(),
                          .accumulate_nll = accumulate,
                          .workspace = results.workspace.view(),
                          .scratch_bytes = scratch_bytes,
                          .gradient = {.scale = scale,
                                       .dx = results.dx.view(),
                                       .accumulate_dx = accumulate,
                                       .dtable = results.dtable.view(),
                                       .dbias = results.dbias.view(),
                                       .dgates = results.dgates.view(),
                                       .dgate_bias = results.dgate_bias.view()}};
  if (has_list()) {
    args.rows = row_list.view();
    args.count = count.view();
  }
  return args;
}

inline LayerResults LayerProblem::run(int threads, bool accumulate) const {
  LayerResults results(*this, accumulate);
  Queue queue(test_device(), threads);
  linear_cross_entropy(queue, arguments(results, accumulate));
  return results;
}

// Rows that a list leaves out keep what they had; without one, the loss of those not scored is 0.
inline std::vector<double> LayerProblem::expected_nll(const LayerResults& before,
                                                      const std::vector<double>& added) const {
  std::vector<double> expected = oracle_values(before.nll.view());
  if (!has_list() && !before.accumulate) expected.assign(expected.size(), 0.0);
  for (const int32_t row : rows) {
    double& to = expected[static_cast<size_t>(row)];
    to = added[static_cast<size_t>(row)] + (before.accumulate ? to : 0.0);
  }
  return expected;
}

inline std::vector<double> LayerProblem::expected_dx(const LayerResults& before,
                                                     const std::vector<double>& added) const {
  return before.accumulate ? oracle::sum_of(oracle_values(before.dx.view()), added) : added;
}

// The losses and gradients of a path that rounds to bfloat16 after every operation.
struct NaiveLayer {
  std::vector<double> nll;
  oracle::LinearLayer<double> gradient;

  NaiveLayer(const oracle::LinearLayer<double>& layer, const std::vector<int32_t>& columns,
             const std::vector<int32_t>& rows, double scale)
      : nll(columns.size()),
        gradient{std::vector<double>(layer.x.size()), std::vector<double>(layer.w.size()),
                 std::vector<double>(layer.b.size()), layer.width} {
    if (rows.empty()) return;
    const auto count = static_cast<int64_t>(rows.size()), classes = static_cast<int64_t>(layer.b.size());
    auto chosen = oracle::chosen_rows(layer, columns, rows);
    chosen.logits = rounded(chosen.logits);
    const std::vector<double> losses = oracle::cross_entropy(chosen.logits, chosen.targets).nll;
    const std::vector<double> dz = rounded(oracle::cross_entropy_gradient(chosen.logits, chosen.targets, scale));
    const std::vector<double> dx = rounded(oracle::matmul({count, layer.width, classes}, dz, false, layer.w, false));
    for (size_t i = 0; i < rows.size(); ++i) {
      nll[static_cast<size_t>(rows[i])] = losses[i];
      const auto width = layer.width;
      std::copy_n(dx.begin() + static_cast<int64_t>(i) * width, width, gradient.x.begin() + rows[i] * width);
    }
    gradient.w = oracle::matmul({classes, layer.width, count}, dz, true, chosen.x, false);
    gradient.b = oracle::column_sums(dz, classes);
  }
};

}  // namespace segue::kernels
