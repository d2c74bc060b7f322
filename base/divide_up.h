// Division of counts that leaves nothing over.
#pragma once

#include <cstdint>

namespace segue {

// How many parts of `size` it takes to hold `count`: neither negative, `size` positive.
constexpr int64_t divide_up(int64_t count, int64_t size) { return (count + size - 1) / size; }

}  // namespace segue
