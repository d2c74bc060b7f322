// One token per byte.
#pragma once

#include <memory>

#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

std::unique_ptr<Tokenizer> make_byte_tokenizer();

}  // namespace segue
