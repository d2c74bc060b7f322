// Applies the lengths that a user sets for a stored model, in place of those it was trained with.
#pragma once

#include <segue/options.h>

#include <cstdint>
#include <string_view>

#include "core/config/option_names.h"
#include "core/model/stored_model.h"

namespace segue {

struct Lengths {
  int64_t tgt_len = 0;
  ModelUse use;
};

// What is not asked for is as the model was trained. Throws ConfigError naming `source` when it cannot be used so.
Lengths lengths_of(const StoredModel& stored, const LengthOptions& options, std::string_view source, OptionNames names);

}  // namespace segue
