// Groups the targets, then runs one cluster after the other.
#include "core/head/adaptive_softmax.h"

#include <algorithm>
#include <map>

#include "core/tape/rows.h"
#include "kernels/linear_cross_entropy_products.h"
#include "kernels/token_clusters.h"

namespace segue {

using kernels::Queue;

namespace {

// The tensors that a replay of the adaptive softmax works with, besides its inputs.
struct AdaptiveSoftmaxSlots {
  Slot columns, rows, counts;  // of token_clusters; none with one cluster
  Slot nll;
  Slot workspace;
  std::vector<GradientUse> dx;  // per cluster; clusters that read the same x add to the same gradient

  AdaptiveSoftmaxSlots(Tape& tape, const AdaptiveSoftmaxInputs& in);
  void group_targets(Queue& queue, const Tape& tape, const AdaptiveSoftmaxInputs& in) const;
  void run_cluster(Queue& queue, const Tape& tape, const AdaptiveSoftmaxInputs& in, size_t i) const;
  std::vector<Slot> all(const AdaptiveSoftmaxInputs& in) const;

 private:
  kernels::LinearCrossEntropyGradient gradient(const Tape& tape, const AdaptiveSoftmaxInputs& in, size_t i) const;
};

int64_t gates_of(const AdaptiveSoftmaxInputs& in, size_t i) { return i == 0 ? std::ssize(in.cutoffs) : 0; }

kernels::LinearCrossEntropyExtents extents_of(const Tape& tape, const AdaptiveSoftmaxInputs& in, size_t i) {
  const Shape& table = in.clusters[i].table.value.shape;
  return {.rows = tape.shape(in.targets).elements(),
          .width = table[1],
          .classes = table[0] + gates_of(in, i),
          .listed = i > 0,
          .activations = tape.activations()};
}

AdaptiveSoftmaxSlots::AdaptiveSoftmaxSlots(Tape& tape, const AdaptiveSoftmaxInputs& in) {
  const int64_t count = tape.shape(in.targets).elements();
  const auto clusters = std::ssize(in.clusters);
  if (clusters > 1) {
    columns = tape.new_slot({clusters, count}, DType::kInt32);
    rows = tape.new_slot({clusters, count}, DType::kInt32);
    counts = tape.new_slot({clusters}, DType::kInt32);
  }
  nll = tape.new_slot({count});
  int64_t elements = 0;
  std::map<int, GradientUse> uses;
  for (size_t i = 0; i < in.clusters.size(); ++i) {
    elements = std::max(elements, kernels::linear_cross_entropy_workspace(extents_of(tape, in, i), tape.device().kind));
    const Value& x = in.clusters[i].x;
    if (!uses.contains(x.gradient.index)) uses[x.gradient.index] = tape.overwrite_gradient(x);
    dx.push_back(uses[x.gradient.index]);
  }
  workspace = tape.new_slot({elements});
}

void AdaptiveSoftmaxSlots::group_targets(Queue& queue, const Tape& tape, const AdaptiveSoftmaxInputs& in) const {
  if (!columns.exists()) return;
  const int64_t vocabulary = in.cutoffs.back() + in.clusters.back().table.value.shape[0];
  const ConstTensorView targets = tape.read(in.targets);
  kernels::token_clusters(queue, {.targets = targets.reshaped({targets.elements()}),
                                  .cutoffs = in.cutoffs,
                                  .vocabulary = vocabulary,
                                  .gates = in.reversed ? kernels::GateOrder::kReversed : kernels::GateOrder::kAscending,
                                  .columns = tape.write(columns),
                                  .rows = tape.write(rows),
                                  .counts = tape.write(counts)});
}

kernels::LinearCrossEntropyGradient AdaptiveSoftmaxSlots::gradient(const Tape& tape, const AdaptiveSoftmaxInputs& in,
                                                                   size_t i) const {
  if (!dx[i].exists()) return {};
  const auto reads_same_x = [&](size_t j) { return dx[j].slot.index == dx[i].slot.index; };
  bool is_first = true;
  for (size_t j = 0; j < i; ++j) is_first = is_first && !reads_same_x(j);
  kernels::LinearCrossEntropyGradient out{.scale = tape.info().loss_scale,
                                          .dx = rows_of(tape.write(dx[i])),
                                          .accumulate_dx = !is_first,
                                          .dtable = in.clusters[i].table.gradient,
                                          .dbias = in.clusters[i].bias.gradient};
  if (i == 0 && !in.cutoffs.empty()) {
    out.dgates = in.cluster_weight.gradient;
    out.dgate_bias = in.cluster_bias.gradient;
  }
  return out;
}

// The first cluster sees every token and sets its loss, that of one not scored to 0; the others add to those of their
// own.
void AdaptiveSoftmaxSlots::run_cluster(Queue& queue, const Tape& tape, const AdaptiveSoftmaxInputs& in,
                                       size_t i) const {
  const AdaptiveSoftmaxCluster& cluster = in.clusters[i];
  const auto place = static_cast<int64_t>(i);
  const int64_t count = tape.shape(nll).elements();
  kernels::LinearCrossEntropy args{.x = rows_of(tape.read(cluster.x.data)),
                                   .table = cluster.table.operand(),
                                   .bias = cluster.bias.value,
                                   .columns = tape.read(in.targets).reshaped({count}),
                                   .nll = tape.write(nll),
                                   .accumulate_nll = i > 0,
                                   .workspace = tape.write(workspace),
                                   .gradient = gradient(tape, in, i)};
  if (columns.exists()) args.columns = tape.read(columns).rows(place, 1).reshaped({count});
  if (i == 0 && !in.cutoffs.empty()) {
    args.gates = in.cluster_weight.operand();
    args.gate_bias = in.cluster_bias.value;
  }
  if (i > 0) {
    args.rows = tape.read(rows).rows(place, 1).reshaped({count});
    args.count = tape.read(counts).rows(place, 1);
  }
  kernels::linear_cross_entropy(queue, args);
}

std::vector<Slot> AdaptiveSoftmaxSlots::all(const AdaptiveSoftmaxInputs& in) const {
  std::vector<Slot> slots{columns, rows, counts, nll, workspace};
  for (size_t i = 0; i < in.clusters.size(); ++i) slots.insert(slots.end(), {in.clusters[i].x.data, dx[i].slot});
  return slots;
}

std::vector<ConstTensorView> gradients_of(const AdaptiveSoftmaxInputs& in) {
  std::vector<ConstTensorView> gradients;
  if (!in.cutoffs.empty()) gradients = {in.cluster_weight.gradient, in.cluster_bias.gradient};
  for (const AdaptiveSoftmaxCluster& cluster : in.clusters)
    gradients.insert(gradients.end(), {cluster.table.gradient, cluster.bias.gradient});
  return gradients;
}

// Counts the frequent words alone, of all tokens: how many are scored or of other clusters depends on the text.
Flops flops_of(const Tape& tape, const AdaptiveSoftmaxInputs& in) {
  const Shape& table = in.clusters.front().table.value.shape;
  const auto columns = static_cast<double>(table[0] + std::ssize(in.cutoffs));
  const double once =
      2.0 * static_cast<double>(tape.shape(in.targets).elements()) * columns * static_cast<double>(table[1]);
  return {.forward = once, .backward = 2.0 * once};
}

// As if every token were of every cluster: how many are depends on the text.
std::vector<RecordedProduct> products_of(const Tape& tape, const AdaptiveSoftmaxInputs& in,
                                         const AdaptiveSoftmaxSlots& slots) {
  std::vector<RecordedProduct> products;
  for (size_t i = 0; i < in.clusters.size(); ++i)
    for (const kernels::ProductShape& shape :
         kernels::linear_cross_entropy_products(extents_of(tape, in, i), gates_of(in, i), slots.dx[i].exists()))
      products.push_back({.shape = shape});
  return products;
}

}  // namespace

// The gradient of a loss is known with the loss, and computing both at once keeps no logits: nothing is left to the
// backward, where the gradients of all x have this operation as their last use and are overwritten.
Slot adaptive_softmax(Tape& tape, const AdaptiveSoftmaxInputs& inputs) {
  const AdaptiveSoftmaxSlots slots(tape, inputs);
  tape.keep(slots.nll);
  tape.record({
      .name = "adaptive_softmax",
      .forward_slots = slots.all(inputs),
      .forward =
          [=, &tape](Queue& queue) {
            slots.group_targets(queue, tape, inputs);
            for (size_t i = 0; i < inputs.clusters.size(); ++i) slots.run_cluster(queue, tape, inputs, i);
          },
      .backward_slots = {},
      .backward = nullptr,
      .parameter_gradients = gradients_of(inputs),
      .flops = flops_of(tape, inputs),
      .forward_products = products_of(tape, inputs, slots),
  });
  return slots.nll;
}

}  // namespace segue
