// Words, numbers, checksums and progress as people and other programs read them.
#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/checksum.h"
#include "base/progress.h"
#include "base/text_table.h"
#include "base/utf8.h"

namespace segue {

namespace {

TEST(HumanBytes, ChoosesTheUnit) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(int64_t{3} << 40), "3.0 TiB");
  EXPECT_EQ(human_bytes(int64_t{3} << 50), "3072.0 TiB");
}

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("", 10), "");
  EXPECT_EQ(wrapped("one two three", 20), "one two three\n");
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree\n");
  EXPECT_EQ(wrapped("one  unbreakable two", 6), "one\nunbreakable\ntwo\n");
  EXPECT_EQ(wrapped("\u00b1 is half", 6), "\u00b1 is\nhalf\n");
  EXPECT_EQ(wrapped("\u00b1\u00b1\u00b1 \u00b1\u00b1", 6), "\u00b1\u00b1\u00b1 \u00b1\u00b1\n");
}

TEST(HumanCount, GroupsByThree) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(-123456), "-123,456");
  EXPECT_EQ(human_count(41055436), "41,055,436");
}

TEST(HumanDuration, FromTenthsToDays) {
  EXPECT_EQ(human_duration(4.24), "4.2 s");
  EXPECT_EQ(human_duration(59.4), "59 s");
  EXPECT_EQ(human_duration(59.6), "1 min 00 s");
  EXPECT_EQ(human_duration(200), "3 min 20 s");
  EXPECT_EQ(human_duration(7500), "2 h 05 min");
  EXPECT_EQ(human_duration(90000), "1 d 01 h");
  EXPECT_EQ(human_duration(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(Unescaped, ReadsWhatPeopleType) {
  EXPECT_EQ(unescaped(R"(a\n\r\t\\n\x0aB\x41)"), "a\n\r\t\\n\nBA");
  EXPECT_EQ(unescaped(R"(\section\)"), R"(\section\)");
  EXPECT_EQ(unescaped("\n"), "\n");
  EXPECT_EQ(unescaped(""), "");
  EXPECT_EQ(unescaped(R"(\x00)"), std::string(1, '\0'));
  for (const char* wrong : {R"(\x)", R"(\x1)", R"(a\xg0)", R"(\x-1)", R"(\x 1)"})
    EXPECT_EQ(unescaped(wrong), std::nullopt) << wrong;
}

TEST(Counted, HasThePluralOfAllButOne) {
  EXPECT_EQ(counted(1, "thread"), "1 thread");
  EXPECT_EQ(counted(0, "token"), "0 tokens");
  EXPECT_EQ(counted(2048, "token"), "2,048 tokens");
}

TEST(NearestWord, FindsTheTypoAndOnlyThat) {
  const std::vector<std::string_view> words{"mem_len", "tgt_len", "dropout", "dropatt"};
  EXPECT_EQ(nearest_word("mem_lenn", words), "mem_len");
  EXPECT_EQ(nearest_word("droput", words), "dropout");
  EXPECT_EQ(nearest_word("completely_else", words), "");
  EXPECT_EQ(nearest_word(std::string(1000, 'm'), words), "");
  EXPECT_EQ(nearest_word("x", {}), "");
}

TEST(NearestWord, IsNoneWhereMoreThanAThirdDiffers) {
  EXPECT_EQ(nearest_word("learning_rate", {"log_interval"}), "");
  EXPECT_EQ(nearest_word("gradient_clip", {"tgt_len", "batch_chunk"}), "");
  EXPECT_EQ(nearest_word("hidden_size", {"init", "d_inner"}), "");
  EXPECT_EQ(nearest_word("epochs", {"report", "seed"}), "");
  EXPECT_EQ(nearest_word("lr", {"seed", "kind"}), "");
  EXPECT_EQ(nearest_word("trian", {"train", "tasks"}), "train");
  EXPECT_EQ(nearest_word("keep", {"seed"}), "");
  EXPECT_EQ(nearest_word("sched", {"seed"}), "");
  EXPECT_EQ(nearest_word("train", {"none"}), "");
  EXPECT_EQ(nearest_word("-i", {"-h", "-q"}), "");
}

TEST(NearestWord, DoesNotCountCaseAndDashes) {
  const std::vector<std::string_view> words{"adam", "adamw", "--mem-len"};
  EXPECT_EQ(nearest_word("AdamW", words), "adamw");
  EXPECT_EQ(nearest_word("--MEM_LEN", words), "--mem-len");
}

TEST(NearestWord, OfEqualsKeepsTheMostLetters) {
  EXPECT_EQ(nearest_word("fp16", {"fp32", "bf16"}), "bf16");
  EXPECT_EQ(nearest_word("abcdef", {"abcdxy", "bcdefg"}), "bcdefg");
  EXPECT_EQ(nearest_word("abcdef", {"abcdxy", "abcdzw"}), "abcdxy");
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Checksum, PiecesAndWholeAgreeAndABitMatters) {
  const std::string text(100000, 'a');
  Checksum checksum;
  checksum.update(bytes_of(std::string_view(text).substr(0, 33333)));
  checksum.update({});
  checksum.update(bytes_of(std::string_view(text).substr(33333)));
  EXPECT_EQ(checksum.text(), checksum_of(bytes_of(text)));
  std::string damaged = text;
  damaged[50000] ^= 1;
  EXPECT_NE(checksum_of(bytes_of(damaged)), checksum_of(bytes_of(text)));
}

// Files written by one build must verify in the next: the published XXH3-128 of nothing.
TEST(Checksum, KnownAnswer) { EXPECT_EQ(checksum_of({}), "xxh3:99aa06d3014798d86001c324468d497f"); }

TEST(Progress, TellsShareRateAndTimeLeft) {
  const Progress progress("packing", 400'000'000, "MB", 1e6);
  EXPECT_EQ(progress.line(100'000'000, 2.0), "packing: 100.0 MB of 400.0 (25 %), 50.0 MB/s, ETA 6.0 s");
  EXPECT_EQ(progress.line(400'000'000, 8.0), "packing: 400.0 MB of 400.0 (100 %), 50.0 MB/s");
  EXPECT_EQ(progress.line(0, 0.0), "packing: 0.0 MB of 400.0 (0 %), 0.0 MB/s");
}

TEST(Progress, WithoutATotalThereIsNoTimeLeft) {
  EXPECT_EQ(Progress("reading", 0, "MB", 1e6).line(3'000'000, 1.0), "reading: 3.0 MB, 3.0 MB/s");
}

TEST(Progress, FinishesOnceAndOnlyAloud) {
  testing::internal::CaptureStderr();
  Progress progress("packing", 10, "tokens", 1.0);
  progress.advance_to(10);
  progress.finish();
  progress.finish();
  Progress quiet("packing", 10, "tokens", 1.0, true);
  quiet.advance_to(10);
  quiet.finish();
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(shown.substr(0, 24), "packing: 10.0 tokens in ");
  EXPECT_EQ(shown.find("packing", 1), std::string::npos) << shown;
}

}  // namespace

TEST(Utf8, CharactersAreColumns) {
  EXPECT_EQ(columns_of_text("na\xc3\xafve \xe2\x80\x94 \xf0\x9f\x98\x80"), 9);
  EXPECT_EQ(columns_of_text(""), 0);
  EXPECT_FALSE(continues_character('\x7f'));
  EXPECT_TRUE(continues_character('\x80'));
  EXPECT_TRUE(continues_character('\xbf'));
  EXPECT_FALSE(continues_character('\xc0'));
}

TEST(TextTable, ColumnsAreAsWideAsWhatIsInThem) {
  EXPECT_EQ(text_table({{.head = "memory", .cells = {"8", "1,024"}},
                        {.head = "loss", .cells = {"2.5 \xc2\xb1 0.1", "2"}, .is_text = true},
                        {.head = "rate", .cells = {"10", "9"}},
                        {.head = "end", .cells = {"", "a"}, .is_text = true}}),
            "memory  loss       rate  end\n"
            "     8  2.5 \xc2\xb1 0.1    10\n"
            " 1,024  2             9  a\n");
  EXPECT_EQ(text_table({{.head = "none", .cells = {}}}), "none\n");
}

TEST(TextTable, ColumnsThatDoNotFitFollowBelow) {
  const std::string wide(30, 'w');
  const std::vector<TextColumn> columns{{.head = "name", .cells = {"a", "b"}, .is_text = true},
                                        {.head = wide, .cells = {"1", "2"}},
                                        {.head = wide + "12345678901 ", .cells = {"3", "4"}, .is_text = true},
                                        {.head = "more", .cells = {"5", "6"}}};
  EXPECT_EQ(text_table({columns[0], columns[1], columns[2]}), "name  " + wide + "  " + wide +
                                                                  "12345678901\n"
                                                                  "a     " +
                                                                  std::string(29, ' ') +
                                                                  "1  3\n"
                                                                  "b     " +
                                                                  std::string(29, ' ') + "2  4\n");
  EXPECT_EQ(text_table(columns), text_table({columns[0], columns[1], columns[2]}) +
                                     "\n"
                                     "name  more\n"
                                     "a        5\n"
                                     "b        6\n");
  EXPECT_EQ(text_table({{.head = std::string(90, 'x'), .cells = {}}, columns[3]}).find("more"), 92U) << "never alone";
}

TEST(TextTable, WhatIsExplainedStandsBesideItsLabel) {
  const std::string indent(39, ' ');
  EXPECT_EQ(explained("reach", "71 tokens back"), "reach" + std::string(34, ' ') + "71 tokens back\n");
  EXPECT_EQ(explained("reach", "71 tokens back (2 layers, segment 16, memory 24)"),
            "reach" + std::string(34, ' ') + "71 tokens back (2 layers, segment 16,\n" + indent + "memory 24)\n");
}

TEST(TextTest, WhatATerminalWouldObeyIsShownInstead) {
  EXPECT_EQ(visible_line("caf\xc3\xa9 \xe2\x96\x81 \xf0\x9f\x98\x80"), "caf\xc3\xa9 \xe2\x96\x81 \xf0\x9f\x98\x80");
  EXPECT_EQ(visible_line("\x1b[2J\n\tx\x7f"), "\\x1b[2J\\x0a\\x09x\\x7f");
  EXPECT_EQ(visible_lines("\x1b[2J\n\tx"), "\\x1b[2J\n\tx");
  EXPECT_EQ(visible_line("\xc2\x9b"
                         "1m \x9b \xc3 \xed\xa0\x80 \xc0\x9b"),
            "\\xc2\\x9b1m \\x9b \\xc3 \\xed\\xa0\\x80 \\xc0\\x9b");
}

}  // namespace segue
