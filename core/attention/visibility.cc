// The key counts of a window and of `same_length`.
#include "core/attention/visibility.h"

#include "base/error.h"

namespace segue {

int64_t visible_window(const ModelUse& use) {
  if (use.window > 0) return use.window;
  if (!use.same_length) return 0;
  const int64_t window = use.mem_len + (use.same_length_extra_key ? 1 : 0);
  if (window == 0) throw ConfigError("same_length with mem_len 0 and no extra key: no query would see a key");
  return window;
}

}  // namespace segue
