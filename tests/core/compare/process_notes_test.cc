// What is noted of a comparison's programs is read again, and damage is named.
#include "core/compare/process_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::HasSubstr;

const ComparedRun kRun{.variant = "alibi", .seed = 3, .learning_rate = {}, .config = {}};

TEST(ProcessNotesTest, AreReadAsTheyWereMade) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(notes_of(directory.path(), kRun).empty());
  add_note(directory.path(), kRun, {.command = "train", .code = 75, .seconds = 1.5, .peak_bytes = 4096});
  add_note(directory.path(), kRun, {.command = "eval", .seconds = 0.25, .peak_bytes = 512});
  const std::vector<ProcessNote> notes = notes_of(directory.path(), kRun);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].command, "train");
  EXPECT_EQ(notes[0].code, 75);
  EXPECT_EQ(notes[0].peak_bytes, 4096);
  EXPECT_EQ(notes[1].command, "eval");
  EXPECT_EQ(notes[1].seconds, 0.25);
}

TEST(ProcessNotesTest, DamageIsNamedWithItsLine) {
  const TemporaryDirectory directory;
  add_note(directory.path(), kRun, {.command = "train", .seconds = 1.5, .peak_bytes = 4096});
  const std::filesystem::path file = directory / "processes" / "alibi-3.jsonl";
  const std::string whole = read_file(file);
  const auto refusal = [&](const std::string& line) {
    write_file_atomically(file, whole + line);
    return message_of<DataError>([&] { notes_of(directory.path(), kRun); });
  };
  EXPECT_THAT(refusal("{\"command\": "), HasSubstr("alibi-3.jsonl, line 2"));
  EXPECT_THAT(refusal(R"({"command": "eval", "code": 0, "seconds": "1", "peak_bytes": 1})"),
              HasSubstr("alibi-3.jsonl, line 2: seconds: expected a number"));
}

}  // namespace
}  // namespace segue
