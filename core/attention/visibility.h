// The visibility axis: which earlier keys a query sees.
#pragma once

#include <cstdint>

#include "core/config/config.h"

namespace segue {

// The number of newest keys a query sees, its own included; 0: all of memory and segment before it.
// A window has as many whatever the memory; with `same_length` every query sees the same number, `mem_len` keys as in
// the authors' PyTorch code or one more as in their TensorFlow code (same_length_extra_key). Throws ConfigError when
// that would be none.
int64_t visible_window(const ModelUse& use);

// The most of them that a query sees in any layer; 0: all.
int64_t widest_window(const ModelConfig& model, const ModelUse& use);

}  // namespace segue
