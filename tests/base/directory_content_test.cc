// What stands in a directory or a file, before something is written there.
#include "base/directory_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::HasSubstr;
using Kinds = std::vector<DirectoryKind>;

class DirectoryContentTest : public testing::Test {
 protected:
  std::filesystem::path with(const std::string& name, const std::vector<std::string>& files,
                             const std::string& text = "{}") {
    const std::filesystem::path directory = directory_ / name;
    make_directories(directory);
    for (const std::string& file : files) write_file_atomically(directory / file, text);
    return directory;
  }
  TemporaryDirectory directory_;
};

TEST_F(DirectoryContentTest, IsKnownByItsFiles) {
  EXPECT_EQ(kinds_in(with("run", {"config.json", "metrics.jsonl"})), Kinds{DirectoryKind::kRun});
  EXPECT_EQ(kinds_in(with("checkpoints", {"step-00000010"})), Kinds{DirectoryKind::kCheckpoints});
  EXPECT_EQ(kinds_in(with("imported", {"manifest.json"}, R"({"format": "segue-checkpoint"})")),
            Kinds{DirectoryKind::kCheckpoint});
  EXPECT_EQ(kinds_in(with("data", {"manifest.json"}, R"({"format": "segue-dataset"})")),
            Kinds{DirectoryKind::kDataset});
  EXPECT_EQ(kinds_in(with("evaluated", {"evaluation.json"})), Kinds{DirectoryKind::kEvaluation});
  EXPECT_EQ(kinds_in(with("compared", {"measure.json"})), Kinds{DirectoryKind::kComparison});
  EXPECT_EQ(kinds_in(with("exported", {"config.json", "model.safetensors"})), Kinds{DirectoryKind::kOthersModel});
  EXPECT_EQ(kinds_in(with("configs", {"config.json"})), Kinds{});
  EXPECT_EQ(kinds_in(directory_ / "absent"), Kinds{});
}

TEST_F(DirectoryContentTest, ARunIsFoundAroundItsFiles) {
  const std::filesystem::path run = with("run", {"config.json", "metrics.jsonl"});
  with("run/checkpoints/step-00000010", {"state.json"});
  for (const char* inside : {"config.json", "checkpoints", "checkpoints/", "checkpoints/step-00000010",
                             "checkpoints/step-00000010/state.json", "nothing"})
    EXPECT_EQ(run_around(run / inside), run) << inside;
  EXPECT_EQ(run_around(run), std::nullopt);
  EXPECT_EQ(run_around(directory_ / "run.json"), std::nullopt);
}

TEST_F(DirectoryContentTest, IsSaidInWords) {
  EXPECT_EQ(describe_content(with("both", {"config.json", "metrics.jsonl", "manifest.json", "train-00000.h5"})),
            "a run and a dataset");
  EXPECT_EQ(describe_content(with("others", {"b.txt", "a\n.txt"})), "other files, such as a?.txt");
  EXPECT_EQ(describe_content(with("empty", {})), kNoFiles);
  EXPECT_EQ(describe_content(directory_ / "absent"), kNoFiles);
  EXPECT_EQ(describe_content(directory_ / "others" / "b.txt"), "a file");
}

TEST_F(DirectoryContentTest, APathAtWhichNothingIsTellsWhatIsBesideIt) {
  const std::string place = directory_.path().string();
  EXPECT_EQ(meant_beside(directory_ / "book", DirectoryKind::kRun), "");
  with("book", {"config.json", "metrics.jsonl"});
  with("text", {"manifest.json"}, R"({"format": "segue-dataset"})");
  EXPECT_EQ(meant_beside(directory_ / "bok", DirectoryKind::kRun), "; did you mean " + place + "/book?");
  EXPECT_EQ(meant_beside(directory_ / "bok/checkpoints/best", DirectoryKind::kRun),
            "; did you mean " + place + "/book?");
  EXPECT_EQ(meant_beside(directory_ / "bok/", DirectoryKind::kRun), "; did you mean " + place + "/book?");
  EXPECT_EQ(meant_beside(directory_ / "another", DirectoryKind::kRun), "; beside it: " + place + "/book");
  EXPECT_EQ(meant_beside(directory_ / "book2", DirectoryKind::kDataset), "; beside it: " + place + "/text");
  for (int i = 0; i < 6; ++i) with("a" + std::to_string(i), {"config.json", "metrics.jsonl"});
  EXPECT_THAT(meant_beside(directory_ / "unlike", DirectoryKind::kRun), HasSubstr("/a4 and 2 more"));
}

}  // namespace
}  // namespace segue
