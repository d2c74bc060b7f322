// Safetensors files: round trips, and every lie a header can tell.
#include "core/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <sstream>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The bytes of a file with this header, stated truthfully, and `data_bytes` zero bytes of data.
std::string file_with(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + std::string(data_bytes, '\0');
}

std::string complaint_about(const std::string& file) {
  return message_of<CheckpointError>([&] { SafetensorsFile("f", std::as_bytes(std::span(file))); });
}

std::string complaint_about(const std::string& header, size_t data_bytes) {
  return complaint_about(file_with(header, data_bytes));
}

TEST(Safetensors, ReadsBackEveryElementTypeBitwise) {
  const TemporaryDirectory directory;
  const std::vector<double> doubles{1.5, -0.0, 1e300};
  const std::vector<float> floats{1.0F, 2.5F, -3.0F, 4.0F, 5.0F, 6.0F};
  const std::vector<uint8_t> bytes{1, 2, 255};
  const std::vector<int64_t> integers{-7};
  const std::vector<uint16_t> halves{0x3f80, 0x1234};
  const ConstTensorView bfloats{reinterpret_cast<const std::byte*>(halves.data()), DType::kBFloat16, {2}};
  const std::vector<NamedTensor> tensors{
      {"bytes", view_of(bytes.data(), {3})},    {"floats", view_of(floats.data(), {2, 3})},
      {"scalar", view_of(integers.data(), {})}, {"bfloats", bfloats},
      {"none", view_of(floats.data(), {0, 3})}, {"doubles", view_of(doubles.data(), {3, 1})}};
  const auto path = directory / "all.safetensors";
  write_safetensors(path, tensors, {{"step", "7"}, {"by", "a test"}});

  const SafetensorsFile file(path);
  EXPECT_THAT(file.names(), ElementsAre("bfloats", "bytes", "doubles", "floats", "none", "scalar"));
  EXPECT_EQ(file.metadata(), (Metadata{{"step", "7"}, {"by", "a test"}}));
  for (const auto& [name, expected] : tensors) {
    const ConstTensorView found = file.tensor(name, expected.dtype, expected.shape);
    EXPECT_EQ(std::memcmp(found.data, expected.data, static_cast<size_t>(expected.bytes())), 0) << name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(found.data) % static_cast<uintptr_t>(bytes_of(found.dtype)), 0U) << name;
  }
}

TEST(Safetensors, HeaderIsPaddedSoThatDataAreAligned) {
  const TemporaryDirectory directory;
  const float one = 1.0F;
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"}) {
    const std::vector<NamedTensor> tensors{{name, view_of(&one, {1})}};
    write_safetensors(directory / name, tensors, {});
    EXPECT_EQ((read_file(directory / name).size() - sizeof one) % 8, 0U) << name;
  }
}

