// The newest rows of [memory ; hidden], by joining them and cutting.
#pragma once

#include <cstdint>
#include <vector>

namespace segue::oracle {

// memory [B, M, D] and hidden [B, T, D] with rows of D elements; the result is [B, kept, D].
inline std::vector<double> updated_memory(const std::vector<double>& memory, const std::vector<double>& hidden,
                                          int64_t streams, int64_t kept_elements) {
  const int64_t old_elements = static_cast<int64_t>(memory.size()) / streams;
  const int64_t fresh_elements = static_cast<int64_t>(hidden.size()) / streams;
  std::vector<double> updated;
  for (int64_t b = 0; b < streams; ++b) {
    std::vector<double> joined(memory.begin() + b * old_elements, memory.begin() + (b + 1) * old_elements);
    joined.insert(joined.end(), hidden.begin() + b * fresh_elements, hidden.begin() + (b + 1) * fresh_elements);
    updated.insert(updated.end(), joined.end() - kept_elements, joined.end());
  }
  return updated;
}

}  // namespace segue::oracle
