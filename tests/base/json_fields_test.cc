// Described structs: what is read, what is refused and in which words, what is written, what the schema says.
#include "base/json_fields.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "tests/message_of.h"

namespace segue {
namespace {

enum class Colour : uint8_t { kRed, kGreen };

std::span<const std::string_view> choices_of(Colour /*colour*/) {
  static constexpr std::array<std::string_view, 2> kNames{"red", "green"};
  return kNames;
}

struct Part {
  std::string file = {};
  int64_t tokens = 0;
  void describe(JsonFields& fields) {
    fields.required("file", file, {.meaning = "where it lies"});
    fields.optional("tokens", tokens, {.meaning = "how many", .unit = "tokens", .minimum = 0});
  }
};

struct Inner {
  int64_t mem_len = 8;
  double rate = 0.5;
  bool same = false;
  Colour colour = Colour::kRed;
  void describe(JsonFields& fields) {
    fields.optional("mem_len", mem_len, {.meaning = "memory", .unit = "tokens", .minimum = 0, .maximum = 100});
    fields.optional("rate", rate, {.meaning = "probability", .minimum = 0, .below = 1});
    fields.optional("same", same, {.meaning = "whether"});
    fields.optional("colour", colour, {.meaning = "which"});
  }
};

struct Outer {
  std::string name = {};
  Inner model = {};
  std::vector<Part> parts = {};
  std::vector<bool> flags{false};
  std::vector<int64_t> sizes = {};
  void describe(JsonFields& fields) {
    fields.required("name", name, {.meaning = "what it is called"});
    fields.optional("model", model, {.meaning = "the model"});
    fields.optional("parts", parts, {.meaning = "the parts"});
    fields.optional("flags", flags, {.meaning = "the flags"});
    fields.optional("sizes", sizes, {.meaning = "the sizes", .minimum = 1});
  }
};

Outer read(std::string_view text) { return read_fields<DataError, Outer>(parse_json<DataError>(text, "f"), "f"); }

std::string error_of(std::string_view text) {
  return message_of<DataError>([&] { read(text); });
}

TEST(JsonFields, ReadsEveryKindOfMember) {
  const Outer outer = read(R"({"name": "n", "model": {"mem_len": 3, "rate": 0, "same": true, "colour": "green"},
      "parts": [{"file": "a", "tokens": 5}, {"file": "b"}], "flags": [true, false, true], "sizes": [4, 2]})");
  EXPECT_EQ(outer.name, "n");
  EXPECT_EQ(outer.model.mem_len, 3);
  EXPECT_EQ(outer.model.rate, 0.0);
  EXPECT_TRUE(outer.model.same);
  EXPECT_EQ(outer.model.colour, Colour::kGreen);
  ASSERT_EQ(outer.parts.size(), 2U);
  EXPECT_EQ(outer.parts[0].tokens, 5);
  EXPECT_EQ(outer.parts[1].file, "b");
  EXPECT_EQ(outer.flags, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(outer.sizes, (std::vector<int64_t>{4, 2}));
}

TEST(JsonFields, AbsentOptionalKeysKeepTheirDefaults) {
  const Outer outer = read(R"({"name": "n"})");
  EXPECT_EQ(outer.model.mem_len, 8);
  EXPECT_EQ(outer.model.rate, 0.5);
  EXPECT_EQ(outer.flags, std::vector<bool>{false});
}

TEST(JsonFields, NamesTheNearestKeyOfAnUnknownOne) {
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"mem_length": 3}})"),
            "f: model.mem_length: unknown key; did you mean model.mem_len?");
  EXPECT_EQ(error_of(R"({"name": "n", "mem_len": 3})"), "f: mem_len: unknown key; did you mean model.mem_len?");
  EXPECT_EQ(error_of(R"({"name": "n", "modle": {}})"), "f: modle: unknown key; did you mean model?");
  EXPECT_EQ(error_of(R"({"name": "n", "parts": [{"file": "a"}, {"file": "b", "tokns": 1}]})"),
            "f: parts[1].tokns: unknown key; did you mean parts[1].tokens?");
  EXPECT_EQ(error_of(R"({"name": "n", "qqqqqqqqqqqq": 1})"), "f: qqqqqqqqqqqq: unknown key");
  EXPECT_EQ(error_of(R"({"name": "n", "a\nb": 1})"), "f: \"a\\nb\": unknown key");
}