TEST(Safetensors, WriterReturnsSizeAndChecksumOfTheFileAndLeavesNothingBeside) {
  const TemporaryDirectory directory;
  const std::vector<float> floats(1000, 0.25F);
  const std::vector<NamedTensor> tensors{{"w", view_of(floats.data(), {10, 100})}};
  const WrittenFile written = write_safetensors(directory / "w", tensors, {});
  const MappedFile file(directory / "w");
  EXPECT_EQ(written.bytes, static_cast<int64_t>(file.bytes().size()));
  EXPECT_EQ(written.checksum, checksum_of(file.bytes()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(Safetensors, WriterRefusesTwoTensorsOfOneName) {
  const TemporaryDirectory directory;
  const float one = 1.0F;
  const std::vector<NamedTensor> tensors{{"w", view_of(&one, {1})}, {"w", view_of(&one, {1})}};
  EXPECT_EQ(message_of<ContractError>([&] { write_safetensors(directory / "w", tensors, {}); }),
            "two tensors named w in one file");
}

TEST(Safetensors, EmptyFileOfNoTensors) {
  const std::string bytes = file_with("{}", 0);
  EXPECT_TRUE(SafetensorsFile("f", std::as_bytes(std::span(bytes))).names().empty());
}

TEST(Safetensors, UnalignedDataAreCopied) {
  std::string bytes = file_with(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                R"("b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
                                9);
  const std::array<float, 2> values{1.5F, -2.5F};
  std::memcpy(bytes.data() + bytes.size() - sizeof values, values.data(), sizeof values);
  const SafetensorsFile file("f", std::as_bytes(std::span(bytes)));
  const float* found = file.tensor("b").as<float>();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(found) % alignof(float), 0U);
  EXPECT_EQ(found[0], 1.5F);
  EXPECT_EQ(found[1], -2.5F);
}

TEST(Safetensors, AsksForWhatIsExpected) {
  const std::string bytes = file_with(R"({"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  const SafetensorsFile file("f", std::as_bytes(std::span(bytes)));
  EXPECT_EQ(message_of<CheckpointError>([&] { file.tensor("weigth"); }),
            "f: expected a tensor weigth, found 1 other, the nearest weight");
  EXPECT_EQ(message_of<CheckpointError>([&] { file.tensor("weight", DType::kFloat32, {3}); }),
            "f: tensor weight: expected float32 [3], found float32 [2]");
  EXPECT_EQ(message_of<CheckpointError>([&] { file.tensor("weight", DType::kFloat64, {2}); }),
            "f: tensor weight: expected float64 [2], found float32 [2]");
}

TEST(SafetensorsHostile, LengthOfTheHeader) {
  EXPECT_EQ(complaint_about(std::string()), "f: 0 bytes, expected a safetensors file of at least 8");
  EXPECT_EQ(complaint_about(std::string(7, '\0')), "f: 7 bytes, expected a safetensors file of at least 8");
  EXPECT_THAT(complaint_about(std::string(8, '\xff')), HasSubstr("states a header of 18446744073709551615 bytes"));
  EXPECT_EQ(complaint_about(file_with("{}", 0).substr(0, 9)),
            "f: states a header of 2 bytes, found 1 after the length: it is cut off");
  EXPECT_THAT(complaint_about(std::string("\0\0\0\2\0\0\0\0", 8)), HasSubstr("expected at most 16777216"));
}

TEST(SafetensorsHostile, HeaderThatIsNoHeader) {
  EXPECT_THAT(complaint_about("", 0), HasSubstr("f: line 1"));
  EXPECT_THAT(complaint_about("{", 0), HasSubstr("f: line 1"));
  EXPECT_EQ(complaint_about("[]", 0), "f: header: expected an object, found a list of 0");
  EXPECT_THAT(complaint_about(R"({} x)", 0), HasSubstr("f: line 1"));
  EXPECT_THAT(complaint_about("{\"\xff\":1}", 0), HasSubstr("f: line 1"));
  EXPECT_THAT(complaint_about(std::string(100000, '['), 0), HasSubstr("nested more than"));
  EXPECT_EQ(complaint_about(R"({"__metadata__":1})", 0), "f: __metadata__: expected an object, found 1");
  EXPECT_EQ(complaint_about(R"({"__metadata__":{"a":1}})", 0), "f: __metadata__.a: expected a string, found 1");
}

TEST(SafetensorsHostile, DuplicateNames) {
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                            R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                            1),
            "f: a: duplicate key");
}

TEST(SafetensorsHostile, StatementOfATensor) {
  EXPECT_EQ(complaint_about(R"({"a":1})", 0), "f: tensor \"a\": the document: expected an object, found 1");
  EXPECT_THAT(complaint_about(R"({"a":{"dtype":"U8","shape":[0]}})", 0),
              HasSubstr("f: tensor \"a\": data_offsets: required key is missing"));
  EXPECT_THAT(complaint_about(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}})", 0),
              HasSubstr("f: tensor \"a\": x: unknown key"));
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"C64","shape":[0],"data_offsets":[0,0]}})", 0),
            "f: tensor \"a\": dtype: expected F64, F32, F16, BF16, I64, I32, U32, U16 or U8, found \"C64\"");
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})", 0),
            "f: tensor \"a\": shape[0]: expected an integer >= 0, found -1");
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1),
            "f: tensor \"a\": shape[0]: expected an integer >= 0, found 1.0; write 1");
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1),
            "f: tensor \"a\": shape: expected at most 6 extents, found 7");
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1),
            "f: tensor \"a\": data_offsets: expected [begin, end], found 3 numbers");
}

TEST(SafetensorsHostile, ShapesThatOverflow) {
  for (const std::string shape : {"[4294967296,4294967296]", "[9223372036854775807]", "[4611686018427387904,4,0]"}) {
    EXPECT_THAT(complaint_about(R"({"a":{"dtype":"F64","shape":)" + shape + R"(,"data_offsets":[0,0]}})", 0),
                HasSubstr("overflows"));
  }
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"F64","shape":[18446744073709551615],"data_offsets":[0,0]}})", 0),
            "f: tensor \"a\": shape[0]: expected an integer >= 0, found 18446744073709551615");
}

TEST(SafetensorsHostile, DataThatAreNotThere) {
  const std::string header = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  EXPECT_EQ(complaint_about(header, 1),
            fmt::format("f: is cut off: {} bytes of {}", 8 + header.size() + 1, 8 + header.size() + 2));
  EXPECT_THAT(complaint_about(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[1,0]}})", 1),
              HasSubstr("data_offsets [1, 0], expected increasing"));
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
            "f: tensor \"a\": shape [2] of float32 needs 8 bytes, found 4");
}

TEST(SafetensorsHostile, DataThatOverlapOrLeaveHoles) {
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                            R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                            3),
            "f: tensor \"b\": data_offsets begin at 1, expected 2: it overlaps another tensor");
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                            R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                            3),
            "f: tensor \"b\": data_offsets begin at 2, expected 1: bytes before it belong to none");
  EXPECT_EQ(complaint_about(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 3),
            "f: 3 bytes of data, its tensors end at 1");
}

TEST(SafetensorsHostile, MessagesStayOneShortLine) {
  const std::string name = R"(\n\u001b[31m)" + std::string(100000, 'x');
  const std::string complaint = complaint_about("{\"" + name + "\":1}", 0);
  EXPECT_LT(complaint.size(), 300U);
  EXPECT_EQ(complaint.find_first_of("\n\x1b"), std::string::npos);
}

TEST(Safetensors, ShortenedAnywhereItIsRefused) {
  const TemporaryDirectory directory;
  const std::vector<float> floats(6, 1.0F);
  const std::vector<NamedTensor> tensors{{"w", view_of(floats.data(), {2, 3})}};
  write_safetensors(directory / "w", tensors, {});
  const std::string whole = read_file(directory / "w");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(complaint_about(whole.substr(0, size)), "no error") << size;
  }
}

}  // namespace
}  // namespace segue
