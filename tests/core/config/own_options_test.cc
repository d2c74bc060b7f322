#include "core/config/own_options.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json_fields.h"
#include "core/config/memory_kind.h"

namespace segue {
namespace {

constexpr OwnOption<int64_t> kWidth{"width", 16};
constexpr OwnOption<double> kRate{"rate", 0.5};
constexpr OwnOption<bool> kGated{"gated", true};
constexpr OwnOption<std::string_view> kForm{"form", "sum"};

TEST(OwnOptions, HoldDefaultsUntilTheyAreWritten) {
  OwnOptions own;
  const OwnOptions& read = own;
  EXPECT_EQ(read[kWidth], 16);
  EXPECT_EQ(read[kRate], 0.5);
  EXPECT_TRUE(read[kGated]);
  EXPECT_EQ(read[kForm], "sum");
  EXPECT_EQ(own, OwnOptions());
  own[kWidth] = 3;
  own[kForm] = "mean";
  EXPECT_EQ(read[kWidth], 3);
  EXPECT_EQ(read[kForm], "mean");
  EXPECT_EQ(own[kRate], 0.5);
}

TEST(OwnOptions, HaveOneTypeEach) {
  OwnOptions own;
  own[kWidth] = 3;
  constexpr OwnOption<double> kOther{"width", 1.0};
  EXPECT_THROW(own[kOther], ContractError);
  const OwnOptions& read = own;
  EXPECT_THROW(static_cast<void>(read[kOther]), ContractError);
}

TEST(OwnOptions, AreReadFromConfigs) {
  struct Described {
    OwnOptions own;
    void describe(JsonFields& fields) {
      fields.optional(kWidth.key, own[kWidth], {.meaning = "a width", .minimum = 1});
      fields.optional(kRate.key, own[kRate], {.meaning = "a rate"});
      fields.optional(kGated.key, own[kGated], {.meaning = "a choice"});
      fields.optional(kForm.key, own[kForm], {.meaning = "a form"});
    }
  };
  const auto read = read_fields<ConfigError, Described>(
      parse_json<ConfigError>(R"({"width": 4, "gated": false, "form": "mean"})", "file"), "file");
  EXPECT_EQ(read.own[kWidth], 4);
  EXPECT_EQ(read.own[kRate], 0.5);
  EXPECT_FALSE(read.own[kGated]);
  EXPECT_EQ(write_fields(read).dump(), R"({"width":4,"rate":0.5,"gated":false,"form":"mean"})");
}

TEST(MemoryKinds, HaveOneWordEach) {
  const Words words = choices_of(MemoryKind{});
  for (const std::string_view word : words) {
    EXPECT_EQ(name_of_choice(memory_kind_named(word)), word);
    EXPECT_EQ(extension_of(memory_kind_named(word)), "");
    EXPECT_THROW(add_memory_kind({word, "another one"}, "mine"), ConfigError);
  }
  EXPECT_THROW(memory_kind_named("no_such_kind"), ContractError);
  EXPECT_EQ(choices_of(MemoryKind{}).size(), words.size());
}

TEST(MemoryKinds, HaveRowsInTheirOrder) {
  constexpr int kFirst = 1, kSecond = 2;
  MemoryKindRows<int> rows{&kFirst};
  EXPECT_EQ(rows.of(MemoryKind{}), 1);
  EXPECT_THROW(rows.add(MemoryKind{}, kSecond), ContractError);
  EXPECT_THROW(rows.add(static_cast<MemoryKind>(2), kSecond), ContractError);
  rows.add(static_cast<MemoryKind>(1), kSecond);
  EXPECT_EQ(rows.all().size(), 2);
}

}  // namespace
}  // namespace segue
