// Limits of control groups, of both versions, as files, and what is said of more.
#include "base/memory_limit.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

class MemoryLimit : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = directory_ / file;
    make_directories(path.parent_path());
    write_file_atomically(path, text);
  }
  std::optional<int64_t> limit(const std::string& membership) {
    write("membership", membership);
    return memory_limit(directory_.path(), directory_ / "membership");
  }

  TemporaryDirectory directory_;
};

TEST_F(MemoryLimit, IsTheSmallestOfAGroupAndThoseAroundIt) {
  write("pod/memory.max", "4096000\n");
  write("pod/job/memory.max", "max\n");
  EXPECT_EQ(limit("0::/pod/job\n"), 4096000);
  write("pod/job/memory.max", "1024\n");
  EXPECT_EQ(limit("0::/pod/job\n"), 1024);
  EXPECT_EQ(limit("0::/\n"), std::nullopt);
  write("memory/docker/memory.limit_in_bytes", "8192\n");
  EXPECT_EQ(limit("9:memory:/docker\n4:cpu,cpuacct:/docker\n"), 8192);
}

TEST(UsableMemory, IsNotExceededWithoutAWord) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  EXPECT_GT(usable_memory().bytes(), kGiB / 4);
  EXPECT_EQ(complaint_of_memory(3 * kGiB, "lower x", {.machine = 4 * kGiB}), "");
  EXPECT_EQ(complaint_of_memory(5 * kGiB, "lower x", {.machine = 4 * kGiB}),
            "5.0 GiB of memory, but this machine has 4.0 GiB: the system may end it at any time; lower x");
  EXPECT_EQ(complaint_of_memory(3 * kGiB, "lower x", {.machine = 4 * kGiB, .limit = 2 * kGiB}),
            "3.0 GiB of memory, but the control group of this process has 2.0 GiB: the system may end it at any time; "
            "lower x");
  EXPECT_EQ(complaint_of_memory(3 * kGiB, "lower x", {}), "");
}

}  // namespace
}  // namespace segue
