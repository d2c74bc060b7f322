// Who gets NCCL, and what is said to those who do not.
#include "distributed/collectives_choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "distributed/nccl.h"
#include "tests/message_of.h"

namespace segue {

namespace {

RankGpu rank_with(const std::string& uuid) {
  return {
      .host = "h", .device = "cuda:0", .uuid = uuid, .nccl_version = 22804, .complaint = "", .may_share_gpu = false};
}

std::string obstacle_of(const std::vector<RankGpu>& ranks) {
  const CollectivesChoice choice = choose_collectives(CollectivesKind::kAuto, ranks);
  EXPECT_EQ(choice.is_nccl, choice.obstacle.empty());
  return choice.obstacle;
}

TEST(CollectivesChoice, RanksWithAGpuEachTakeNccl) { EXPECT_EQ(obstacle_of({rank_with("a"), rank_with("b")}), ""); }

TEST(CollectivesChoice, MpiIsTakenWithoutAWordWhenAskedFor) {
  const std::vector<RankGpu> ranks{rank_with("a"), rank_with("b")};
  const CollectivesChoice choice = choose_collectives(CollectivesKind::kMpi, ranks);
  EXPECT_FALSE(choice.is_nccl);
  EXPECT_EQ(choice.obstacle, "");
}

TEST(CollectivesChoice, OneRankTakesNcclOnlyWhenToldTo) {
  const std::vector<RankGpu> ranks{rank_with("a")};
  EXPECT_FALSE(choose_collectives(CollectivesKind::kAuto, ranks).is_nccl);
  EXPECT_TRUE(choose_collectives(CollectivesKind::kNccl, ranks).is_nccl);
}

TEST(CollectivesChoice, SaysWhoLacksNccl) {
  RankGpu without = rank_with("b");
  without.nccl_version = 0;
  without.complaint = "no library";
  EXPECT_EQ(obstacle_of({rank_with("a"), without}), "rank 1 on h: no library");
}

TEST(CollectivesChoice, SaysWhoHasAnotherNccl) {
  RankGpu other = rank_with("b");
  other.nccl_version = 23003;
  EXPECT_EQ(obstacle_of({rank_with("a"), other}), "rank 1 on h has NCCL 2.30.3, rank 0 has 2.28.4");
}

TEST(CollectivesChoice, RanksShareAGpuOnlyWhereNcclLetsThem) {
  const std::string sharing =
      "ranks 0 and 2 share cuda:0 of h, which NCCL 2.30.0 and later allow with NCCL_MULTI_RANK_GPU_ENABLE=1";
  std::vector<RankGpu> ranks{rank_with("a"), rank_with("b"), rank_with("a")};
  EXPECT_EQ(obstacle_of(ranks), sharing);
  for (RankGpu& rank : ranks) rank.may_share_gpu = true;
  EXPECT_EQ(obstacle_of(ranks), sharing);
  for (RankGpu& rank : ranks) rank.nccl_version = 23000;
  EXPECT_EQ(obstacle_of(ranks), "");
  ranks[2].may_share_gpu = false;
  EXPECT_EQ(obstacle_of(ranks), sharing);
}

TEST(CollectivesChoice, NcclThatIsDemandedAndCannotBeIsAnError) {
  const std::vector<RankGpu> ranks{rank_with("a"), rank_with("a")};
  EXPECT_EQ(message_of<DeviceError>([&] { choose_collectives(CollectivesKind::kNccl, ranks); }),
            "NCCL was asked for and cannot be used: ranks 0 and 1 share cuda:0 of h, which NCCL 2.30.0 and later allow "
            "with NCCL_MULTI_RANK_GPU_ENABLE=1");
}

// Whatever this program was built with, and wherever it runs.
TEST(Nccl, HasAVersionOrACauseForHavingNone) {
  const nccl::Library library = nccl::find_library();
  EXPECT_NE(library.version > 0, !library.complaint.empty()) << library.version << " " << library.complaint;
  EXPECT_TRUE(library.version == 0 || library.version > 20000) << library.version;
  RecordProperty("version", library.version);
}

}  // namespace

}  // namespace segue
