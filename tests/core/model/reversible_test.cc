// Reversible layers: backward finds the streams as they were, and no layer keeps its activations. The tests of all
// kinds check their formulas and gradients.
#include "core/tape/reversible.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/tape/element_gates.h"
#include "core/tape/operations.h"
#include "kernels/convert.h"
#include "tests/core/model/model_problem.h"
#include "tests/kernels/bfloat16.h"

namespace segue {
namespace {

// Copies what a stream is, forward and in backward.
struct StreamWitness {
  OwnedTensor forward, backward;

  void record(Tape& tape, const Value& stream) {
    const Shape shape = tape.shape(stream.data);
    forward = OwnedTensor(DType::kFloat32, shape);
    backward = OwnedTensor(DType::kFloat32, shape);
    const auto copy_to = [&tape, stream](OwnedTensor& to) {
      return [&tape, stream, &to](kernels::Queue& queue) {
        kernels::convert(queue, {.x = tape.read(stream.data), .y = to.view()});
      };
    };
    tape.record({.name = "witness",
                 .forward_slots = {stream.data},
                 .forward = copy_to(forward),
                 .backward_slots = {stream.data},
                 .backward = copy_to(backward)});
  }

  // How far an element is, at most, from where it was.
  double drift() const { return distance(forward, backward); }
  double distance_from(const StreamWitness& other) const { return distance(forward, other.forward); }

  static double distance(const OwnedTensor& x, const OwnedTensor& y) {
    double farthest = 0.0;
    for (int64_t e = 0; e < x.shape().elements(); ++e)
      farthest = std::max(farthest, std::abs(static_cast<double>(x.as<float>()[e]) - y.as<float>()[e]));
    return farthest;
  }
};

OwnedTensor random_tensor(const Shape& shape, uint16_t site, double deviation = 1.0) {
  OwnedTensor tensor(DType::kFloat32, shape);
  for (int64_t e = 0; e < shape.elements(); ++e)
    tensor.as<float>()[e] = static_cast<float>(deviation * random_normal({2, 0, site}, static_cast<uint64_t>(e)));
  return tensor;
}

// Makes the sum of an output's elements the loss.
void begin_backward(Tape& tape, const Value& output) {
  const GradientUse use = tape.use_gradient(output);
  OwnedTensor ones_of_output(DType::kFloat32, tape.shape(output.data));
  std::fill_n(ones_of_output.as<float>(), ones_of_output.shape().elements(), 1.0F);
  const Slot ones = tape.constant(ones_of_output, tape.activations());
  tape.record({.name = "begin_backward",
               .forward_slots = {output.data},
               .forward = [](kernels::Queue&) {},
               .backward_slots = {ones, use.slot},
               .backward =
                   [=, &tape](kernels::Queue& queue) {
                     kernels::convert(queue, {.x = tape.read(ones), .y = tape.write(use)});
                   }});
}

// Twelve layers that let the streams grow.
TEST(Reversible, BackwardFindsTheStreamsAsTheyWere) {
  constexpr int64_t kWidth = 32;
  const Shape rows{2, 9, kWidth};
  OwnedTensor value = random_tensor({kWidth, kWidth}, 1, 0.25 / std::sqrt(kWidth));
  OwnedTensor rounded = converted_copy(value.view(), DType::kBFloat16, {});
  OwnedTensor gradient(DType::kFloat32, {kWidth, kWidth});
  for (const DType activations : {DType::kFloat32, DType::kBFloat16}) {
    SCOPED_TRACE(name_of(activations));
    if (!kernels::has_products_of(activations)) continue;
    Arena arena;
    Tape tape(arena, Tape::Mode::kTraining, activations);
    const Parameter weight{.value = value.view(),
                           .gradient = gradient.view(),
                           .copy = activations == DType::kBFloat16 ? rounded.view() : TensorView()};
    const Value x{.data = tape.constant(random_tensor(rows, 2), activations),
                  .gradient = tape.new_slot(rows, activations)};
    Value a = reversible_stream(tape, x), b = reversible_stream(tape, x);
    StreamWitness of_a, of_b;
    of_a.record(tape, a);
    of_b.record(tape, b);
    const auto layer = [&](const Value& stream, const Value& other) {
      const RecomputedPart part(tape);
      return add_reversibly(tape, stream, linear(tape, rectify(tape, to_activations(tape, other)), weight));
    };
    for (int l = 0; l < 12; ++l) {
      a = layer(a, b);
      b = layer(b, a);
    }
    StreamWitness of_last;
    of_last.record(tape, b);
    begin_backward(tape, add(tape, {.sum = to_activations(tape, b), .branch = to_activations(tape, a), .site = {}}));
    tape.seal();
    kernels::Queue queue(1);
    tape.forward(queue);
    tape.backward(queue);
    // A branch of rounded inputs moves by their rounding where a stream comes back on the other side of a half.
    const double bound = activations == DType::kFloat32 ? 1e-5 : 1e-2;
    EXPECT_LT(of_a.drift(), bound);
    EXPECT_LT(of_b.drift(), bound);
    EXPECT_EQ(of_last.drift(), 0.0);
    EXPECT_GT(of_last.distance_from(of_b), 1.0);
  }
}

int64_t planned_bytes_of(ModelConfig config, int64_t layers) {
  config.n_layer = layers;
  const Transformer model(config, ModelProblem::kVocabulary);
  Parameters parameters(model.parameter_specs());
  Arena arena;
  const SegmentShape shape = full_segment(config, use_of(config), 2, 32, 0);
  return model.record(arena, Tape::Mode::kTraining, parameters, use_of(config), shape)->tape.planned_bytes();
}

// All that a layer keeps is what its memory takes in.
TEST(Reversible, KeepsNothingElseOfALayer) {
  const ModelConfig model = model_variant("block_reversible").config();
  const int64_t rows = 2 * 32 * model.d_model * bytes_of(DType::kFloat32);
  EXPECT_EQ(planned_bytes_of(model, 24), planned_bytes_of(model, 12) + 12 * ((rows + 255) / 256 * 256));
}

}  // namespace
}  // namespace segue
