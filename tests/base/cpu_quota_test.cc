// Quotas of control groups, of both versions, as files.
#include "base/cpu_quota.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

class CpuQuota : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = directory_ / file;
    make_directories(path.parent_path());
    write_file_atomically(path, text);
  }
  std::optional<int> quota(const std::string& membership) {
    write("membership", membership);
    return cpu_quota(directory_.path(), directory_ / "membership");
  }

  TemporaryDirectory directory_;
};

TEST_F(CpuQuota, OfVersionTwoTheSmallestOfAGroupAndThoseAroundIt) {
  write("pod/cpu.max", "250000 100000\n");
  write("pod/job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/pod/job\n"), 2);
  write("pod/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/pod/job\n"), 1);
  EXPECT_EQ(quota("0::/\n"), std::nullopt);
  write("cpu.max", "300000 100000\n");  // of a container, whose root is its own group
  EXPECT_EQ(quota("0::/\n"), 3);
  EXPECT_EQ(quota("0::/of/the/host\n"), 3);
}

TEST_F(CpuQuota, OfVersionOneWhereverItsControllerIsMounted) {
  write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("cpu,cpuacct/docker/cpu.cfs_quota_us", "800000\n");
  write("cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("9:memory:/docker\n4:cpu,cpuacct:/docker\n0::/\n"), 8);
  EXPECT_EQ(quota("4:cpu,cpuacct:/\n"), std::nullopt);
  EXPECT_EQ(quota("3:cpuset:/docker\n"), std::nullopt);
  write("cpu/cpu.cfs_quota_us", "20000\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("4:cpu:/docker/of/the/host\n"), 1);
}

TEST(UsableProcessors, AreNotSharedByMoreThreadsWithoutAWord) {
  const UsableProcessors two{.affinity = 2};
  EXPECT_EQ(complaint_of_threads(2, "training.threads", 2, two), "");
  EXPECT_EQ(complaint_of_threads(8, "training.threads", 8, two),
            "training.threads: 8 threads, but this process may use 2 processors: threads that share one wait for each "
            "other; 0 uses as many threads as processors");
  EXPECT_EQ(
      complaint_of_threads(3, "--threads", 0, {.affinity = 64, .quota = 1}),
      "OMP_NUM_THREADS: 3 threads, but this process may use 1 processor, by the quota of its control group: threads "
      "that share one wait for each other; unset it to use as many threads as processors");
  EXPECT_EQ(complaint_of_threads(4, "--threads", 4, {.affinity = 4, .quota = 8}), "");
  EXPECT_GE(usable_processors().count(), 1);
}

TEST_F(CpuQuota, IsNoneWhereNothingCanBeRead) {
  EXPECT_EQ(quota("nonsense\n0:\n::\n"), std::nullopt);
  write("cpu.max", "a few\n");
  EXPECT_EQ(quota("0::/\n"), std::nullopt);
  write("cpu.max", "100000 0\n");
  EXPECT_EQ(quota("0::/\n"), 1000000);
  EXPECT_EQ(cpu_quota(directory_ / "none", directory_ / "none"), std::nullopt);
}

}  // namespace
}  // namespace segue
