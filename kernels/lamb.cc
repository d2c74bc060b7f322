// LAMB: what the arguments must be, and the scalars of a step.
#include "kernels/lamb.h"

#include <cstdint>
#include <string_view>

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

void check_clipped(const Contract& contract, ConstTensorView clipped) {
  if (!clipped.empty()) contract.tensor("clipped", clipped, DType::kFloat64, {2});
}

void check_constants(const Contract& contract, double epsilon, double weight_decay) {
  contract.number("epsilon", epsilon, epsilon >= 0.0, "0 or more");
  contract.number("weight_decay", weight_decay, weight_decay >= 0.0, "0 or more");
}

LambDirection direction_of(double epsilon, double weight_decay) {
  return {.epsilon = static_cast<float>(epsilon), .weight_decay = static_cast<float>(weight_decay)};
}

// Returns how many there are.
int64_t check_chunks(const Contract& contract, ConstTensorView chunks) {
  const int64_t count = chunks.shape.rank() == 2 ? chunks.shape[0] : 0;
  contract.tensor("chunks", chunks, DType::kInt64, {count, kLambChunkFields});
  return count;
}

// Rows of two doubles; returns how many.
int64_t check_pairs(const Contract& contract, std::string_view name, ConstTensorView pairs) {
  const int64_t count = pairs.shape.rank() == 2 ? pairs.shape[0] : 0;
  contract.tensor(name, pairs, DType::kFloat64, {count, 2});
  return count;
}

bool is_inside(const LambChunk& chunk, int64_t parameters, int64_t moments, int64_t tensors) {
  return chunk.tensor >= 0 && chunk.tensor < tensors && chunk.count >= 0 && chunk.first >= 0 &&
         chunk.first + chunk.count <= parameters && chunk.own >= 0 && chunk.own + chunk.count <= moments;
}

// On the CPU; what lies on a GPU is taken on trust.
void check_extents(Device device, ConstTensorView chunks, int64_t parameters, int64_t moments, int64_t tensors) {
  if (device.is_cuda()) return;
  const int64_t* row = chunks.as<int64_t>();
  for (int64_t c = 0; c < chunks.shape[0]; ++c, row += kLambChunkFields) {
    if (is_inside({.tensor = row[0], .first = row[1], .own = row[2], .count = row[3]}, parameters, moments, tensors))
      continue;
    throw ContractError(
        "lamb: chunks[{}]: expected one of {} tensors, {} parameters and {} moments, found {} elements from {} and {} "
        "of tensor {}",
        c, tensors, parameters, moments, row[3], row[1], row[2], row[0]);
  }
}

}  // namespace

void lamb_moments(Queue& queue, const LambMoments& args) {
  const Contract contract("lamb_moments");
  contract.rank("parameters", args.parameters, 1);
  contract.rank("first_moment", args.first_moment, 1);
  contract.floats("gradients", args.gradients, args.first_moment.shape);
  contract.floats("second_moment", args.second_moment, args.first_moment.shape);
  contract.tensor("sums", args.sums, DType::kFloat64, {check_chunks(contract, args.chunks), 2});
  check_clipped(contract, args.clipped);
  check_constants(contract, args.epsilon, args.weight_decay);
  contract.disjoint("first_moment", args.first_moment, "second_moment", args.second_moment);
  contract.disjoint("first_moment", args.first_moment, "gradients", args.gradients);
  contract.disjoint("second_moment", args.second_moment, "gradients", args.gradients);
  contract.disjoint("first_moment", args.first_moment, "parameters", args.parameters);
  contract.disjoint("second_moment", args.second_moment, "parameters", args.parameters);
  contract.number("beta1", args.beta1, args.beta1 >= 0.0 && args.beta1 < 1.0, "[0, 1)");
  contract.number("beta2", args.beta2, args.beta2 >= 0.0 && args.beta2 < 1.0, "[0, 1)");
  const LambMomentScalars scalars{.beta1 = static_cast<float>(args.beta1),
                                  .rest1 = static_cast<float>(1.0 - args.beta1),
                                  .beta2 = static_cast<float>(args.beta2),
                                  .rest2 = static_cast<float>(1.0 - args.beta2),
                                  .direction = direction_of(args.epsilon, args.weight_decay)};
  check_extents(queue.device(), args.chunks, args.parameters.shape[0], args.first_moment.shape[0], INT64_MAX);
  queue.operations().lamb_moments(queue, {args, scalars});
}

void lamb_norms(Queue& queue, const LambNorms& args) {
  const Contract contract("lamb_norms");
  check_pairs(contract, "sums", args.sums);
  contract.tensor("starts", args.starts, DType::kInt64, {check_pairs(contract, "squares", args.squares) + 1});
  contract.disjoint("squares", args.squares, "sums", args.sums);
  queue.operations().lamb_norms(queue, args);
}

void lamb_step(Queue& queue, const LambStep& args) {
  const Contract contract("lamb_step");
  contract.rank("parameters", args.parameters, 1);
  contract.rank("first_moment", args.first_moment, 1);
  contract.floats("second_moment", args.second_moment, args.first_moment.shape);
  check_chunks(contract, args.chunks);
  const int64_t tensors = check_pairs(contract, "squares", args.squares);
  if (!args.compute_copy.empty())
    contract.tensor("compute_copy", args.compute_copy, DType::kBFloat16, args.parameters.shape);
  check_clipped(contract, args.clipped);
  check_constants(contract, args.epsilon, args.weight_decay);
  contract.disjoint("parameters", args.parameters, "first_moment", args.first_moment);
  contract.disjoint("parameters", args.parameters, "second_moment", args.second_moment);
  const LambStepScalars scalars{.learning_rate = static_cast<float>(args.learning_rate),
                                .direction = direction_of(args.epsilon, args.weight_decay)};
  check_extents(queue.device(), args.chunks, args.parameters.shape[0], args.first_moment.shape[0], tensors);
  queue.operations().lamb_step(queue, {args, scalars});
}

}  // namespace segue::kernels
