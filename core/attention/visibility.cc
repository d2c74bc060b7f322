// The key counts of a window and of `same_length`.
#include "core/attention/visibility.h"

#include <algorithm>

#include "base/error.h"
#include "core/config/layers.h"

namespace segue {

int64_t visible_window(const ModelUse& use) {
  if (use.window > 0) return use.window;
  if (!use.same_length) return 0;
  const int64_t window = use.mem_len + (use.same_length_extra_key ? 1 : 0);
  if (window == 0) throw ConfigError("same_length with mem_len 0 and no extra key: no query would see a key");
  return window;
}

int64_t widest_window(const ModelConfig& model, const ModelUse& use) {
  int64_t widest = 0;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const int64_t window = visible_window(use_of_layer(model, use, layer));
    if (window == 0) return 0;
    widest = std::max(widest, window);
  }
  return widest;
}

}  // namespace segue
