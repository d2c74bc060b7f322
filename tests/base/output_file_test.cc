// What stands where a command is to write is replaced only by what wrote it.
#include "base/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  std::filesystem::path with(const std::string& name, const std::string& text) {
    make_directories((directory_ / name).parent_path());
    write_file_atomically(directory_ / name, text);
    return directory_ / name;
  }
  static std::string refused(const std::filesystem::path& path, OutputKind kind) {
    return message_of<UsageError>([&] { check_output_files({{"--output", path, kind}}); });
  }
  std::string text_refused(const std::string& text, OutputKind kind) { return refused(with("out", text), kind); }

  TemporaryDirectory directory_;
};

std::string weights(const std::string& header) { return std::string("\x08\0\0\0\0\0\0\0", 8) + header; }

TEST_F(OutputFileTest, ItsOwnKindAloneIsReplaced) {
  const std::vector<std::pair<OutputKind, std::string>> made{
      {OutputKind::kGeneration, R"({"checkpoint": "a", "prompt": "", "tokens_per_second": 1})"},
      {OutputKind::kBenchmark, R"({"setting": {}, "measurements": []})"},
      {OutputKind::kPairedDifference, R"({"format": "segue-paired-difference"})"},
      {OutputKind::kPairedCsv, "first,second,tokens,loss,confidence95\n"},
      {OutputKind::kEffectiveContext, R"({"format": "segue-effective-context"})"},
      {OutputKind::kModelArguments, R"({"n_token": 4, "n_layer": 1, "d_model": 2})"},
      {OutputKind::kExportedWeights, weights(R"({"__metadata__":{"format":"pt","program":"segue export"}})")},
      {OutputKind::kPage, "<!DOCTYPE html>\n<meta content=\"default-src 'none'; style-src 'unsafe-inline'\">"},
      {OutputKind::kPicture, "<svg viewBox=\"0 0 1 1\" role=\"img\">\n"}};
  for (const auto& [kind, text] : made)
    for (const auto& [other, ignored] : made)
      EXPECT_THAT(text_refused(text, other),
                  HasSubstr(kind == other ? "no error" : "to replace, or no such file; found "));
  for (const std::string text :
       {"Call me Ishmael", "first,second\n", "{}", "[1]", R"({"model": {}})", R"({"format": "segue-dataset"})",
        R"({"format": "segue-evaluation"})", "<!DOCTYPE html>\n<p>mine", "<svg>mine</svg>", "<?xml version='1.0'?>"})
    for (const auto& [kind, ignored] : made) EXPECT_THAT(text_refused(text, kind), HasSubstr("; name another"));
  EXPECT_THAT(text_refused(weights(R"({"__metadata__":{"format":"segue"}})"), OutputKind::kExportedWeights),
              HasSubstr("found one that begins"));
}

TEST_F(OutputFileTest, WhatStandsThereIsNamed) {
  const std::string place = directory_.path().string();
  EXPECT_EQ(text_refused("Call me Ishmael. Some years ago - never mind how long precisely", OutputKind::kPage),
            "--output " + place +
                "/out: expected a page of segue report to replace, or no such file; found one that begins "
                "\"Call me Ishmael. Some years ago - never ...\"; name another");
  with("run/metrics.jsonl", "{}\n");
  const auto config = with("run/config.json", R"({"model": {}})");
  EXPECT_THAT(refused(config, OutputKind::kGeneration),
              HasSubstr("found a file of a run, whose directory is " + place + "/run; name another"));
  EXPECT_THAT(refused(with("tiny.json", R"({"model": {}})"), OutputKind::kEffectiveContext),
              HasSubstr("found a training config"));
}

TEST_F(OutputFileTest, AnEmptyFileIsReplacedOutsideOfARun) {
  EXPECT_EQ(text_refused("", OutputKind::kGeneration), "no error");
  with("run/metrics.jsonl", "{}\n");
  with("run/config.json", "{}");
  EXPECT_THAT(refused(with("run/lock", ""), OutputKind::kGeneration),
              AllOf(HasSubstr("found an empty file in "), HasSubstr("/run, a run")));
}

TEST_F(OutputFileTest, ALinkIsSeenAsWhatItLeadsTo) {
  std::filesystem::create_symlink(with("story.txt", "Call me Ishmael"), directory_ / "link.json");
  EXPECT_THAT(refused(directory_ / "link.json", OutputKind::kGeneration), HasSubstr("Call me Ishmael"));
}

TEST_F(OutputFileTest, OutputsAndInputsAreDifferentFiles) {
  const auto check = [](const std::vector<OutputFile>& outputs, const std::vector<std::filesystem::path>& inputs = {}) {
    return message_of<UsageError>([&] { check_output_files(outputs, inputs); });
  };
  const OutputFile json{"--output", directory_ / "pair", OutputKind::kPairedDifference};
  const std::string made = R"({"format": "segue-paired-difference"})";
  EXPECT_EQ(check({json, {"--csv", directory_ / "pair.csv", OutputKind::kPairedCsv}}), "no error");
  EXPECT_EQ(check({json, {"--csv", "", OutputKind::kPairedCsv}}), "no error");
  EXPECT_THAT(check({json, {"--csv", directory_ / "." / "pair", OutputKind::kPairedCsv}}),
              AllOf(HasSubstr("--csv "), HasSubstr("expected another file than --output ")));
  with("pair", made);
  EXPECT_EQ(check({json}, {directory_ / "other"}), "no error");
  EXPECT_THAT(check({json}, {directory_ / "." / "pair"}), HasSubstr("than those that are read"));
  std::filesystem::create_symlink(directory_ / "pair", directory_ / "link");
  EXPECT_THAT(check({json}, {directory_ / "link"}), HasSubstr("than those that are read"));
}

TEST_F(OutputFileTest, StreamsTakeEverything) {
  check_output_files(
      {{"--output", "/dev/null", OutputKind::kGeneration}, {"--csv", "/dev/null", OutputKind::kPairedCsv}});
  EXPECT_THAT(message_of<FileError>([&] {
                check_output_files({{"--output", directory_.path(), OutputKind::kGeneration}});
              }),
              HasSubstr("found a directory"));
}

TEST_F(OutputFileTest, NamesThatMeanSomethingElseAreRefused) {
  for (const char* name : {"result.json", "a b", "runs/~a", "-a", "C:/a", "./-", "/dev/stdout"})
    EXPECT_EQ(mistake_in_output_name(name), "") << name;
  EXPECT_THAT(mistake_in_output_name("-"), HasSubstr("/dev/stdout"));
  for (const char* name : {"~", "~/a", "~bob/a", "https://x/y", "s3://x", "", " ", "\t"})
    EXPECT_NE(mistake_in_output_name(name), "") << name;
}

}  // namespace
}  // namespace segue