TEST(JsonFields, NamesWhatWasExpectedAndFound) {
  EXPECT_EQ(error_of("[1, 2]"), "f: the document: expected an object, found a list of 2");
  EXPECT_EQ(error_of(R"({"name": 1})"), "f: name: expected a string, found 1; in double quotes it is one: \"1\"");
  EXPECT_EQ(error_of(R"({"name": "n", "model": 1})"), "f: model: expected an object, found 1");
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"mem_len": 1.5}})"),
            "f: model.mem_len: expected an integer >= 0 and <= 100, found 1.5");
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"mem_len": "four"}})"),
            "f: model.mem_len: expected an integer >= 0 and <= 100, found \"four\"");
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"mem_len": 101}})"),
            "f: model.mem_len: expected an integer >= 0 and <= 100, found 101");
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"rate": 1}})"),
            "f: model.rate: expected a number >= 0 and < 1, found 1");
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"rate": null}})"),
            "f: model.rate: expected a number >= 0 and < 1, found null");
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"same": 0}})"),
            "f: model.same: expected true or false, found 0; write false");
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"colour": "gren"}})"),
            "f: model.colour: expected one of \"red\", \"green\", found \"gren\"; did you mean \"green\"?");
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"colour": 1}})"),
            "f: model.colour: expected one of \"red\", \"green\", found 1");
  EXPECT_EQ(error_of(R"({"name": "n", "parts": {}})"), "f: parts: expected a list, found an object");
  EXPECT_EQ(error_of(R"({"name": "n", "sizes": [1, 0]})"), "f: sizes[1]: expected an integer >= 1, found 0");
}

TEST(JsonFields, NulIsNamed) {
  EXPECT_EQ(message_of<DataError>([] { read(R"({"name": "data/\u0000b"})"); }),
            R"(f: name: expected a string without NUL (\u0000), found "data/\u0000b")");
}

TEST(JsonFields, WhatWasMeantIsSaid) {
  EXPECT_EQ(error_of(R"({"name": null})"), "f: name: expected a string, found null");
  EXPECT_EQ(error_of(R"({"name": "n", "model": {"rate": "0,1"}})"),
            "f: model.rate: expected a number >= 0 and < 1, found \"0,1\"; write 0.1");
  EXPECT_EQ(error_of(R"({"name": "n", "model": "red"})"), "f: model: expected an object, found \"red\"");
}

TEST(JsonFields, IntegersBeyondInt64AreRefused) {
  EXPECT_EQ(read(R"({"name": "n", "sizes": [9223372036854775807]})").sizes[0], INT64_MAX);
  EXPECT_EQ(error_of(R"({"name": "n", "sizes": [9223372036854775808]})"),
            "f: sizes[0]: expected an integer >= 1, found 9223372036854775808");
  EXPECT_EQ(error_of(R"({"name": "n", "sizes": [99223372036854775808]})"),
            "f: sizes[0]: expected an integer >= 1, found 9.922337203685478e+19");
}

TEST(JsonFields, NotANumberIsRefused) {
  const Json document{{"name", "n"}, {"model", {{"rate", std::numeric_limits<double>::quiet_NaN()}}}};
  EXPECT_EQ(message_of<DataError>([&] { read_fields<DataError, Outer>(document, "f"); }),
            "f: model.rate: expected a number >= 0 and < 1, found null");
}

TEST(JsonFields, RequiredKeysMayBeAbsentOnlyFromAPart) {
  EXPECT_EQ(error_of("{}"), "f: name: required key is missing (what it is called)");
  EXPECT_EQ(error_of(R"({"name": "n", "parts": [{}]})"), "f: parts[0].file: required key is missing (where it lies)");
  EXPECT_EQ(error_of(R"({"nam": "n"})"), "f: nam: unknown key; did you mean name?");
  Outer outer{.name = "before"};
  read_fields_into<DataError>(outer, parse_json<DataError>(R"({"sizes": [7]})", "f"), "f", ReadMode::kPresentKeys);
  EXPECT_EQ(outer.name, "before");
  EXPECT_EQ(outer.sizes, std::vector<int64_t>{7});
}

TEST(JsonFields, WritesWhatItReads) {
  Outer outer{.name = "n", .parts = {{.file = "a", .tokens = 2}}, .flags = {true}, .sizes = {3}};
  outer.model.colour = Colour::kGreen;
  outer.model.rate = 0.1;
  const std::string text = write_fields(outer).dump();
  EXPECT_EQ(text, R"({"name":"n","model":{"mem_len":8,"rate":0.1,"same":false,"colour":"green"},)"
                  R"("parts":[{"file":"a","tokens":2}],"flags":[true],"sizes":[3]})");
  EXPECT_EQ(write_fields(read(text)).dump(), text);
}

