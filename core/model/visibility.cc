// The two key counts of `same_length`.
#include "core/model/visibility.h"

namespace segue {

int64_t visible_window(const ModelConfig& model) {
  if (!model.visibility.same_length) return 0;
  return model.mem_len + (model.visibility.same_length_extra_key ? 1 : 0);
}

}  // namespace segue
