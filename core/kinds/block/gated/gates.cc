#include "core/kinds/block/gated/gates.h"

#include <algorithm>
#include <utility>

#include "core/kinds/block/gated/options.h"
#include "core/tape/element_gates.h"
#include "core/tape/operations.h"
#include "core/tape/rows.h"
#include "kernels/blend.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"

namespace segue {

using kernels::Queue;

namespace {

// tanh(v) = -1 + 2 s(2 v): what a share of 1 and the rest of -1 are. `x` [B, T, D] float32, whose gradient nothing else
// may have: [B, T, D] of activations.
class Squash {
 public:
  Squash(Tape& tape, const Shape& shape) : tape_(tape), shape_(shape) {
    const int64_t width = shape[2];
    OwnedTensor one(DType::kFloat32, {1, width}), rows(DType::kInt32, {shape.elements() / width});
    std::fill_n(one.as<float>(), width, 1.0F);
    std::fill_n(rows.as<int32_t>(), rows.shape().elements(), 0);
    one_ = tape.constant(one, tape.activations());
    rows_ = tape.constant(rows, DType::kInt32);
  }

  // What one pass needs, and no other.
  struct Passing {
    Slot twice;        // float32
    Slot ones, minus;  // 1 and -1 everywhere
  };
  Passing passing() const {
    return {tape_.new_slot(shape_), tape_.new_slot(shape_, tape_.activations()),
            tape_.new_slot(shape_, tape_.activations())};
  }
  std::vector<Slot> slots(const Passing& pass, std::initializer_list<Slot> others) const {
    std::vector<Slot> all{one_, rows_, pass.twice, pass.ones, pass.minus};
    all.insert(all.end(), others);
    return all;
  }
  Shape elements() const { return {1, shape_.elements(), 1}; }

  // Fills it for x.
  void fill(Queue& queue, const Passing& pass, ConstTensorView x) const {
    for (const bool again : {false, true})
      kernels::dropout_forward(queue, {.x = x, .dropout = {}, .y = tape_.write(pass.twice), .accumulate = again});
    for (const auto& [slot, scale] : {std::pair{pass.ones, 1.0F}, std::pair{pass.minus, -1.0F}})
      kernels::embedding_forward(
          queue,
          {.tokens = tape_.read(rows_), .table = tape_.read(one_), .scale = scale, .y = rows_of(tape_.write(slot))});
  }

