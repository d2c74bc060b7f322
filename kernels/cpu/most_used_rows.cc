// A heap of the rows that were used most so far, with the least used of them on top.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

void sum_heads(const float* received, int64_t heads, int64_t rows, float* usage) {
  std::fill_n(usage, rows, 0.0F);
  for (int64_t n = 0; n < heads; ++n)
    for (int64_t row = 0; row < rows; ++row) usage[row] += received[n * rows + row];
}

// Their numbers in ranked[0] .. ranked[kept - 1], ascending.
void choose(const float* usage, int64_t rows, int32_t* ranked, int64_t kept) {
  const auto goes_before = [usage](int32_t i, int32_t j) {
    return is_used_more(std::bit_cast<uint32_t>(usage[i]), i, std::bit_cast<uint32_t>(usage[j]), j);
  };
  int32_t* end = ranked + kept;
  for (int32_t row = 0; row < rows; ++row) {
    if (row < kept) {
      ranked[row] = row;
      std::push_heap(ranked, ranked + row + 1, goes_before);
    } else if (goes_before(row, *ranked)) {
      std::pop_heap(ranked, end, goes_before);
      end[-1] = row;
      std::push_heap(ranked, end, goes_before);
    }
  }
  std::sort(ranked, end);
}

}  // namespace

void most_used_rows(Queue& queue, const MostUsedRows& args) {
  const int64_t streams = args.x.shape[0];
  const int64_t rows = args.x.shape[1];
  const int64_t heads = args.received.shape[1];
  const int64_t kept = args.y.shape[1];
  const auto bytes = static_cast<size_t>(args.x.shape[2] * bytes_of(args.x.dtype));
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.x.elements()))
  for (int64_t b = 0; b < streams; ++b) {
    float* usage = args.usage.as<float>() + b * rows;
    int32_t* ranked = args.ranked.as<int32_t>() + b * kept;
    sum_heads(args.received.as<float>() + b * heads * rows, heads, rows, usage);
    choose(usage, rows, ranked, kept);
    for (int64_t k = 0; k < kept; ++k)
      std::memcpy(args.y.data + static_cast<size_t>(b * kept + k) * bytes,
                  args.x.data + static_cast<size_t>(b * rows + ranked[k]) * bytes, bytes);
  }
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
