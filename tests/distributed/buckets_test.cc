// Buckets cover a block from its end, once, and their parts cover them.
#include "distributed/buckets.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace segue {
namespace {

TEST(Buckets, CoverTheBlockFromItsEnd) {
  for (const int64_t elements : {16, 48, 160, 1600, 1616}) {
    for (const int64_t wanted : {0, 1, 16, 100, 160, 5000}) {
      const Buckets buckets(elements, wanted);
      int64_t end = elements;
      for (int64_t b = 0; b < buckets.count(); ++b) {
        const Share range = buckets.elements(b);
        EXPECT_GT(range.count, 0);
        EXPECT_EQ(range.first + range.count, end);
        EXPECT_EQ(range.first % Buckets::aligned_elements(1), 0);
        end = range.first;
      }
      EXPECT_EQ(end, 0) << elements << " in buckets of " << wanted;
      EXPECT_TRUE(wanted > 0 || buckets.count() == 1);
    }
  }
}

TEST(Buckets, EveryRankOwnsAPartOfEach) {
  for (const int ranks : {1, 2, 3, 5}) {
    const Buckets buckets(Buckets::aligned_elements(ranks) * 11, 100, ranks);
    EXPECT_GT(buckets.count(), 1);
    int64_t owned = 0;
    for (int64_t b = 0; b < buckets.count(); ++b) {
      int64_t next = buckets.elements(b).first;
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(buckets.part(b, rank).first, next);
        EXPECT_EQ(buckets.part(b, rank).count, buckets.in_shard(b).count);
        next += buckets.part(b, rank).count;
      }
      EXPECT_EQ(next, buckets.elements(b).first + buckets.elements(b).count);
      EXPECT_EQ(buckets.in_shard(b).first, owned);
      owned += buckets.in_shard(b).count;
    }
    EXPECT_EQ(owned, buckets.shard_elements());
  }
}

TEST(Buckets, RefuseABlockThatCannotBeShared) { EXPECT_THROW(Buckets(48, 16, 2), ContractError); }

}  // namespace
}  // namespace segue