 private:
  Tape& tape_;
  Shape shape_;
  Slot one_, rows_;  // a row of 1, and its number for every row
};

Value squashed(Tape& tape, const Value& x) {
  const Shape shape = tape.shape(x.data);
  const bool is_learned = x.gradient.exists();
  const Squash squash(tape, shape);
  const Value y = tape.new_value(shape, is_learned);
  const Squash::Passing there = squash.passing();
  const Squash::Passing back = tape.training() && is_learned ? squash.passing() : Squash::Passing();
  const auto passing = [&] { return back.twice.exists() ? tape.new_slot(shape, tape.activations()) : Slot{}; };
  const Slot to_ones = passing(), to_minus = passing();  // gradients that nobody reads
  const Slot dtwice = back.twice.exists() ? tape.new_slot(shape) : Slot{};
  const GradientUse dx = tape.overwrite_gradient(x);
  const Shape elements = squash.elements(), flat{shape.elements()};
  tape.record({
      .name = "tanh",
      .forward_slots = squash.slots(there, {x.data, y.data}),
      .forward =
          [=, &tape](Queue& queue) {
            squash.fill(queue, there, tape.read(x.data));
            kernels::blend_forward(queue, {.a = tape.read(there.ones).reshaped(elements),
                                           .b = tape.read(there.minus).reshaped(elements),
                                           .logits = tape.read(there.twice).reshaped(flat),
                                           .y = tape.write(y.data).reshaped(elements)});
          },
      .backward_slots = squash.slots(back, {x.data, y.gradient, to_ones, to_minus, dtwice, dx.slot}),
      .backward =
          [=, &tape](Queue& queue) {
            squash.fill(queue, back, tape.read(x.data));
            queue.fill_zero(tape.write(dtwice));
            kernels::blend_backward(queue, {.a = tape.read(back.ones).reshaped(elements),
                                            .b = tape.read(back.minus).reshaped(elements),
                                            .logits = tape.read(back.twice).reshaped(flat),
                                            .dy = tape.read(y.gradient).reshaped(elements),
                                            .da = tape.write(to_ones).reshaped(elements),
                                            .db = tape.write(to_minus).reshaped(elements),
                                            .dlogits = tape.write(dtwice).reshaped(flat)});
            for (const bool again : {false, true})
              kernels::dropout_backward(
                  queue, {.dy = tape.read(dtwice), .dropout = {}, .dx = tape.write(dx), .accumulate = again});
          },
      .is_learned = is_learned,
  });
  return y;
}

Value sum(Tape& tape, const Value& a, const Value& b) { return add(tape, {.sum = a, .branch = b, .site = {}}); }

}  // namespace

BranchGate::BranchGate(const BlockConfig& block, int64_t d_model, std::string prefix)
    : block_(block), d_model_(d_model), prefix_(std::move(prefix)) {}

std::vector<const char*> BranchGate::matrices() const {
  switch (block_.gate) {
    case ResidualGate::kGru:
      return {"w_r", "u_r", "w_z", "u_z", "w_g", "u_g"};
    case ResidualGate::kSigmoidTanh:
      return {"w", "u"};
    case ResidualGate::kHighway:
    case ResidualGate::kInput:
    case ResidualGate::kOutput:
      break;
  }
  return {"w"};
}

void BranchGate::declare(std::vector<ParameterSpec>& specs) const {
  for (const char* matrix : matrices()) specs.push_back({prefix_ + matrix, {d_model_, d_model_}});
  if (has_bias(block_.gate))
    specs.push_back({prefix_ + "bias", {d_model_}, Initializer::kConstant, static_cast<float>(block_.gate_bias)});
}

Value BranchGate::apply(Tape& tape, Parameters& parameters, const Value& x, const Value& y) const {
  const Shape rows = tape.shape(x.data);
  const auto logits = [&](const Value& of, float bias_factor) {
    std::vector<Product> terms{{of, parameters[prefix_ + "w"]}};
    if (bias_factor != 0.0F) terms.push_back(added_bias(tape, rows, parameters[prefix_ + "bias"], bias_factor));
    return to_floats(tape, linear_sum(tape, terms));
  };
  switch (block_.gate) {
    case ResidualGate::kGru:
      break;
    case ResidualGate::kHighway:
      return blend_elements(tape, x, y, logits(x, 1.0F));
    case ResidualGate::kSigmoidTanh: {
      const Value share = logits(y, -1.0F);
      const Value bounded = squashed(tape, to_floats(tape, linear(tape, y, parameters[prefix_ + "u"])));
      return sum(tape, x, blend_elements(tape, bounded, {}, share));
    }
    case ResidualGate::kInput:
      return sum(tape, blend_elements(tape, x, {}, logits(x, 0.0F)), y);
    case ResidualGate::kOutput:
      return sum(tape, x, blend_elements(tape, y, {}, logits(x, -1.0F)));
  }
  return gru(tape, parameters, x, y);
}

Value BranchGate::gru(Tape& tape, Parameters& parameters, const Value& x, const Value& y) const {
  const auto terms = [&](const char* of_y, const char* of_x, const Value& right) {
    return std::vector<Product>{{y, parameters[prefix_ + of_y]}, {right, parameters[prefix_ + of_x]}};
  };
  const Value reset = blend_elements(tape, x, {}, to_floats(tape, linear_sum(tape, terms("w_r", "u_r", x))));
  std::vector<Product> update = terms("w_z", "u_z", x);
  update.push_back(added_bias(tape, tape.shape(x.data), parameters[prefix_ + "bias"], -1.0F));
  const Value share = to_floats(tape, linear_sum(tape, update));
  const Value candidate = squashed(tape, to_floats(tape, linear_sum(tape, terms("w_g", "u_g", reset))));
  return blend_elements(tape, candidate, x, share);
}

}  // namespace segue
