// Pooling, linear maps of groups, or a choice of rows.
#include "core/kinds/memory/compressed/compressor.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/config/layers.h"
#include "core/kinds/memory/compressed/options.h"

namespace segue {

namespace {

constexpr const char* kDecoder = "decoder";

// A bias [D] as the weight [D, 1] of a product with ones.
Parameter as_column(const Parameter& bias) {
  const auto column = [](const TensorView& view) {
    return view.empty() ? view : view.reshaped({view.shape.elements(), 1});
  };
  return {column(bias.value), column(bias.gradient), column(bias.copy)};
}

}  // namespace

Compressor::Compressor(const ModelConfig& model, int64_t layer)
    : memory_(model.memory), d_model_(model.d_model), prefix_(prefix_of_layer(model, layer) + "memory.") {}

std::vector<std::string> Compressor::maps() const {
  std::vector<std::string> names;
  if (memory_.compression == CompressionKind::kConvolution) names = {""};
  if (memory_.compression == CompressionKind::kDilatedConvolution) {
    for (int64_t left = memory_.compression_rate; left > 1; left /= 2)
      names.push_back(fmt::format("{}.", names.size()));
  }
  return names;
}

void Compressor::declare(std::vector<ParameterSpec>& specs) const {
  const std::vector<std::string> names = maps();
  const int64_t rows = names.size() == 1 ? memory_.compression_rate : 2;
  for (const std::string& name : names) {
    specs.push_back({prefix_ + name + "weight", {d_model_, rows * d_model_}});
    specs.push_back({prefix_ + name + "bias", {d_model_}, Initializer::kZero});
  }
  if (reconstruction_of(memory_) == ReconstructionKind::kAutoEncoding)
    specs.push_back({prefix_ + kDecoder, {memory_.compression_rate * d_model_, d_model_}});
}

// Without a loss of reconstruction nothing moves it.
Parameter Compressor::learned(Parameters& parameters, const std::string& name) const {
  const Parameter parameter = parameters[prefix_ + name];
  return reconstruction_of(memory_) == ReconstructionKind::kNone ? parameter.constant() : parameter;
}

// A linear map of `size` rows into one.
Value Compressor::map_groups(Tape& tape, Parameters& parameters, const Value& rows, int64_t size,
                             const std::string& name) const {
  const Shape from = tape.shape(rows.data);
  const Shape groups{from[0], from[1] / size, size * d_model_};
  OwnedTensor ones(DType::kFloat32, {groups[0], groups[1], 1});
  std::fill_n(ones.as<float>(), ones.shape().elements(), 1.0F);
  const Value one{.data = tape.constant(ones, tape.activations()), .gradient = {}};
  return linear_sum(tape, {{reshaped(tape, rows, groups), learned(parameters, name + "weight")},
                           {one, as_column(learned(parameters, name + "bias"))}});
}

Value Compressor::compress(Tape& tape, Parameters& parameters, const Value& rows, Slot received) const {
  using enum CompressionKind;
  const int64_t rate = memory_.compression_rate;
  if (memory_.compression == kMostUsed) return most_used_rows(tape, rows, received, tape.shape(rows.data)[1] / rate);
  if (memory_.compression == kMean) return pool_rows(tape, rows, rate, kernels::Pooling::kMean);
  if (memory_.compression == kMax) return pool_rows(tape, rows, rate, kernels::Pooling::kMax);
  const std::vector<std::string> names = maps();
  const int64_t size = names.size() == 1 ? rate : 2;
  Value compressed = rows;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) compressed = rectify(tape, compressed);
    compressed = map_groups(tape, parameters, compressed, size, names[i]);
  }
  return compressed;
}

Value Compressor::find_again(Tape& tape, Parameters& parameters, const Value& compressed) const {
  return linear(tape, compressed, learned(parameters, kDecoder));
}

}  // namespace segue
