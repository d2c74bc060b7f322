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
