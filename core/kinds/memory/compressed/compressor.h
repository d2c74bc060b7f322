// What becomes of rows that leave a layer's memory (Rae et al. 2019, "Compressive Transformers for Long-Range Sequence
// Modelling", 3.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/model_config.h"
#include "core/tape/operations.h"

namespace segue {

// One per layer.
class Compressor {
 public:
  Compressor(const ModelConfig& model, int64_t layer);

  void declare(std::vector<ParameterSpec>& specs) const;

  // Records one row for every c of `rows` [B, R, D], which are constants: [B, R / c, D]. It has a gradient where it is
  // learned and a loss of reconstruction is to be recorded. `received` [B, N, R] float32: what attention they received,
  // where that is what rows are kept by.
  Value compress(Tape& tape, Parameters& parameters, const Value& rows, Slot received) const;

  // Records the rows that a learned linear map finds in compressed ones, of auto-encoding alone: [B, R / c, c*D].
  Value find_again(Tape& tape, Parameters& parameters, const Value& compressed) const;

 private:
  Parameter learned(Parameters& parameters, const std::string& name) const;
  Value map_groups(Tape& tape, Parameters& parameters, const Value& rows, int64_t size, const std::string& name) const;
  std::vector<std::string> maps() const;  // names of the learned maps, in the order of their use

  MemoryConfig memory_;
  int64_t d_model_;
  std::string prefix_;  // of its parameters' names
};

}  // namespace segue
