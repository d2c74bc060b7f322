// Archives as NumPy writes them, and every way in which one is not.
#include "core/convert/npz_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "core/convert/weight_file.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A .npy file of version 1: magic, version, length of the header, the header padded to 64 bytes, elements.
std::string npy(std::string dictionary, const std::string& elements, char version = 1) {
  const size_t length_bytes = version == 1 ? 2 : 4;
  while ((8 + length_bytes + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  const auto length = static_cast<uint32_t>(dictionary.size());
  std::string file = "\x93NUMPY" + std::string(1, version) + std::string(1, '\0');
  file.append(reinterpret_cast<const char*>(&length), length_bytes);
  return file + dictionary + elements;
}

std::string dictionary(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

template <typename T>
std::string elements(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

struct ZipMember {
  std::string name;
  std::string content;
  bool packed = false;
};

class NpzTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::vector<ZipMember>& members) const {
    const std::filesystem::path path = directory_ / "weights.npz";
    std::filesystem::remove(path);
    zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
    for (const ZipMember& member : members) {
      zip_source_t* const source = zip_source_buffer(archive, member.content.data(), member.content.size(), 0);
      const zip_int64_t index = zip_file_add(archive, member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
      zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), member.packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                               0);
    }
    EXPECT_EQ(zip_close(archive), 0);
    return path;
  }

  std::string complaint(const std::vector<ZipMember>& members) const {
    const std::string prefix = directory_.path().string() + "/";
    const std::string message = message_of<CheckpointError>([&] { NpzFile{write(members)}; });
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }

  std::string complaint_of(const std::string& header) const { return complaint({{"a.npy", npy(header, "12345678")}}); }

  const TemporaryDirectory directory_;
};

TEST_F(NpzTest, ArraysByName) {
  const std::vector<float> floats{1, 2, 3, 4, 5, 6};
  const std::vector<double> doubles{0.5};
  const std::vector<uint16_t> halves{0x3c00, 0xc000};
  const std::vector<int64_t> counter{7};
  const auto file =
      open_weight_file(write({{"transformer/a/b.npy", npy(dictionary("'<f4'", "(2, 3)"), elements(floats))},
                              {"packed.npy", npy(dictionary("'<f4'", "(6,)"), elements(floats)), true},
                              {"double.npy", npy(dictionary("'<f8'", "(1, 1)"), elements(doubles), 2)},
                              {"half.npy", npy(dictionary("'<f2'", "(2,)"), elements(halves), 3)},
                              {"step.npy", npy(dictionary("'<i8'", "()"), elements(counter))}}));
  EXPECT_THAT(file->names(), ElementsAre("double", "half", "packed", "step", "transformer/a/b"));
  EXPECT_EQ(file->shape("transformer/a/b"), (Shape{2, 3}));
  for (const char* name : {"transformer/a/b", "packed"}) {
    const HostTensor read = file->read(name);
    const auto* values = read.view().as<float>();
    EXPECT_EQ(std::vector<float>(values, values + 6), floats);
  }
  EXPECT_EQ(file->read("double").view().as<double>()[0], 0.5);
  EXPECT_EQ(file->read("half").view().dtype, DType::kFloat16);
  EXPECT_EQ(file->read("step").view().as<int64_t>()[0], 7);
  EXPECT_EQ(file->shape("step"), Shape{});
  EXPECT_THAT(message_of<CheckpointError>([&] { file->shape("transformer/a/c"); }),
              HasSubstr("weights.npz: expected an array transformer/a/c, found 5 others, the nearest transformer/a/b"));
}

TEST_F(NpzTest, ArraysWithoutElements) {
  const NpzFile file(write({{"a.npy", npy(dictionary("'<f4'", "(0, 3)"), "")}}));
  EXPECT_EQ(file.read("a").view().elements(), 0);
}

TEST_F(NpzTest, OtherElementsAreRefusedByName) {
  EXPECT_EQ(complaint_of(dictionary("'|O'", "(2,)")),
            "weights.npz: array a.npy: holds pickled Python objects (dtype object), which are not read");
  EXPECT_EQ(complaint_of(dictionary("'>f4'", "(2,)")),
            "weights.npz: array a.npy: dtype: expected <f4, <f8, <f2, <i4 or <i8, found >f4");
  EXPECT_THAT(complaint_of(dictionary("'<U5'", "(2,)")), HasSubstr("found <U5"));
  EXPECT_EQ(complaint_of(dictionary("[('x', '<f4')]", "(2,)")),
            "weights.npz: array a.npy: expected elements of one number each, found a structure");
  EXPECT_EQ(complaint_of(dictionary("'<f4'", "(2, 1)", "True")),
            "weights.npz: array a.npy: expected an array in C order, found Fortran order");
}

TEST_F(NpzTest, ShapesThatDoNotFitAreRefused) {
  EXPECT_EQ(complaint_of(dictionary("'<f4'", "(3,)")),
            "weights.npz: array a.npy: shape [3] of float32 needs 12 bytes, found 8");
  EXPECT_EQ(complaint_of(dictionary("'<f4'", "(1,)")),
            "weights.npz: array a.npy: shape [1] of float32 needs 4 bytes, found 8");
  EXPECT_THAT(complaint_of(dictionary("'<f4'", "(9223372036854775807, 2)")), HasSubstr("overflows"));
  EXPECT_THAT(complaint_of(dictionary("'<f4'", "(1, 1, 1, 1, 1, 1, 2)")), HasSubstr("expected at most 6 extents"));
  EXPECT_THAT(complaint_of(dictionary("'<f4'", "(-2,)")), HasSubstr("header: expected an extent of 0 or more"));
}

TEST_F(NpzTest, HeadersThatAreNoneAreRefused) {
  EXPECT_EQ(complaint({{"a.npy", "something"}}),
            "weights.npz: array a.npy: expected an array in NumPy's .npy format, found something else");
  EXPECT_THAT(complaint({{"a.npy", npy(dictionary("'<f4'", "(2,)"), "12345678", 9)}}), HasSubstr("version 1 to 3"));
  EXPECT_THAT(complaint({{"a.npy", npy(dictionary("'<f4'", "(2,)"), "").substr(0, 40)}}),
              HasSubstr("states a header of 118 bytes, expected at most 30"));
  EXPECT_THAT(complaint_of("{'descr': '<f4'}"), HasSubstr("expected the keys 'descr', 'fortran_order' and 'shape'"));
  EXPECT_THAT(complaint_of("{'descr': '<f4', 'descr': '<f4'}"), HasSubstr("each once"));
  EXPECT_THAT(complaint_of(dictionary("'<f4'", "(2,)") + " more"), HasSubstr("nothing after the dictionary"));
  EXPECT_EQ(complaint({{"a.npy", npy(dictionary("'<f4'", "(2,)"), "12345678")}, {"readme.txt", "x"}}),
            "weights.npz: array readme.txt: expected a name that ends in .npy");
}

TEST_F(NpzTest, DamagedArchivesAreRefused) {
  const std::filesystem::path path =
      write({{"a.npy", npy(dictionary("'<f4'", "(2048,)"), std::string(8184, '.') + "12345678")}});
  const std::string whole = read_file(path);
  write_file_atomically(path, whole.substr(0, whole.size() - 30));
  EXPECT_THAT(message_of<CheckpointError>([&] { open_weight_file(path); }),
              HasSubstr("weights.npz: expected an .npz archive: "));
  std::string flipped = whole;
  flipped[flipped.find("12345678")] = 'x';
  write_file_atomically(path, flipped);
  const auto file = open_weight_file(path);
  EXPECT_THAT(message_of<CheckpointError>([&] { file->read("a"); }), HasSubstr("array a.npy: cannot be read: CRC"));
  EXPECT_THAT(message_of<FileError>([&] { NpzFile{directory_ / "none.npz"}; }), HasSubstr("none.npz"));
}

}  // namespace
}  // namespace segue
