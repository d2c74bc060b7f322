#include "core/tape/parameters.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/checksum.h"
#include "base/random.h"

namespace segue {

namespace {

constexpr int64_t kAlignment = 16;  // floats: 64 bytes

int64_t round_up(int64_t size, int64_t multiple_of) { return (size + multiple_of - 1) / multiple_of * multiple_of; }

double draw(const InitConfig& init, const ParameterSpec& spec, const RandomSequence& random, uint64_t element) {
  switch (spec.initializer) {
    case Initializer::kZero:
      return 0.0;
    case Initializer::kConstant:
      return static_cast<double>(spec.constant_at(element));
    case Initializer::kGain:
      return 1.0 + init.init_std * random_normal(random, element);
    case Initializer::kProjection:
      return init.proj_init_std * random_normal(random, element);
    case Initializer::kTaps:
      return (2.0 * random_uniform(random, element) - 1.0) / std::sqrt(static_cast<double>(spec.shape[1]));
    case Initializer::kDirections:
      throw ContractError("directions are not drawn one element at a time");
    case Initializer::kWeight:
      break;
  }
  if (init.kind == InitKind::kUniform) return init.init_range * (2.0 * random_uniform(random, element) - 1.0);
  return init.init_std * random_normal(random, element);
}

// Rows of normal numbers, made orthogonal to those before them in their block, at the length that they had.
void draw_directions(const RandomSequence& random, TensorView directions) {
  const int64_t count = directions.shape[0], width = directions.shape[1];
  std::vector<double> block;  // rows of length 1
  for (int64_t row = 0; row < count; ++row) {
    if (row % width == 0) block.clear();
    std::vector<double> drawn(width);
    for (int64_t i = 0; i < width; ++i) drawn[i] = random_normal(random, static_cast<uint64_t>(row * width + i));
    const auto length = [&] { return std::sqrt(std::inner_product(drawn.begin(), drawn.end(), drawn.begin(), 0.0)); };
    const double kept = length();
    for (int pass = 0; pass < 2; ++pass) {  // the second takes what rounding left
      for (auto unit = block.begin(); unit != block.end(); unit += width) {
        const double along = std::inner_product(drawn.begin(), drawn.end(), unit, 0.0);
        for (int64_t i = 0; i < width; ++i) drawn[i] -= along * unit[i];
      }
    }
    const double left = length();
    for (int64_t i = 0; i < width; ++i) {
      block.push_back(drawn[i] / left);
      directions.as<float>()[row * width + i] = static_cast<float>(kept * block.back());
    }
  }
}

// Beyond any step, whose numbers are dropout's.
RandomSequence sequence_of(const ParameterSpec& spec, uint64_t seed, uint64_t number) {
  return {.seed = seed, .step = (hash_of(spec.name) + number) | uint64_t{1} << 63, .site = 0};
}

}  // namespace

Parameters::Parameters(std::vector<ParameterSpec> specs, const Compute& compute, int64_t multiple_of, Storage storage)
    : specs_(std::move(specs)), compute_(compute) {
  int64_t size = 0;
  for (const ParameterSpec& spec : specs_) {
    offsets_.push_back(size);
    size += round_up(spec.shape.elements(), kAlignment);
  }
  size = round_up(size, multiple_of);
  const auto block = [&](DType dtype) {
    return storage == Storage::kMemory ? FlatBlock(dtype, size, compute.device) : FlatBlock::planned(dtype, size);
  };
  values_ = block(DType::kFloat32);
  gradients_ = block(DType::kFloat32);
  if (compute.activations != DType::kFloat32) copy_ = block(compute.activations);
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].initializer != Initializer::kConstant) continue;
    OwnedTensor constants(DType::kFloat32, specs_[i].shape);
    for (int64_t e = 0; e < specs_[i].shape.elements(); ++e)
      constants.as<float>()[e] = specs_[i].constant_at(static_cast<uint64_t>(e));
    upload(values_.view(), i, constants.view());
  }
}

void Parameters::initialize(const InitConfig& init, uint64_t seed) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!specs_[i].is_learned()) continue;
    const RandomSequence random = sequence_of(specs_[i], seed, 0);
    OwnedTensor drawn(DType::kFloat32, specs_[i].shape);
    float* values = drawn.as<float>();
    for (int64_t e = 0; e < specs_[i].shape.elements(); ++e) {
      values[e] = static_cast<float>(draw(init, specs_[i], random, static_cast<uint64_t>(e)));
    }
    upload(values_.view(), i, drawn.view());
  }
  redraw(seed, 0);
  refresh_compute_copy();
}

void Parameters::redraw(uint64_t seed, uint64_t number) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].is_learned()) continue;
    OwnedTensor drawn(DType::kFloat32, specs_[i].shape);
    draw_directions(sequence_of(specs_[i], seed, number), drawn.view());
    upload(values_.view(), i, drawn.view());
    if (copy_.view().empty()) continue;
    OwnedTensor rounded(copy_.view().dtype, specs_[i].shape);
    convert(rounded.view(), drawn.view());
    upload(copy_.view(), i, rounded.view());
  }
}

size_t Parameters::index_of(std::string_view name) const {
  const auto found = std::find_if(specs_.begin(), specs_.end(), [&](const ParameterSpec& s) { return s.name == name; });
  return static_cast<size_t>(found - specs_.begin());
}

bool Parameters::contains(std::string_view name) const { return index_of(name) < specs_.size(); }

Parameter Parameters::operator[](std::string_view name) {
  const size_t i = index_of(name);
  if (i == specs_.size()) throw ContractError("no parameter is called {}", name);
  const TensorView copy = compute_copy();
  return {part_of(values_.view(), i), part_of(gradients_.view(), i), copy.empty() ? TensorView{} : part_of(copy, i)};
}

int64_t Parameters::count() const {
  int64_t total = 0;
  for (const ParameterSpec& spec : specs_) total += spec.is_learned() ? spec.shape.elements() : 0;
  return total;
}

TensorView Parameters::values() { return values_.view(); }
TensorView Parameters::gradients() { return gradients_.view(); }

void Parameters::clear_gradients(kernels::Queue& queue) { queue.fill_zero(gradients()); }

void Parameters::upload(TensorView flat, size_t i, ConstTensorView part) const {
  copy_tensor(part_of(flat, i), part, compute_.device);
}

void Parameters::refresh_compute_copy() {
  if (copy_.view().empty()) return;
  const HostTensor values(values_.view(), compute_.device);
  OwnedTensor rounded(copy_.view().dtype, copy_.shape());
  convert(rounded.view(), values.view());
  copy_tensor(copy_.view(), rounded.view(), compute_.device);
}

TensorView Parameters::part_of(TensorView flat, size_t i) const {
  return {flat.data + offsets_[i] * bytes_of(flat.dtype), flat.dtype, specs_[i].shape};
}

ConstTensorView Parameters::part_of(ConstTensorView flat, size_t i) const {
  return {flat.data + offsets_[i] * bytes_of(flat.dtype), flat.dtype, specs_[i].shape};
}

}  // namespace segue
