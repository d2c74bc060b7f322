// What joins a branch to the residual in place of a sum (Parisotto et al. 2019, arXiv:1910.06764, "Stabilizing
// Transformers for Reinforcement Learning", section 3.2).
#pragma once

#include <string>
#include <vector>

#include "core/config/model_config.h"
#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

class BranchGate {
 public:
  // `prefix` begins the names of its parameters.
  BranchGate(const BlockConfig& block, int64_t d_model, std::string prefix);

  // Matrices [D, D], without biases of their own, and the gate's bias [D].
  void declare(std::vector<ParameterSpec>& specs) const;

  // Records what becomes of the residual x with a branch y, [B, T, D] all. With s(v) = 1 / (1 + e^-v):
  //
  //   gru           r = s(W_r y + U_r x);  z = s(W_z y + U_z x - b);  h = tanh(W_g y + U_g (r x));  (1 - z) x + z h
  //   highway       s(W x + b) x + (1 - s(W x + b)) y
  //   sigmoid_tanh  x + s(W y - b) tanh(U y)
  //   input         s(W x) x + y
  //   output        x + s(W x - b) y
  //
  // In training both have gradients.
  Value apply(Tape& tape, Parameters& parameters, const Value& x, const Value& y) const;

 private:
  std::vector<const char*> matrices() const;
  Value gru(Tape& tape, Parameters& parameters, const Value& x, const Value& y) const;

  BlockConfig block_;
  int64_t d_model_;
  std::string prefix_;
};

}  // namespace segue
