// One checkpoint directory: whole or refused, whatever happens to its files.
#include "core/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "tests/core/checkpoint/sample_checkpoint.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::vector<std::string> kFiles{"weights.safetensors", "memory.safetensors", "state.json", "manifest.json"};

void overwrite(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override { write_checkpoint(at_, 120, SampleCheckpoint(1.0F).contents()); }
  std::string complaint() {
    return message_of<CheckpointError>([this] { Checkpoint checkpoint(at_); });
  }
  const TemporaryDirectory directory_;
  const fs::path at_ = directory_ / "imported";
};

TEST_F(CheckpointTest, ReadsBack) {
  const Checkpoint checkpoint(at_);
  EXPECT_EQ(checkpoint.step(), 120);
  EXPECT_EQ(value_of(checkpoint), 1.0F);
  EXPECT_TRUE(checkpoint.contains("state.json"));
  EXPECT_FALSE(checkpoint.contains("manifest.json"));
}

TEST_F(CheckpointTest, NothingIsLeftBeside) {
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(at_), {}), 4);
}

TEST_F(CheckpointTest, ExistingDirectoryIsNotOverwritten) {
  EXPECT_EQ(message_of<CheckpointError>([&] { write_checkpoint(at_, 1, SampleCheckpoint(2.0F).contents()); }),
            at_.string() + ": exists already");
  EXPECT_EQ(value_of(Checkpoint(at_)), 1.0F);
}

TEST_F(CheckpointTest, PathMayEndWithASlash) {
  write_checkpoint(directory_ / "second/", 1, SampleCheckpoint(2.0F).contents());
  EXPECT_EQ(value_of(Checkpoint(directory_ / "second/")), 2.0F);
}

TEST_F(CheckpointTest, UnlistedFileIsNamed) {
  EXPECT_EQ(message_of<CheckpointError>([&] { Checkpoint(at_).text("optimizer.json"); }),
            at_.string() + ": expected a checkpoint with optimizer.json");
}

TEST_F(CheckpointTest, FlippedByteInAnyFileIsFound) {
  for (const std::string& name : kFiles) {
    const std::string whole = read_file(at_ / name);
    for (size_t i = 0; i < whole.size(); ++i) {
      if (whole[i] == ' ' || whole[i] == '\n') continue;  // in JSON, white space may become other white space
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x04);
      overwrite(at_ / name, damaged);
      EXPECT_NE(complaint(), "no error") << name << " byte " << i;
    }
    overwrite(at_ / name, whole);
  }
  EXPECT_EQ(complaint(), "no error");
}

TEST_F(CheckpointTest, ShortenedFileIsFound) {
  for (const std::string& name : kFiles) {
    const std::string whole = read_file(at_ / name);
    overwrite(at_ / name, whole.substr(0, whole.size() / 2));
    EXPECT_THAT(complaint(), HasSubstr((at_ / name).string() + ": ")) << name;
    overwrite(at_ / name, whole);
  }
}

TEST_F(CheckpointTest, MissingFileIsFound) {
  for (const std::string& name : kFiles) {
    const std::string whole = read_file(at_ / name);
    fs::remove(at_ / name);
    EXPECT_THAT(complaint(), HasSubstr((at_ / name).string() + ": missing")) << name;
    overwrite(at_ / name, whole);
  }
}

TEST_F(CheckpointTest, DamageNamesExpectedAndFound) {
  overwrite(at_ / "state.json", "1.00");
  EXPECT_EQ(complaint(), (at_ / "state.json").string() + ": damaged: expected 8 bytes, found 4");
  overwrite(at_ / "state.json", "1.000001");
  EXPECT_THAT(complaint(), HasSubstr("state.json: damaged: expected checksum xxh3:"));
}

// Files cannot grow beyond a limit, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limited{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(CheckpointTest, FullDiskLeavesNothingHalfWritten) {
  const SampleCheckpoint large(2.0F, 100'000);
  std::string complaint;
  {
    const FileSizeLimit limit(4096);
    complaint = message_of<FileError>([&] { write_checkpoint(directory_ / "large", 1, large.contents()); });
  }
  EXPECT_THAT(complaint, HasSubstr("weights.safetensors.partial: cannot write: "));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1);
  EXPECT_EQ(value_of(Checkpoint(at_)), 1.0F);
}

}  // namespace
}  // namespace segue
