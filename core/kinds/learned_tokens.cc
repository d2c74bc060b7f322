#include "core/kinds/learned_tokens.h"

#include <cmath>

#include "core/kinds/row_numbers.h"
#include "core/tape/operations.h"

namespace segue {

Value learned_tokens(Tape& tape, Parameters& parameters, const std::string& name, const Shape& shape) {
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(shape[2])));
  const Slot rows = tape.constant(row_numbers({shape[0], shape[1]}, shape[1]), DType::kInt32);
  return embed(tape, rows, parameters[name], {.scale = scale});
}

}  // namespace segue
