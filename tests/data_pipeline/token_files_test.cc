// Token files of other programs: read as what they say they are, cut into their documents, or refused by name and
// place.
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::string bytes_of_numbers(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

template <typename T>
std::string llmc_file(const std::vector<T>& tokens, int32_t magic, int32_t version, int64_t count = -1) {
  std::vector<int32_t> header(256, 0);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<int32_t>(count < 0 ? std::ssize(tokens) : count);
  return bytes_of_numbers(header) + bytes_of_numbers(tokens);
}

std::string npy_file(const std::string& dtype, const std::string& shape, const std::string& elements,
                     const std::string& fortran_order = "False") {
  const std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", dtype, fortran_order, shape);
  return "\x93NUMPY" + std::string("\x01\0", 2) + bytes_of_numbers(std::vector{static_cast<uint16_t>(text.size())}) +
         text + elements;
}

// An index as Megatron-LM writes it, unless it is told otherwise.
struct IndexFile {
  std::vector<int32_t> lengths;
  std::vector<int64_t> documents;
  uint8_t code = 8;
  int64_t width = 2;
  uint64_t version = 1;
  std::vector<int64_t> pointers = {};

  std::string bytes() const {
    std::vector<int64_t> begins = pointers;
    int64_t begin = 0;
    for (size_t i = 0; pointers.empty() && i < lengths.size(); ++i) {
      begins.push_back(begin);
      begin += lengths[i] * width;
    }
    return std::string("MMIDIDX\0\0", 9) + bytes_of_numbers(std::vector{version}) +
           bytes_of_numbers(std::vector{code}) +
           bytes_of_numbers(std::vector<uint64_t>{lengths.size(), documents.size()}) + bytes_of_numbers(lengths) +
           bytes_of_numbers(begins) + bytes_of_numbers(documents);
  }
};

class TokenFilesTest : public ::testing::Test {
 protected:
  std::vector<int32_t> tokens_of(PrepareOptions options) {
    options.output = directory_ / "dataset";
    options.force = true;
    prepare_silently(options);
    return all_tokens(options.output, "train");
  }
  std::vector<int32_t> tokens_in(const std::string& name, const std::string& content, PrepareOptions options = {}) {
    options.train = {write_text(directory_ / name, content)};
    return tokens_of(options);
  }
  // The message without the directory.
  std::string refusal_of(PrepareOptions options) {
    options.output = directory_ / "none";
    std::string message = message_of<DataError>([&options] { prepare_silently(options); });
    EXPECT_FALSE(std::filesystem::exists(options.output)) << message;
    const std::string directory = directory_.path().string() + "/";
    for (size_t at = message.find(directory); at != std::string::npos; at = message.find(directory))
      message.erase(at, directory.size());
    return message;
  }
  std::string refusal(const std::string& name, const std::string& content, PrepareOptions options = {}) {
    options.train = {write_text(directory_ / name, content)};
    return refusal_of(options);
  }
  std::string index_refusal(const std::string& index, const std::vector<uint16_t>& tokens = {1, 2, 3, 4, 5, 6}) {
    write_text(directory_ / "a.idx", index);
    return refusal("a.bin", bytes_of_numbers(tokens));
  }

  TemporaryDirectory directory_;
};

TEST_F(TokenFilesTest, ShardsOfLlmC) {
  const std::vector<uint16_t> narrow{50256, 1, 0, 65535};
  const std::vector<uint32_t> wide{128000, 1, 70000};
  EXPECT_THAT(tokens_in("a.bin", llmc_file(narrow, 20240520, 1)), ElementsAre(50256, 1, 0, 65535));
  EXPECT_EQ(Dataset(directory_ / "dataset").manifest().token_type, TokenType::kUInt16);
  EXPECT_THAT(tokens_in("b.bin", llmc_file(wide, 20240801, 7)), ElementsAre(128000, 1, 70000));
  EXPECT_EQ(Dataset(directory_ / "dataset").manifest().token_type, TokenType::kUInt32);
  EXPECT_EQ(refusal("a.bin", llmc_file(narrow, 20240520, 2)),
            "a.bin: expected version 1 of llm.c's token files 20240520, found 2");
  EXPECT_EQ(refusal("a.bin", llmc_file(narrow, 20240520, 1, 5)),
            "a.bin: expected 5 tokens of uint16 (10 bytes), as its header says, found 8 bytes");
  EXPECT_THAT(refusal("a.bin", llmc_file(narrow, 20240520, 1, 3)), HasSubstr("found 8 bytes"));
  EXPECT_THAT(refusal("a.bin", llmc_file(narrow, 20240520, 1, INT32_MAX)), HasSubstr("expected 2147483647 tokens"));
  EXPECT_THAT(refusal("a.bin", llmc_file(narrow, 20240520, 1, int64_t{1} << 31)), HasSubstr("found -2147483648"));
  EXPECT_THAT(refusal("a.bin", llmc_file(narrow, 20240520, 1).substr(0, 1000)), HasSubstr("header of 1024 bytes"));
  EXPECT_EQ(refusal("a.bin", llmc_file<uint16_t>({}, 20240520, 1)), "a.bin: there are no tokens in it");
  EXPECT_THAT(refusal("a.bin", llmc_file(narrow, 20240522, 1)), HasSubstr("llm.c's file for evaluation"));
  EXPECT_EQ(refusal("a.bin", llmc_file(narrow, 20240520, 1), {.vocabulary = 60000}),
            "a.bin: token 3 (byte 1030): expected below the vocabulary size 60000, found 65535");
}

TEST_F(TokenFilesTest, ArraysOfNumPy) {
  const std::vector<int64_t> numbers{3, 1, 40000, 2, 5, 6};
  for (const bool is_wide : {false, true}) {
    const std::string elements =
        is_wide ? bytes_of_numbers(numbers) : bytes_of_numbers(std::vector<uint16_t>(numbers.begin(), numbers.end()));
    EXPECT_THAT(tokens_in("a.npy", npy_file(is_wide ? "<i8" : "<u2", "(6,)", elements)),
                ElementsAre(3, 1, 40000, 2, 5, 6));
  }
  const std::string elements = bytes_of_numbers(numbers);
  EXPECT_THAT(tokens_in("a.npy", npy_file("<i8", "(2, 3)", elements), {.separator = 9}),
              ElementsAre(3, 1, 40000, 9, 2, 5, 6));
  EXPECT_THAT(tokens_in("a.npy", npy_file("<i8", "(1, 6)", elements, "True")), ElementsAre(3, 1, 40000, 2, 5, 6));
  EXPECT_THAT(tokens_in("a.npy", npy_file("|i1", "(3,)", "\1\2\x7f")), ElementsAre(1, 2, 127));
  EXPECT_EQ(refusal("a.npy", npy_file("<i8", "(2, 3)", elements), {.vocabulary = 50}),
            "a.npy: row 0, column 2: expected a token from 0 to 49, found 40000");
  EXPECT_EQ(refusal("a.npy", npy_file("<i8", "(3,)", bytes_of_numbers(std::vector<int64_t>{1, -100, 2}))),
            "a.npy: token 1: expected a token from 0 to 2147483646, found -100: padding or ignored labels? Leave them "
            "out");
  EXPECT_THAT(refusal("a.npy", npy_file("<i2", "(3,)", bytes_of_numbers(std::vector<int16_t>{1, 2, -1}))),
              HasSubstr("token 2: expected a token from 0 to 65535, found -1"));
  EXPECT_THAT(refusal("a.npy", npy_file("<u8", "(2,)", bytes_of_numbers(std::vector<uint64_t>{1, UINT64_MAX}))),
              HasSubstr("found 18446744073709551615"));
  EXPECT_EQ(refusal("a.npy", npy_file("<i8", "(7,)", elements)),
            "a.npy: expected 7 tokens of int64 (56 bytes), as its header says, found 48 bytes");
  EXPECT_EQ(refusal("a.npy", npy_file(">u2", "(6,)", elements)),
            "a.npy: expected little-endian numbers, found >u2: write astype(\"<u2\")");
  EXPECT_EQ(refusal("a.npy", npy_file("<f4", "(6,)", elements)),
            "a.npy: expected whole numbers, found elements of type <f4: write astype(\"uint32\")");
  EXPECT_THAT(refusal("a.npy", npy_file("|O", "(6,)", elements)), HasSubstr("pickled Python objects"));
  EXPECT_THAT(refusal("a.npy", npy_file("<i8", "(2, 3)", elements, "True")), HasSubstr("ascontiguousarray()"));
  EXPECT_THAT(refusal("a.npy", npy_file("<i8", "()", elements)), HasSubstr("found the shape []: write reshape(-1)"));
  EXPECT_THAT(refusal("a.npy", npy_file("<i8", "(1, 2, 3)", elements)), HasSubstr("found the shape [1, 2, 3]"));
  EXPECT_THAT(refusal("a.npy", npy_file("<i8", "(9223372036854775807, 9)", elements)), HasSubstr("overflows"));
  EXPECT_THAT(refusal("a.npy", npy_file("<i8", "(0, 9)", "")), HasSubstr("there are no tokens in it"));
  EXPECT_THAT(refusal("a.npy", npy_file("<i8", "(5, 0)", "")), HasSubstr("there are no tokens in it"));
}

TEST_F(TokenFilesTest, DocumentsOfMegatronLM) {
  const std::vector<uint16_t> tokens{1, 2, 3, 4, 5, 6};
  const std::string content = bytes_of_numbers(tokens);
  write_text(directory_ / "a.idx", IndexFile{.lengths = {2, 1, 0, 3}, .documents = {0, 2, 3, 4}}.bytes());
  EXPECT_THAT(tokens_in("a.bin", content), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(tokens_in("a.bin", content, {.separator = 9}), ElementsAre(1, 2, 3, 9, 4, 5, 6));
  const std::vector<int32_t> wide{70000, 2, 3};
  write_text(directory_ / "b.idx",
             IndexFile{.lengths = {1, 2}, .documents = {0, 1, 1, 2}, .code = 4, .width = 4}.bytes());
  EXPECT_THAT(tokens_in("b.bin", bytes_of_numbers(wide), {.separator = 8}), ElementsAre(70000, 8, 2, 3));
  EXPECT_THAT(refusal_of({.train = {directory_ / "a.idx"}}),
              HasSubstr("found what looks like an index of Megatron-LM"));
  EXPECT_EQ(refusal_of({.train = {directory_ / "a"}}), "a: there is no such file; did you mean a.bin, of Megatron-LM?");
  EXPECT_THAT(tokens_in("a.bin", content, {.format = SourceFormat::kUInt16}), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(TokenFilesTest, IndexesThatDoNotFitAreRefusedByTheirPlace) {
  const auto index = [](std::vector<int32_t> lengths, std::vector<int64_t> documents,
                        std::vector<int64_t> pointers = {}) {
    return IndexFile{.lengths = std::move(lengths), .documents = std::move(documents), .pointers = std::move(pointers)}
        .bytes();
  };
  const std::string sound = index({2, 4}, {0, 1, 2});
  EXPECT_EQ(index_refusal(index({2, 4}, {0, 1, 2}, {0, 6})),
            "a.idx: sequence 1: expected to begin at byte 4, where the one before it ends, found 6");
  EXPECT_THAT(index_refusal(index({2, 4}, {0, 1, 2}, {0, 0})), HasSubstr("sequence 1: expected to begin at byte 4"));
  EXPECT_THAT(index_refusal(index({2, 4}, {0, 1, 2}, {-4, 0})), HasSubstr("sequence 0: expected to begin at byte 0"));
  EXPECT_EQ(index_refusal(index({2, 5}, {0, 1, 2})),
            "a.idx: sequence 1: expected to end within the 12 bytes of tokens, found 5 tokens from byte 4 on");
  EXPECT_THAT(index_refusal(index({2, INT32_MAX}, {0, 1, 2})), HasSubstr("found 2147483647 tokens"));
  EXPECT_EQ(index_refusal(index({2, 3}, {0, 1, 2})),
            "a.idx: expected sequences of all 12 bytes of tokens, found 10 bytes in 2 sequences");
  EXPECT_THAT(index_refusal(index({7, -1}, {0, 2})), HasSubstr("sequence 0"));
  EXPECT_THAT(index_refusal(index({2, -1}, {0, 2})), HasSubstr("sequence 1: expected a length, found -1"));
  EXPECT_EQ(index_refusal(index({2, 4}, {0, 3})),
            "a.idx: document 1: expected to begin with a sequence from 0 to 2, found 3");
  EXPECT_THAT(index_refusal(index({2, 4}, {1, 2})), HasSubstr("document 0"));
  EXPECT_THAT(index_refusal(index({2, 4}, {0, 2, 1})), HasSubstr("document 2"));
  EXPECT_THAT(index_refusal(index({2, 4}, {0, 1})), HasSubstr("expected documents to end with sequence 2"));
  EXPECT_THAT(index_refusal(index({2, 4}, {})), HasSubstr("expected documents to end with sequence 2"));
  EXPECT_THAT(index_refusal(sound.substr(0, sound.size() - 1)), HasSubstr("it is cut off or damaged"));
  EXPECT_THAT(index_refusal(sound.substr(0, 30)), HasSubstr("expected a header of 34 bytes"));
  EXPECT_THAT(index_refusal(sound + std::string(2, '\0')), HasSubstr("multimodal"));
  EXPECT_THAT(index_refusal(index({2, 4}, {}).erase(26, 8)), HasSubstr("found fairseq's"));
  EXPECT_THAT(index_refusal(std::string(sound).replace(18, 8, 8, '\xff')), HasSubstr("18446744073709551615 sequences"));
  EXPECT_THAT(index_refusal(IndexFile{.lengths = {6}, .documents = {0, 1}, .version = 2}.bytes()),
              HasSubstr("found 2"));
  for (const int code : {0, 6, 7, 9, 255})
    EXPECT_THAT(
        index_refusal(IndexFile{.lengths = {6}, .documents = {0, 1}, .code = static_cast<uint8_t>(code)}.bytes()),
        HasSubstr(fmt::format("byte 17: expected a code of whole numbers (1 to 5, or 8), found {}", code)));
  EXPECT_THAT(index_refusal(index(std::vector<int32_t>(2000, 0), {0, 2000}), {1}), HasSubstr("at most 8 sequences"));
}

TEST_F(TokenFilesTest, ListsInLinesOfJson) {
  const std::string lines = "{\"ids\": [1, 2]}\n\n{\"ids\": []}\n{\"ids\": [70000]}\n";
  EXPECT_THAT(tokens_in("a.jsonl", lines, {.field = "ids"}), ElementsAre(1, 2, 70000));
  EXPECT_THAT(tokens_in("a.jsonl", lines, {.field = "ids", .separator = 0}), ElementsAre(1, 2, 0, 70000));
  EXPECT_EQ(refusal("a.jsonl", lines, {.field = "ids", .vocabulary = 60000}),
            "a.jsonl: line 4: ids[0]: expected a token from 0 to 59999, found 70000");
  EXPECT_THAT(refusal("a.jsonl", lines, {.format = SourceFormat::kUInt16, .field = "ids"}), HasSubstr("to 65535"));
  EXPECT_THAT(refusal("a.jsonl", "{\"ids\": [1, -100]}\n", {.field = "ids"}), HasSubstr("ids[1]: expected a token"));
  EXPECT_THAT(refusal("a.jsonl", "{\"ids\": [1, 1.5]}\n", {.field = "ids"}), HasSubstr("found 1.5"));
  EXPECT_THAT(refusal("a.jsonl", "{\"ids\": [[1], [2]]}\n", {.field = "ids"}), HasSubstr("found a list of 1"));
  EXPECT_THAT(refusal("a.jsonl", "{\"ids\": [1]}\n{\"ids\": \"1\"}\n", {.field = "ids"}),
              HasSubstr("line 2: expected a list \"ids\""));
  EXPECT_THAT(refusal("a.jsonl", lines), HasSubstr("JSON lines with the fields \"ids\": --field takes one of them"));
}

TEST_F(TokenFilesTest, OfSeveralTypesTheWidestHoldsAll) {
  const auto narrow = write_text(directory_ / "a.bin", llmc_file(std::vector<uint16_t>{1, 2, 3}, 20240520, 1));
  const auto wide =
      write_text(directory_ / "b.npy", npy_file("<i8", "(4,)", bytes_of_numbers(std::vector<int64_t>{4, 5, 6, 7})));
  PrepareOptions options{.output = directory_ / "dataset", .input = {narrow, wide}, .fractions = {5, 3}};
  options.separator = 9;
  prepare_silently(options);
  EXPECT_THAT(all_tokens(options.output, "train"), ElementsAre(1, 2, 3, 9, 4));
  EXPECT_THAT(all_tokens(options.output, "valid"), ElementsAre(5, 6, 7));
  EXPECT_EQ(Dataset(options.output).manifest().token_type, TokenType::kUInt32);
  options.vocabulary = 10;
  options.force = true;
  prepare_silently(options);
  EXPECT_EQ(Dataset(options.output).manifest().token_type, TokenType::kUInt16);
  EXPECT_THAT(tokens_of({.train = {narrow, narrow}, .separator = 70000}), ElementsAre(1, 2, 3, 70000, 1, 2, 3));
  EXPECT_THAT(refusal_of({.train = {narrow}, .valid = {write_text(directory_ / "c", "some text")}}),
              HasSubstr("c: expected tokens, as in a.bin, found text"));
}

TEST_F(TokenFilesTest, RawTokensAreNamedAndThoseOfNanoGptReadBesideTheirCharacters) {
  const std::vector<uint16_t> tokens{20, 43, 50, 50, 53, 1, 61, 53, 56, 50, 42, 2, 0};
  const std::string content = bytes_of_numbers(tokens);
  EXPECT_THAT(refusal("train.bin", content),
              HasSubstr("raw tokens of uint16, as nanoGPT writes them: give --format uint16"));
  EXPECT_THAT(refusal("train.bin", bytes_of_numbers(std::vector<int32_t>(tokens.begin(), tokens.end()))),
              HasSubstr("raw tokens of uint32: give --format uint32"));
  write_text(directory_ / "meta.pkl", "characters");
  EXPECT_EQ(tokens_in("train.bin", content), std::vector<int32_t>(tokens.begin(), tokens.end()));
  EXPECT_THAT(refusal("train.bin", bytes_of_numbers(std::vector<int32_t>(tokens.begin(), tokens.end()))),
              HasSubstr("raw tokens of uint32: give --format uint32"));
  EXPECT_THAT(refusal("other.txt", content), HasSubstr("raw tokens of uint16"));
}

}  // namespace
}  // namespace segue
