// The lengths that a model is used with, in the form that checks of lengths take.
#pragma once

#include <cstdint>
#include <string>

#include "core/config/model_config.h"

namespace segue {

// With the keys that say them.
struct UsedLengths {
  ModelUse use;  // and the memory's length
  std::string mem_len_key;
  int64_t tgt_len = 0;
  std::string tgt_len_key = {};
  double window_share = 1.0;  // of windows, that a stage of training sees
  std::string window_share_key = {};
};

}  // namespace segue
