// The options of segue/options.h, described: the flags of `segue generate` and the bounds of the library come from
// here.
#pragma once

#include <segue/options.h>

#include "base/json_fields.h"

namespace segue {

void describe_options(JsonFields& fields, SamplingOptions& options);
void describe_options(JsonFields& fields, GenerationOptions& options);  // those of sampling among them
void describe_options(JsonFields& fields, ModelOptions& options);       // the lengths among them

// Throw ConfigError naming the option that is out of range.
void check_options(const SamplingOptions& options);
void check_options(const GenerationOptions& options);
void check_options(const ModelOptions& options);

}  // namespace segue
