// Directories that appear whole or not at all.
#include "data_pipeline/staged_directory.h"

#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

class StagedDirectoryTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::filesystem::path target_ = directory_ / "target";
  std::filesystem::path partial_ = directory_ / "target.partial";
};

TEST_F(StagedDirectoryTest, NothingIsSeenBeforeCommitAndAllOfItAfter) {
  StagedDirectory staged(target_);
  write_text(staged.path() / "file", "content");
  EXPECT_FALSE(std::filesystem::exists(target_));
  staged.commit();
  EXPECT_EQ(read_file(target_ / "file"), "content");
  EXPECT_FALSE(std::filesystem::exists(partial_));
}

TEST_F(StagedDirectoryTest, WithoutCommitNothingStays) {
  { write_text(StagedDirectory(target_).path() / "file", "content"); }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(StagedDirectoryTest, CommitReplacesADirectoryWhole) {
  std::filesystem::create_directory(target_);
  write_text(target_ / "old", "old");
  {
    StagedDirectory staged(target_);
    write_text(staged.path() / "new", "new");
    staged.commit();
  }
  EXPECT_EQ(read_file(target_ / "new"), "new");
  EXPECT_FALSE(std::filesystem::exists(target_ / "old"));
  EXPECT_FALSE(std::filesystem::exists(partial_));
}

TEST_F(StagedDirectoryTest, ALinkStaysAndWhatItLeadsToIsReplaced) {
  std::filesystem::create_directories(directory_ / "disk" / "empty");
  std::filesystem::create_directory_symlink("disk/empty", target_);
  StagedDirectory staged(target_ / "");
  EXPECT_EQ(staged.path(), directory_ / "disk" / "empty.partial");
  write_text(staged.path() / "file", "content");
  staged.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(target_));
  EXPECT_EQ(read_file(directory_ / "disk" / "empty" / "file"), "content");
}

TEST_F(StagedDirectoryTest, AMountedFileSystemIsRefusedBeforeAnythingIsWritten) {
  EXPECT_EQ(message_of<FileError>([] { StagedDirectory staged("/proc"); }),
            "/proc: expected a directory that can be replaced, found a mounted file system; name one in it");
}

TEST_F(StagedDirectoryTest, WhatAnInterruptedRunLeftIsRemoved) {
  std::filesystem::create_directories(partial_ / "left");
  StagedDirectory staged(target_);
  EXPECT_TRUE(std::filesystem::is_empty(staged.path()));
}

TEST_F(StagedDirectoryTest, TwoWritersOfOneDirectoryAreKeptApart) {
  StagedDirectory first(target_);
  write_text(first.path() / "file", "content");
  EXPECT_EQ(message_of<FileError>([this] { StagedDirectory second(target_); }),
            partial_.string() + ": another process is writing here");
  first.commit();
  EXPECT_EQ(read_file(target_ / "file"), "content");
}

TEST_F(StagedDirectoryTest, ATrailingSlashDoesNotChangeTheName) {
  StagedDirectory staged(target_ / "");
  EXPECT_EQ(staged.path(), partial_);
}

}  // namespace
}  // namespace segue
