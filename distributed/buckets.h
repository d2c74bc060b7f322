// Cuts a flat block of gradients for its sum over ranks: into buckets from its end, where backward finishes first, and
// each bucket into one part for every rank.
#pragma once

#include <cstdint>

#include "distributed/share.h"

namespace segue {

// Float32 elements of so many MiB.
int64_t bucket_elements(double mebibytes);

class Buckets {
 public:
  // `elements` in buckets of about `bucket_elements` (0: all in one); the last may be smaller. With `parts` ranks that
  // each own a part of every bucket, `elements` is a multiple of aligned_elements(parts); otherwise parts is 1.
  Buckets(int64_t elements, int64_t bucket_elements, int parts = 1);

  // Buckets, and with them the block, are a multiple of this, so that every part begins at a 64-byte boundary.
  static int64_t aligned_elements(int parts) { return int64_t{16} * parts; }

  int64_t count() const { return count_; }
  int parts() const { return parts_; }
  Share elements(int64_t bucket) const;        // of the block; bucket 0 is its end
  Share part(int64_t bucket, int rank) const;  // of the block, owned by `rank`

  // A rank's parts, one behind the other in the order of the buckets.
  int64_t shard_elements() const { return elements_ / parts_; }
  Share in_shard(int64_t bucket) const;  // of the shard

 private:
  int64_t elements_;
  int64_t bucket_elements_;
  int parts_;
  int64_t count_;
};

}  // namespace segue
