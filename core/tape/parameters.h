// The weights: a list of named shapes, and one flat block of memory that holds them with their gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "core/config/config.h"
#include "core/tape/compute.h"
#include "core/tape/flat_block.h"
#include "kernels/queue.h"

namespace segue {

// How a parameter is drawn at the start (transformer-xl initialisers: weights and tables by `model.init`, projections
// with their own deviation, layer norm gains around one, biases zero; constants as their spec says). Taps [C, S] of
// convolutions are uniform within 1 / sqrt(S), as is usual.
// Random directions [M, H] are as long as normal vectors, and orthogonal in every H of them (Choromanski et al. 2021).
enum class Initializer : uint8_t { kWeight, kProjection, kGain, kZero, kConstant, kTaps, kDirections };

// Of a parameter that is a choice rather than a weight: training keeps it in a range and lets no weight decay touch it.
struct ParameterBounds {
  float lowest = 0.0F;
  float highest = 1.0F;
  float penalty = 0.0F;  // what training lowers has so much more for each unit of each element
};

struct ParameterSpec {
  std::string name;
  Shape shape;
  Initializer initializer = Initializer::kWeight;
  float constant = 0.0F;
  std::vector<float> constants = {};  // one for each element, in place of one for all
  std::optional<ParameterBounds> bounds = {};
  bool is_learned() const { return initializer != Initializer::kDirections; }  // others are drawn and kept
  bool decays() const { return is_learned() && !bounds; }                      // whether weight decay touches it
  float constant_at(uint64_t element) const { return constants.empty() ? constant : constants[element]; }
};

// One parameter: fp32 value and the gradient that backward passes add to.
struct Parameter {
  TensorView value;
  TensorView gradient;
  TensorView copy = {};  // of the value, in the dtype of activations when that is not float32

  // The tensor that matrix products and tables read.
  ConstTensorView operand() const { return copy.empty() ? value : copy; }
  Parameter rows(int64_t begin, int64_t count) const {
    const auto of = [&](const TensorView& view) { return view.empty() ? view : view.rows(begin, count); };
    return {value.rows(begin, count), of(gradient), of(copy)};
  }
  // The same for an operation that is to learn nothing of it: without a gradient.
  Parameter constant() const { return {value, {}, copy}; }
  bool is_constant() const { return gradient.empty(); }
};

class Parameters {
 public:
  // Flat blocks get a size that is a multiple of `multiple_of` elements. Until they are set, constants have their
  // values, and all others are zero.
  explicit Parameters(std::vector<ParameterSpec> specs, const Compute& compute = {}, int64_t multiple_of = 1)
      : Parameters(std::move(specs), compute, multiple_of, Storage::kMemory) {}
  // The same on the CPU for a plan, which computes nothing with them: they may be larger than memory is.
  static Parameters planned(std::vector<ParameterSpec> specs, DType activations = DType::kFloat32,
                            int64_t multiple_of = 1) {
    return {std::move(specs), {.device = {}, .activations = activations}, multiple_of, Storage::kAddresses};
  }
  const Compute& compute() const { return compute_; }

  // Draws every parameter as a pure function of (seed, its name, its shape): models of one seed begin alike in what
  // they have alike, whatever else they have.
  void initialize(const InitConfig& init, uint64_t seed);

  // Draws what is not learned anew, as a pure function of (seed, its name, the number of the draw, 0 being the first).
  // Waits for the device, which must be done with what it was.
  void redraw(uint64_t seed, uint64_t number);

  Parameter operator[](std::string_view name);  // throws ContractError for an unknown name
  bool contains(std::string_view name) const;
  std::span<const ParameterSpec> specs() const { return specs_; }
  int64_t count() const;                                     // learned scalars, without padding
  int64_t offset_of(size_t i) const { return offsets_[i]; }  // of parameter i in the flat blocks

  // The flat blocks, each parameter at a 64-byte boundary, zeros between and behind: for norms, optimizers and
  // reductions. In the order of the specs, in which forward uses parameters first: backward completes gradients from
  // the end.
  TensorView values();
  TensorView gradients();
  TensorView compute_copy() { return copy_.view(); }  // bfloat16; empty when products read the values themselves
  void clear_gradients(kernels::Queue& queue);

  // Sets parameter i's part of a flat block from a tensor on the CPU; waits for the device.
  void upload(TensorView flat, size_t i, ConstTensorView part) const;
  // To be called when values were set by anybody but the optimizer.
  void refresh_compute_copy();

  // The part of a flat block that belongs to parameter i, shaped like it.
  TensorView part_of(TensorView flat, size_t i) const;
  ConstTensorView part_of(ConstTensorView flat, size_t i) const;

 private:
  enum class Storage : uint8_t { kMemory, kAddresses };
  Parameters(std::vector<ParameterSpec> specs, const Compute& compute, int64_t multiple_of, Storage storage);
  size_t index_of(std::string_view name) const;
  std::vector<ParameterSpec> specs_;
  Compute compute_;
  std::vector<int64_t> offsets_;
  FlatBlock values_;
  FlatBlock gradients_;
  FlatBlock copy_;
};

}  // namespace segue
