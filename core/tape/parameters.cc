// Layout, look-up and initial values.
#include "core/tape/parameters.h"

#include <algorithm>
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
    case Initializer::kWeight:
      break;
  }
  if (init.kind == InitKind::kUniform) return init.init_range * (2.0 * random_uniform(random, element) - 1.0);
  return init.init_std * random_normal(random, element);
}

}  // namespace

Parameters::Parameters(std::vector<ParameterSpec> specs, const Compute& compute, int64_t multiple_of)
    : specs_(std::move(specs)), compute_(compute) {
  int64_t size = 0;
  for (const ParameterSpec& spec : specs_) {
    offsets_.push_back(size);
    size += round_up(spec.shape.elements(), kAlignment);
  }
  size = round_up(size, multiple_of);
  values_ = OwnedTensor(DType::kFloat32, {size}, compute.device);
  gradients_ = OwnedTensor(DType::kFloat32, {size}, compute.device);
  if (compute.activations != DType::kFloat32) copy_ = OwnedTensor(compute.activations, {size}, compute.device);
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
    // Beyond any step, whose numbers are dropout's.
    const RandomSequence random{.seed = seed, .step = hash_of(specs_[i].name) | uint64_t{1} << 63, .site = 0};
    OwnedTensor drawn(DType::kFloat32, specs_[i].shape);
    float* values = drawn.as<float>();
    for (int64_t e = 0; e < specs_[i].shape.elements(); ++e) {
      values[e] = static_cast<float>(draw(init, specs_[i], random, static_cast<uint64_t>(e)));
    }
    upload(values_.view(), i, drawn.view());
  }
  refresh_compute_copy();
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
  for (const ParameterSpec& spec : specs_) total += spec.shape.elements();
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
