// JSON text: hostile or mistaken documents are refused in one clear line.
#include "base/json_text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/message_of.h"

namespace segue {
namespace {

std::string parsing_error_of(std::string_view text, const JsonLimits& limits = {}) {
  return message_of<DataError>([&] { parse_json<DataError>(text, "f", limits); });
}

TEST(JsonText, ReadsADocument) {
  const Json document = parse_json<DataError>(R"({"a": [1, -2, 2.5, "x", true, null, {}], "b": {"c": []}})", "f");
  EXPECT_EQ(document.dump(), R"({"a":[1,-2,2.5,"x",true,null,{}],"b":{"c":[]}})");
}

TEST(JsonText, SyntaxErrorsNameLineAndColumn) {
  EXPECT_EQ(parsing_error_of(""),
            "f: line 1, column 1: syntax error while parsing value - unexpected end of input; expected '[', '{', or a "
            "literal");
  EXPECT_TRUE(parsing_error_of("{\n  \"a\": 1e,\n  \"b\": 2\n}")
                  .starts_with("f: line 2, column 10: syntax error while parsing"));
  EXPECT_EQ(parsing_error_of("{} {}"), "f: line 1, column 4: expected nothing behind the end of the document");
}

TEST(JsonText, MistakesThatPeopleMakeAreTold) {
  const auto mistake = [](std::string_view text) {
    const std::string error = parsing_error_of(text);
    return error.substr(std::min(error.size(), error.find(": ", error.find("column")) + 2));
  };
  EXPECT_EQ(parsing_error_of("{\n \"a\": 1,\n}"), "f: line 3, column 1: expected no comma before }: leave it out");
  EXPECT_EQ(mistake("[1, 2,]"), "expected no comma before ]: leave it out");
  for (const char* text : {"{\"a\": 1} // why", "{ // why\n}", "{\"a\": 1, # why\n}", "[1, /* why */ 2]"})
    EXPECT_EQ(mistake(text), "JSON has no comments: leave it out") << text;
  EXPECT_EQ(mistake("{'a': 1}"), "expected double quotes, found a single one");
  EXPECT_EQ(mistake("{\u201ca\u201d: 1}"), "expected straight double quotes, found curly ones");
  EXPECT_EQ(mistake("{\"a\": True}"), "expected true, found True");
  EXPECT_EQ(mistake("[None]"), "expected null, found None");
  EXPECT_EQ(mistake("{\"a\": nan}"), "expected a finite number, found nan, which JSON does not have");
  EXPECT_EQ(mistake("[-Infinity]"), "expected a finite number, found Infinity, which JSON does not have");
  EXPECT_EQ(mistake("{a: 1}"), "expected a key in double quotes, found a: write \"a\"");
  EXPECT_EQ(mistake("garbage"), "expected JSON, which begins with { or [, found garbage");
  EXPECT_EQ(mistake(R"({"a": "\ud800"})"), R"(expected both halves of a character beyond \uffff, as in \ud83d\ude00)");
  EXPECT_EQ(mistake("[adamw]"), "expected a text in double quotes, found adamw: write \"adamw\"");
  EXPECT_EQ(mistake("{\"a\": 1 \"b\": 2}"), "expected a comma before this value");
  EXPECT_EQ(mistake("[1 2]"), "expected a comma before this value");
  EXPECT_EQ(mistake("{\"a\" 2}"), "expected a colon between a key and its value");
  EXPECT_EQ(mistake("{\"a\" = 2}"), "expected a colon between a key and its value");
  EXPECT_EQ(mistake("{\"a\": {\"b\": 1}"), "expected } before the text ends: it may be cut off");
  EXPECT_EQ(mistake("[1, 2}"), "expected ] at the end of a list, found }");
  EXPECT_EQ(mistake("{\"a\": }"), "expected a value before }, found none");
  EXPECT_EQ(mistake("[.5]"), "expected a number that begins with a digit or -, as in 0.5");
  EXPECT_EQ(mistake("[1_000]"), "expected a decimal number of digits alone, found 1_000");
  EXPECT_EQ(mistake("[01]"), "expected a number without a 0 before it, found 01");
}

TEST(JsonText, ErrorsInALineNameTheColumnAlone) {
  EXPECT_TRUE(parsing_error_of("{\"a\": nan}", {.is_line = true}).starts_with("f: column 8: expected a finite number"));
  EXPECT_TRUE(parsing_error_of("", {.is_line = true}).starts_with("f: column 1: syntax error while parsing value"));
}

TEST(JsonText, NumbersNoDoubleCanHoldAreRefused) {
  EXPECT_EQ(parsing_error_of("[1e999]"), "f: line 1, column 6: number overflow parsing '1e999'");
}

TEST(JsonText, DuplicateKeysAreRefused) {
  EXPECT_EQ(parsing_error_of(R"({"a": 1, "b": 2, "a": 3})"), "f: a: duplicate key");
  EXPECT_EQ(parsing_error_of(R"({"m": [0, {"x": {"a": 1, "a": 2}}]})"), "f: m[1].x.a: duplicate key");
  EXPECT_EQ(parsing_error_of(R"([{"a": 1}, {"a": 2}])"), "no error");
}

TEST(JsonText, DepthAndSizeAreBounded) {
  EXPECT_EQ(parsing_error_of("[[[]]]", {.max_depth = 3}), "no error");
  EXPECT_EQ(parsing_error_of("[1, 2, {\"a\": 3}]", {.max_values = 5}), "no error");
  EXPECT_EQ(parsing_error_of("[1, 2, {\"a\": 3}]", {.max_values = 4}), "f: expected at most 4 values, found more");
  EXPECT_EQ(parsing_error_of("[[[[]]]]", {.max_depth = 3}), "f: nested more than 3 levels deep");
  EXPECT_EQ(parsing_error_of(std::string(1'000'000, '[')), "f: nested more than 64 levels deep");
  EXPECT_EQ(parsing_error_of("[1, 2]", {.max_bytes = 5}), "f: expected at most 5 B of JSON, found 6 B");
}

TEST(JsonText, MessagesAreOnePrintableLine) {
  for (const char* text : {"\"\x01\"", "\"\xff\xfe\"", "{\"a\n\":1}", "\x1b[31m"}) {
    const std::string message = parsing_error_of(text);
    EXPECT_TRUE(message.starts_with("f: line 1, column ")) << message;
    for (const char c : message) EXPECT_TRUE(c >= 0x20 && c <= 0x7e) << message;
  }
}

TEST(JsonText, DescribesValuesBriefly) {
  EXPECT_EQ(describe_json(Json("four")), "\"four\"");
  EXPECT_EQ(describe_json(Json(1.5)), "1.5");
  EXPECT_EQ(describe_json(Json{1, 2}), "a list of 2");
  EXPECT_EQ(describe_json(Json::object()), "an object");
  EXPECT_EQ(describe_json(Json("\n")), "\"\\n\"");
  EXPECT_EQ(describe_json(Json(std::string(1000, 'x'))).size(), 83U);
}

TEST(JsonText, WritesBytesThatAreNotUtf8) { EXPECT_EQ(format_json("a\xff"), "\"a\xef\xbf\xbd\"\n"); }

}  // namespace
}  // namespace segue