TEST(JsonFields, WritingNotANumberIsRefused) {
  Inner inner{.rate = std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(message_of<ContractError>([&] { write_fields(inner); }), "JSON cannot hold nan (probability)");
}

TEST(JsonFields, SchemaHoldsMeaningUnitRangeChoicesAndDefault) {
  const OrderedJson schema = schema_of<Outer>();
  EXPECT_EQ(schema.at("required").dump(), R"(["name"])");
  EXPECT_EQ(schema.at("additionalProperties"), false);
  const OrderedJson& model = schema.at("properties").at("model").at("properties");
  EXPECT_EQ(
      model.at("mem_len").dump(),
      R"json({"description":"memory (unit: tokens)","type":"integer","minimum":0,"maximum":100,"default":8})json");
  EXPECT_EQ(model.at("rate").dump(),
            R"({"description":"probability","type":"number","minimum":0.0,"exclusiveMaximum":1.0,"default":0.5})");
  EXPECT_EQ(model.at("colour").dump(), R"({"description":"which","enum":["red","green"],"default":"red"})");
  EXPECT_EQ(schema.at("properties").at("name").dump(), R"({"description":"what it is called","type":"string"})");
  const OrderedJson& part = schema.at("properties").at("parts").at("items");
  EXPECT_EQ(part.at("required").dump(), R"(["file"])");
  EXPECT_EQ(schema.at("properties").at("flags").at("default").dump(), "[false]");
}

struct Trip {
  std::optional<int64_t> miles = {};
  std::optional<bool> by_night = {};
  std::vector<std::filesystem::path> maps = {};
  int64_t batch_size = 0;
  void describe(JsonFields& fields) {
    fields.optional("miles", miles, {.meaning = "how far", .minimum = 1});
    fields.optional("by_night", by_night, {.meaning = "in the dark"});
    fields.optional("maps", maps, {.meaning = "where they lie"});
    fields.optional("batch_size", batch_size, {.meaning = "travellers"});
  }
};

Trip read_trip(const std::string& text) { return read_fields<DataError, Trip>(parse_json<DataError>(text, "f"), "f"); }

TEST(JsonFields, WhatMayBeAbsentIsWrittenOnlyWhenItIsThere) {
  EXPECT_EQ(write_fields(Trip{}).dump(), R"({"maps":[],"batch_size":0})");
  const std::string text = R"({"miles":3,"by_night":false,"maps":["a/b"],"batch_size":2})";
  EXPECT_EQ(write_fields(read_trip(text)).dump(), text);
  EXPECT_EQ(read_trip("{}").miles, std::nullopt);
  EXPECT_EQ(message_of<DataError>([] { read_trip(R"({"miles": 0})"); }), "f: miles: expected an integer >= 1, found 0");
  EXPECT_EQ(schema_of<Trip>()["properties"]["miles"].dump(),
            R"({"description":"how far","type":"integer","minimum":1})");
}

TEST(JsonFields, MembersAreHeldAgainstTheirDescription) {
  EXPECT_NO_THROW(check_fields<DataError>(Trip{.miles = 1}, "f"));
  EXPECT_EQ(message_of<DataError>([] { check_fields<DataError>(Trip{.miles = -2}, "f"); }),
            "f: miles: expected an integer >= 1, found -2");
}

TEST(JsonFields, OldNamesOfKeysSayTheNewOnes) {
  EXPECT_EQ(message_of<DataError>([] { read_trip(R"({"batch": 4})"); }), "f: batch: renamed to batch_size");
  EXPECT_EQ(message_of<DataError>([] { read_trip(R"({"vocab": 4})"); }), "f: vocab: unknown key");
}

enum class Taste : uint8_t { kSweet, kSour, kBitter, kBland };

// In another order than the enumerators.
const auto& table_of(Taste /*taste*/) {
  static constexpr ChoiceTable<Taste, 4> kTable({{Taste::kBitter, "bitter", "like coffee"},
                                                 {Taste::kSour, "sour", "with a grimace"},
                                                 {Taste::kBland, "bland"},
                                                 {Taste::kSweet, "sweet", "with a smile"}});
  return kTable;
}

enum class Gait : uint8_t { kWalk, kTrot, kRun };

const auto& table_of(Gait /*gait*/) {
  static constexpr ChoiceTable<Gait, 3> kTable(
      {{Gait::kWalk, "walk", "slow"}, {Gait::kTrot, "trot", "fast"}, {Gait::kRun, "run", "fast"}});
  return kTable;
}

struct Horse {
  Taste taste = Taste::kSour;
  Gait gait = Gait::kTrot;
  void describe(JsonFields& fields) {
    fields.kind(taste, {.meaning = "how it eats"});
    fields.optional("gait", gait, {.meaning = "how it goes", .kinds = Kinds(Taste::kSour, Taste::kBitter)});
  }
};

TEST(JsonFields, SchemaTellsWhatWordsMean) {
  const OrderedJson horse = schema_of<Horse>().at("properties");
  EXPECT_EQ(horse.at("kind").dump(),
            R"({"description":"how it eats; bitter: like coffee; sour: with a grimace; sweet: with a smile",)"
            R"("enum":["sweet","sour","bitter","bland"],"default":"sour"})");
  EXPECT_EQ(horse.at("gait").dump(),
            R"json({"description":"how it goes; walk: slow; trot and run: fast (kinds: sour, bitter)",)json"
            R"("x-kinds":["sour","bitter"],"enum":["walk","trot","run"],"default":"trot"})");
  EXPECT_EQ(write_fields(Horse{.taste = Taste::kBitter, .gait = Gait::kRun}).dump(),
            R"({"kind":"bitter","gait":"run"})");
}

enum class Shape : uint8_t { kRound, kSquare, kFlat };

std::span<const std::string_view> choices_of(Shape /*shape*/) {
  static constexpr std::array<std::string_view, 3> kNames{"round", "square", "flat"};
  return kNames;
}

struct Tile {
  Shape shape = Shape::kRound;
  double radius = 1.0;
  std::vector<int64_t> sides = {};
  int64_t weight = 7;
  void describe(JsonFields& fields) {
    fields.kind(shape, {.meaning = "which"});
    fields.optional("radius", radius, {.meaning = "how far", .unit = "m", .kinds = Kinds(Shape::kRound)});
    fields.optional("sides", sides, {.meaning = "how wide", .kinds = Kinds(Shape::kSquare, Shape::kFlat)});
    fields.optional("weight", weight, {.meaning = "how heavy"});
  }
};

struct Floor {
  Tile tile = {};
  std::vector<Tile> others = {};
  void describe(JsonFields& fields) {
    fields.optional("tile", tile, {.meaning = "one"});
    fields.optional("others", others, {.meaning = "more"});
  }
};

TEST(JsonFields, WritesWhatAKindReads) {
  EXPECT_EQ(write_fields(Tile{}).dump(), R"({"kind":"round","radius":1.0,"weight":7})");
  const Floor floor{.tile = {.shape = Shape::kSquare, .sides = {2}}, .others = {Tile{}, {.shape = Shape::kFlat}}};
  EXPECT_EQ(write_fields(floor).dump(),
            R"({"tile":{"kind":"square","sides":[2],"weight":7},"others":[)"
            R"({"kind":"round","radius":1.0,"weight":7},{"kind":"flat","sides":[],"weight":7}]})");
  EXPECT_EQ(write_described([](JsonFields& fields) { Tile{}.describe(fields); }, WrittenKeys::kEvery).dump(),
            R"({"kind":"round","radius":1.0,"sides":[],"weight":7})");
}

TEST(JsonFields, RefusesWhatAKindDoesNotRead) {
  const auto error_of = [](const Floor& floor, std::string_view path) {
    return message_of<DataError>([&] { check_kinds<DataError>(floor, "f", path); });
  };
  EXPECT_EQ(error_of({}, ""), "no error");
  EXPECT_EQ(error_of({.tile = {.shape = Shape::kSquare, .radius = 2.0}}, ""),
            R"(f: tile.radius: expected 1.0 with tile.kind = "square" (read by "round"), found 2.0)");
  EXPECT_EQ(
      error_of({.tile = {.sides = {3, 4}}}, "house.floor"),
      R"(f: house.floor.tile.sides: expected [] with house.floor.tile.kind = "round" (read by "square", "flat"), )"
      "found [3,4]");
  // Read in any order, whatever the kind.
  const auto tile = read_fields<DataError, Tile>(Json{{"radius", 2.0}, {"kind", "square"}}, "f");
  EXPECT_EQ(tile.radius, 2.0);
}

struct Headless {
  int64_t sides = 4;
  void describe(JsonFields& fields) {
    fields.optional("sides", sides, {.meaning = "how many", .kinds = Kinds(Shape::kSquare)});
  }
};

TEST(JsonFields, AKeyOfSomeKindsComesBehindTheKind) {
  EXPECT_EQ(message_of<ContractError>([] { write_fields(Headless{}); }),
            "a key of some kinds comes before the kind (how many)");
}

TEST(JsonFields, SchemaSaysWhichKindsReadAKey) {
  const OrderedJson keys = schema_of<Floor>()["properties"]["tile"]["properties"];
  EXPECT_EQ(keys["sides"]["x-kinds"].dump(), R"(["square","flat"])");
  EXPECT_EQ(keys["sides"]["description"], "how wide (kinds: square, flat)");
  EXPECT_EQ(keys["sides"]["default"].dump(), "[]");
  EXPECT_EQ(keys["radius"]["description"], "how far (kinds: round; unit: m)");
  EXPECT_FALSE(keys["weight"].contains("x-kinds"));
}

}  // namespace
}  // namespace segue
