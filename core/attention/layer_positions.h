// The positions of a model's layers: one object for every different axis object of its config.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/attention/position.h"

namespace segue {

class LayerPositions {
 public:
  explicit LayerPositions(const ModelConfig& model);

  // The model's own, which tokens enter by.
  const Position& entry() const { return *distinct_[entry_]; }
  const Position& of_layer(int64_t layer) const { return *distinct_[of_layers_[static_cast<size_t>(layer)]]; }

  // Appends the parameters that belong to the whole model: once, however many layers share them.
  void declare_shared(std::vector<ParameterSpec>& specs) const;

  struct Encodings {
    Value entry;
    std::vector<Value> layers;
  };
  // Records Position::encode for every layer that reads what its position offers, and for where tokens enter: once for
  // all that have the same of the same position.
  using IsRead = std::function<bool(const PositionTerms& offered)>;
  Encodings encode(Tape& tape, const ModelUse& use, int64_t keys, const IsRead& is_read) const;

 private:
  size_t find_or_make(const PositionConfig& position);
  bool is_used(size_t index) const;

  ModelConfig model_;
  std::vector<std::unique_ptr<Position>> distinct_;
  size_t entry_;
  std::vector<size_t> of_layers_;
};

}  // namespace segue
