#include "distributed/buckets.h"

#include <algorithm>

#include "base/divide_up.h"
#include "base/error.h"

namespace segue {

int64_t bucket_elements(double mebibytes) { return static_cast<int64_t>(mebibytes * (1 << 20) / sizeof(float)); }

Buckets::Buckets(int64_t elements, int64_t bucket_elements, int parts) : elements_(elements), parts_(parts) {
  const int64_t step = aligned_elements(parts);
  if (parts > 1 && elements % step != 0)
    throw ContractError("buckets: {} elements in {} parts, expected a multiple of {}", elements, parts, step);
  bucket_elements_ = bucket_elements == 0 ? std::max(elements, step) : divide_up(bucket_elements, step) * step;
  count_ = divide_up(elements, bucket_elements_);
}

Share Buckets::elements(int64_t bucket) const {
  const int64_t end = elements_ - bucket * bucket_elements_;
  const int64_t first = std::max<int64_t>(0, end - bucket_elements_);
  return {.first = first, .count = end - first};
}

Share Buckets::part(int64_t bucket, int rank) const {
  const Share whole = elements(bucket);
  const int64_t count = whole.count / parts_;
  return {.first = whole.first + rank * count, .count = count};
}

Share Buckets::in_shard(int64_t bucket) const {
  return {.first = bucket * bucket_elements_ / parts_, .count = elements(bucket).count / parts_};
}

}  // namespace segue
