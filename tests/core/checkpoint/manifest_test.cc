// Manifests: round trip, and every damage found.
#include "core/checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/message_of.h"

namespace segue {
namespace {

using testing::HasSubstr;

Manifest sample() {
  return {.step = 120, .saved = 3, .files = {{"weights.safetensors", 1024, "xxh3:00"}, {"state.json", 17, "xxh3:01"}}};
}

std::string complaint_about(const std::string& text) {
  return message_of<CheckpointError>([&] { parse_manifest(text, "m"); });
}

// A manifest with one text replaced and a seal that fits what is then there.
std::string complaint_about_name(const std::string& name) {
  Manifest manifest = sample();
  manifest.files[0].name = name;
  return complaint_about(manifest_text(manifest));
}

TEST(Manifest, ReadsBack) {
  const Manifest found = parse_manifest(manifest_text(sample()), "m");
  EXPECT_EQ(found.step, 120);
  EXPECT_EQ(found.saved, 3);
  ASSERT_EQ(found.files.size(), 2U);
  EXPECT_EQ(found.files[1].name, "state.json");
  EXPECT_EQ(found.files[1].bytes, 17);
  EXPECT_EQ(found.files[1].checksum, "xxh3:01");
}

TEST(Manifest, EveryFlippedBitIsFoundOrChangesNothing) {
  const std::string whole = manifest_text(sample());
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    if (complaint_about(damaged) != "no error") continue;
    EXPECT_EQ(manifest_text(parse_manifest(damaged, "m")), whole) << "bit " << bit;
  }
}

TEST(Manifest, OfANewerVersionItIsNotCalledDamaged) {
  std::string text = manifest_text(sample());
  const std::string version = "\"version\": 1";
  text.replace(text.find(version), version.size(), "\"version\": 9, \"more\": {}");
  EXPECT_EQ(message_of<NewerCheckpointError>([&] { parse_manifest(text, "m"); }),
            "m: expected version 1 of the format, found 9: a newer Segue wrote it; use that one");
}

TEST(Manifest, ShortenedAnywhereItIsRefused) {
  const std::string whole = manifest_text(sample());
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    EXPECT_NE(complaint_about(whole.substr(0, size)), "no error") << size;
  }
}

TEST(Manifest, NamesThatLeaveTheDirectoryAreRefused) {
  for (const std::string name : {"", ".", "..", "../x", "/etc/passwd", "a/b", ".hidden", "manifest.json"}) {
    EXPECT_THAT(complaint_about_name(name), HasSubstr("m: files: expected distinct names")) << name;
  }
  EXPECT_THAT(complaint_about_name("state.json"), HasSubstr("found \"state.json\""));
}

TEST(Manifest, OtherFormatsAndVersionsAreNamed) {
  std::string text = manifest_text(sample());
  text.replace(text.find("segue-checkpoint"), 16, "another-format!!");
  EXPECT_EQ(complaint_about(text), "m: expected segue-checkpoint version 1, found \"another-format!!\" version 1");
  text = manifest_text(sample());
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
  EXPECT_EQ(complaint_about(text),
            "m: expected version 1 of the format, found 2: a newer Segue wrote it; use that one");
}

TEST(Manifest, ChangedNumbersBreakTheSeal) {
  std::string text = manifest_text(sample());
  text.replace(text.find("\"saved\": 3"), 10, "\"saved\": 4");
  EXPECT_THAT(complaint_about(text), HasSubstr("m: checksum: its content gives xxh3:"));
}

}  // namespace
}  // namespace segue
