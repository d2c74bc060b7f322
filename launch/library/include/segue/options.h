// How a trained model is used, and how text is sampled from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace segue {

enum class PrecisionKind : std::uint8_t { kFp32, kBf16 };

// The lengths of a model's use; what is not given is as the model was trained.
struct LengthOptions {
  std::optional<std::int64_t> tgt_len = {};    // tokens per segment
  std::optional<std::int64_t> mem_len = {};    // memory rows per layer
  std::optional<std::int64_t> clamp_len = {};  // largest distance told apart; 0: none
  std::optional<bool> same_length = {};        // every query sees the same number of keys
  std::vector<std::string> set = {};           // overrides such as "model.memory.initial=zeros"
};

struct ModelOptions {
  std::string device = "auto";                     // auto, cpu, cuda or cuda:N
  PrecisionKind precision = PrecisionKind::kFp32;  // of activations and products
  std::int64_t threads = 0;                        // 0: as many as OpenMP gives the thread that loads the model; set
                                                   // OMP_WAIT_POLICY=passive where others use the processors too
  LengthOptions lengths = {};
};

struct SamplingOptions {
  double temperature = 1.0;  // probabilities to the power of 1 / temperature; 0: always the most probable token
  std::int64_t top_k = 0;    // of the most probable tokens alone; 0: of all
  double top_p = 1.0;  // of the fewest most probable tokens that have this probability together (Holtzman et al. 2020)
  std::int64_t seed = 1;
};

struct GenerationOptions {
  std::int64_t tokens = 256;  // most of a sample
  std::int64_t samples = 1;   // side by side; none depends on the others
  SamplingOptions sampling = {};
  std::string stop = {};  // a sample ends before this string; empty: nowhere
};

}  // namespace segue
