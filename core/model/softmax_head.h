// model.head.kind "softmax".
#pragma once

#include "core/model/head.h"

namespace segue {

std::unique_ptr<Head> make_softmax_head(const ModelConfig& model, int64_t vocab_size);

}  // namespace segue
