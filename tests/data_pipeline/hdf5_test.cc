// Rows of HDF5 files of others: every layout that the library writes, and indices that are not what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/file.h"
#include "data_pipeline/hdf5/btree_v2.h"
#include "data_pipeline/hdf5/heap.h"
#include "data_pipeline/hdf5/row.h"
#include "data_pipeline/hdf5_handle.h"
#include "tests/message_of.h"
#include "tests/source_directory.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::HasSubstr;

std::vector<int32_t> read_all(const std::filesystem::path& path, const std::string& name = "row") {
  const Hdf5Bytes file(path);
  Hdf5Row row(file, open_hdf5_child(open_hdf5_root(file), name));
  EXPECT_EQ(row.type().bytes, sizeof(int32_t));
  std::vector<int32_t> values(row.elements());
  row.read(0, std::as_writable_bytes(std::span(values)));
  if (values.size() > 7) {  // across chunks, and back
    std::vector<int32_t> part(values.size() - 7);
    row.read(5, std::as_writable_bytes(std::span(part)));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + 5));
    row.read(0, std::as_writable_bytes(std::span(part)));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin()));
  }
  return values;
}

std::vector<int32_t> counted(size_t size) {
  std::vector<int32_t> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<int32_t>(i * i + 3 * i);
  return values;
}

struct Layout {
  std::vector<hsize_t> extents;
  std::vector<hsize_t> most;
  std::vector<hsize_t> chunk;
  bool is_filtered = false;
  bool is_newest = true;
  bool is_early = false;  // all chunks are there from the start
};

class Hdf5Test : public testing::Test {
 protected:
  static Hdf5Handle create(const std::filesystem::path& path, bool is_newest) {
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (is_newest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose};
  }

  static void write_row(hid_t file, const char* name, const Layout& layout, const std::vector<int32_t>& values) {
    const auto rank = static_cast<int>(layout.extents.size());
    const Hdf5Handle space(H5Screate_simple(rank, layout.extents.data(), layout.most.data()), H5Sclose);
    const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(properties.get(), rank, layout.chunk.data());
    if (layout.is_early) H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY);
    if (layout.is_filtered) {
      H5Pset_shuffle(properties.get());
      H5Pset_deflate(properties.get(), 6);
      H5Pset_fletcher32(properties.get());
    }
    const Hdf5Handle dataset(
        H5Dcreate2(file, name, H5T_STD_I32LE, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Dclose);
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  }

  void expect_read(const std::string& what, const Layout& layout) const {
    const size_t size = std::accumulate(layout.extents.begin(), layout.extents.end(), size_t{1}, std::multiplies<>());
    const std::filesystem::path path = directory_ / "rows.h5";
    {
      const Hdf5Handle file = create(path, layout.is_newest);
      write_row(file.get(), "row", layout, counted(size));
    }
    EXPECT_EQ(read_all(path), counted(size)) << what;
  }

  const TemporaryDirectory directory_;
};

constexpr hsize_t kNoLimit = H5S_UNLIMITED;

// One dimension, by index: a single chunk, implicit, fixed arrays in a piece and in pages, extensible arrays up to the
// pages of their data blocks, the older tree.
TEST_F(Hdf5Test, RowsUnderEveryIndex) {
  for (const bool is_filtered : {false, true}) {
    const auto expect = [&](const std::string& what, Layout layout) {
      layout.is_filtered = is_filtered;
      expect_read(what + (is_filtered ? ", filtered" : ""), layout);
    };
    expect("single", {{90}, {90}, {90}});
    expect("implicit", {.extents = {95}, .most = {95}, .chunk = {10}, .is_early = true});
    expect("fixed array", {{95}, {95}, {10}});
    expect("fixed array that may grow", {{95}, {4000}, {10}});
    expect("fixed array in pages", {{2500}, {2500}, {1}});
    expect("fixed array in pages of which some are used", {{1030}, {9000}, {1}});
    for (const hsize_t size : {1, 4, 5, 20, 21, 36, 37, 100, 300, 1000})
      expect(fmt::format("extensible array of {}", size), {{size}, {kNoLimit}, {1}});
    expect("extensible array with pages", {{40000}, {kNoLimit}, {1}});
    expect("tree", {.extents = {95}, .most = {kNoLimit}, .chunk = {10}, .is_newest = false});
    expect("deep tree", {.extents = {5000}, .most = {kNoLimit}, .chunk = {1}, .is_newest = false});
  }
}

// Several dimensions, of which all but one have one place.
TEST_F(Hdf5Test, RowsOfDatasetsOfSeveralDimensions) {
  for (const bool is_filtered : {false, true}) {
    const auto expect = [&](const std::string& what, Layout layout) {
      layout.is_filtered = is_filtered;
      expect_read(what + (is_filtered ? ", filtered" : ""), layout);
    };
    expect("second tree", {{90, 1}, {kNoLimit, kNoLimit}, {8, 1}});
    expect("second tree, across", {{1, 90}, {kNoLimit, kNoLimit}, {3, 8}});
    expect("deep second tree", {{1, 6000, 1}, {kNoLimit, kNoLimit, 1}, {1, 1, 1}});
    expect("fixed array", {{1, 90, 1}, {5, 95, 7}, {2, 8, 3}});
    expect("extensible array", {{90, 1}, {kNoLimit, 7}, {8, 3}});
    expect("extensible array, across", {{1, 90}, {7, kNoLimit}, {3, 8}});
    expect("extensible array, beside", {{1, 90}, {kNoLimit, 95}, {3, 8}});
    expect("tree", {.extents = {90, 1}, .most = {kNoLimit, kNoLimit}, .chunk = {8, 3}, .is_newest = false});
    expect("one element", {{1, 1}, {kNoLimit, kNoLimit}, {4, 4}});
  }
  const std::filesystem::path path = directory_ / "table.h5";
  {
    const Hdf5Handle file = create(path, true);
    write_row(file.get(), "row", {{5, 2}, {5, 2}, {5, 2}}, counted(10));
  }
  EXPECT_THAT(message_of<DataError>([&] { read_all(path); }),
              HasSubstr("expected a one-dimensional dataset, found rank 2"));
}

// As h5py writes them with newer libraries than that of this test: hdf5_files/make_files.py.
TEST_F(Hdf5Test, FilesOfNewerLibraries) {
  constexpr size_t kElements = 60;
  for (const char* name : {"hdf5-1.12.2.h5", "hdf5-2.0.0.h5"}) {
    const std::filesystem::path path = source_directory() / "tests" / "data_pipeline" / "hdf5_files" / name;
    for (const std::string row : {"single", "fixed", "bounded", "appended", "column"})
      for (const char* filters : {"", "-gzip", "-all"})
        EXPECT_EQ(read_all(path, row + filters), counted(kElements)) << name << ' ' << row << filters;
    EXPECT_EQ(read_all(path, "plain"), counted(kElements));
    const Hdf5Bytes file(path);
    const Hdf5Object root = open_hdf5_root(file);
    for (const char* attribute : {"number", "float", "half", "one of one", "text", "bytes", "fixed text", "texts"})
      EXPECT_EQ(hdf5_integer_attribute(root, attribute), 512) << name << ' ' << attribute;
    EXPECT_EQ(hdf5_integer_attribute(root, "byte"), 200);
    EXPECT_EQ(hdf5_text_attribute(root, "fixed text"), "512");
    EXPECT_EQ(hdf5_integer_attribute(root, "more 19"), 19);
    EXPECT_THAT(message_of<DataError>([&] { hdf5_integer_attribute(root, "part"); }), HasSubstr("found 0.5"));
  }
}

// More links and attributes than an object's header takes lie in heaps, whose blocks double.
TEST_F(Hdf5Test, ManyLinksAndAttributes) {
  const std::filesystem::path path = directory_ / "many.h5";
  constexpr int kMany = 900;
  {
    const Hdf5Handle file = create(path, true);
    const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    for (int i = 0; i < kMany; ++i) {
      write_row(file.get(), fmt::format("row {}", i).c_str(), {{2}, {2}, {2}}, {i, i + 1});
      const Hdf5Handle attribute(H5Acreate2(file.get(), fmt::format("number {}", i).c_str(), H5T_STD_I16LE, space.get(),
                                            H5P_DEFAULT, H5P_DEFAULT),
                                 H5Aclose);
      H5Awrite(attribute.get(), H5T_NATIVE_INT, &i);
    }
    H5Lcreate_soft("row 3", file.get(), "soft", H5P_DEFAULT, H5P_DEFAULT);
  }
  const Hdf5Bytes file(path);
  const Hdf5Object root = open_hdf5_root(file);
  for (const int i : {0, 1, 37, 512, kMany - 1}) {
    EXPECT_EQ(read_all(path, fmt::format("row {}", i)), (std::vector{i, i + 1}));
    EXPECT_EQ(hdf5_integer_attribute(root, fmt::format("number {}", i)), i);
  }
  EXPECT_EQ(hdf5_integer_attribute(root, "number 900"), std::nullopt);
  EXPECT_THAT(message_of<DataError>([&] { open_hdf5_child(root, "row 900"); }), HasSubstr("expected a dataset"));
  EXPECT_THAT(message_of<DataError>([&] { open_hdf5_child(root, "soft"); }), HasSubstr("found a soft link"));
}

// The extent is made smaller in the file, so that its tree has one chunk more than the row.
TEST_F(Hdf5Test, AChunkTooManyIsRefused) {
  const std::filesystem::path path = directory_ / "rows.h5";
  {
    const Hdf5Handle file = create(path, false);
    write_row(file.get(), "row", {.extents = {37}, .most = {kNoLimit}, .chunk = {19}}, counted(37));
  }
  std::string content = read_file(path);
  const auto word = [](uint64_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const size_t at = content.find(word(37) + word(~uint64_t{0}));
  ASSERT_NE(at, std::string::npos);
  const auto complaint_of = [&](uint64_t elements) {
    write_file_atomically(path, std::string(content).replace(at, 8, word(elements)));
    return message_of<DataError>([&] { read_all(path); });
  };
  EXPECT_EQ(complaint_of(20), "no error");
  EXPECT_THAT(complaint_of(19), HasSubstr("\"row\": expected its 1 chunks in order, found another after 1"));
  EXPECT_EQ(complaint_of(38), "no error");
  EXPECT_THAT(complaint_of(39), HasSubstr("\"row\": chunk 2 is missing"));
}

// Structures by themselves, which are no files: what the library would make of some of these, nobody wants to know.
class Structure {
 public:
  Structure& text(std::string_view text) {
    bytes_.append(text);
    return *this;
  }
  Structure& number(size_t digits, uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), digits);
    return *this;
  }
  std::string sealed() const {
    const uint32_t sum = hdf5_checksum(std::as_bytes(std::span(bytes_)));
    return bytes_ + std::string(reinterpret_cast<const char*>(&sum), sizeof sum);
  }

 private:
  std::string bytes_;
};

struct TreeHead {
  uint64_t node_bytes = 512, record_bytes = 17, depth = 0, root = 38, count = 1, records = 1;
  std::string text() const {
    return Structure()
        .text("BTHD")
        .number(1, 0)
        .number(1, 8)
        .number(4, node_bytes)
        .number(2, record_bytes)
        .number(2, depth)
        .number(2, 0)
        .number(8, root)
        .number(2, count)
        .number(8, records)
        .sealed();
  }
};

struct HeapHead {
  uint64_t root = 146, rows = 0, width = 4, first = 512, most = 65536, offset_bits = 32, filter_bytes = 0;
  std::string text() const {
    Structure head;
    head.text("FRHP").number(1, 0).number(2, 8).number(2, filter_bytes).number(1, 0).number(4, 4096);
    for (int i = 0; i < 12; ++i) head.number(8, 0);
    return head.number(2, width)
        .number(8, first)
        .number(8, most)
        .number(2, offset_bits)
        .number(2, 1)
        .number(8, root)
        .number(2, rows)
        .sealed();
  }
};

std::string complaint_of_tree(const std::string& content) {
  return message_of<DataError>([&] {
    const Hdf5Bytes file("bytes", std::as_bytes(std::span(content)));
    Hdf5BTreeV2(file, 0, 8, "x").visit([](Hdf5Cursor) {});
  });
}

// Of an object of 60 bytes at an offset.
std::string complaint_of_heap(const std::string& content, uint64_t offset) {
  return message_of<DataError>([&] {
    const Hdf5Bytes file("bytes", std::as_bytes(std::span(content)));
    const std::string identifier = Structure().number(1, 0).number(4, offset).number(2, 60).sealed().substr(0, 8);
    Hdf5Heap(file, 0, "x").object(std::as_bytes(std::span(identifier)));
  });
}

TEST(Hdf5StructureTest, TreesThatAreWrong) {
  const std::string leaf = Structure().text("BTLF").number(1, 0).number(1, 8).text(std::string(17, 'r')).sealed();
  EXPECT_EQ(complaint_of_tree(TreeHead{}.text() + leaf), "no error");
  EXPECT_EQ(complaint_of_tree(TreeHead{.root = kHdf5Nowhere, .count = 0, .records = 0}.text()), "no error");
  constexpr uint64_t kMost = 65535;
  for (const TreeHead& head : std::initializer_list<TreeHead>{{.record_bytes = 0},
                                                              {.record_bytes = kMost},
                                                              {.node_bytes = 0},
                                                              {.node_bytes = 26},
                                                              {.depth = kMost},
                                                              {.depth = 17},
                                                              {.root = kHdf5Nowhere},
                                                              {.records = uint64_t{1} << 60},
                                                              {.count = 2},
                                                              {.count = 0},
                                                              {.records = 2},
                                                              {.node_bytes = 36, .depth = 1}})
    EXPECT_EQ(complaint_of_tree(head.text() + leaf), "bytes: x: its tree is damaged")
        << head.record_bytes << ' ' << head.node_bytes << ' ' << head.depth << ' ' << head.count << ' ' << head.records;
  EXPECT_THAT(complaint_of_tree(TreeHead{.root = 39}.text() + leaf + 'x'), HasSubstr("is damaged: wrong checksum"));
  EXPECT_THAT(complaint_of_tree(TreeHead{.root = 60}.text() + leaf), HasSubstr("is said to lie at byte 60"));
  EXPECT_THAT(complaint_of_tree(TreeHead{.depth = 1}.text() + leaf), HasSubstr("bytes: x is"));
  const std::string round = Structure()
                                .text("BTIN")
                                .number(1, 0)
                                .number(1, 8)
                                .text(std::string(17, 'r'))
                                .number(8, 38)
                                .number(1, 1)
                                .number(8, 38)
                                .number(1, 1)
                                .sealed();
  EXPECT_THAT(complaint_of_tree(TreeHead{.depth = 1, .records = 3}.text() + round), HasSubstr("damaged"));
}

TEST(Hdf5StructureTest, HeapsThatAreWrong) {
  const std::string block =
      Structure().text("FHDB").number(1, 0).number(8, 0).number(4, 0).sealed() + std::string(491, 'o');
  EXPECT_EQ(complaint_of_heap(HeapHead{}.text() + block, 17), "no error");
  EXPECT_EQ(complaint_of_heap(HeapHead{}.text() + block, 512 - 60), "no error");
  for (const uint64_t offset : {0, 16, 512 - 59, 512, 1 << 30})
    EXPECT_EQ(complaint_of_heap(HeapHead{}.text() + block, offset), "bytes: x: its heap is damaged") << offset;
  constexpr uint64_t kMost = 65535;
  for (const HeapHead& head : std::initializer_list<HeapHead>{{.root = kHdf5Nowhere},
                                                              {.rows = kMost},
                                                              {.width = 0},
                                                              {.width = 3},
                                                              {.width = 32768},
                                                              {.first = 0},
                                                              {.first = 500},
                                                              {.first = 1 << 17},
                                                              {.most = 0},
                                                              {.most = 1000},
                                                              {.most = uint64_t{1} << 62},
                                                              {.offset_bits = 0},
                                                              {.offset_bits = kMost}})
    EXPECT_EQ(complaint_of_heap(head.text() + block, 17), "bytes: x: its heap is damaged")
        << head.rows << ' ' << head.width << ' ' << head.first << ' ' << head.most << ' ' << head.offset_bits;
  EXPECT_THAT(complaint_of_heap(HeapHead{.filter_bytes = 20}.text() + block, 17), HasSubstr("a heap with filters"));
  EXPECT_THAT(complaint_of_heap(HeapHead{.root = 1 << 20}.text() + block, 17),
              HasSubstr("is said to lie at byte 1048576"));
  Structure table;  // every block of which is the table itself
  table.text("FHIB").number(1, 0).number(8, 0).number(4, 0);
  for (int i = 0; i < 80; ++i) table.number(8, 146);
  for (const uint64_t offset : {17, 2048 + 17, (1 << 20) + 17, (1 << 28) + 17})
    EXPECT_THAT(complaint_of_heap(HeapHead{.rows = 20, .most = 512}.text() + table.sealed(), offset),
                testing::AnyOf(HasSubstr("begin with FHDB"), HasSubstr("its heap is damaged")));
}

class Hdf5AttributeTest : public Hdf5Test {
 protected:
  // What is read of an attribute of this type, extents and value, as a whole number.
  std::optional<int64_t> read(hid_t type, const void* value, const std::vector<hsize_t>& extents = {}) const {
    const std::filesystem::path path = directory_ / "attribute.h5";
    {
      const Hdf5Handle file = create(path, true);
      const Hdf5Handle space(extents.empty()
                                 ? H5Screate(H5S_SCALAR)
                                 : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                             H5Sclose);
      const Hdf5Handle attribute(H5Acreate2(file.get(), "context", type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                                 H5Aclose);
      EXPECT_GE(H5Awrite(attribute.get(), type, value), 0);
    }
    const Hdf5Bytes file(path);
    return hdf5_integer_attribute(open_hdf5_root(file), "context");
  }

  template <typename T>
  std::optional<int64_t> read_number(hid_t type, T value) const {
    return read(type, &value);
  }

  std::string complaint(hid_t type, double value) const {
    return message_of<DataError>([&] { read_number(type, value); });
  }

  std::optional<int64_t> read_text(const std::string& text, size_t bytes, H5T_str_t padding,
                                   H5T_cset_t characters) const {
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), bytes);
    H5Tset_strpad(type.get(), padding);
    H5Tset_cset(type.get(), characters);
    const char* const variable = text.c_str();
    std::string fixed = text;
    fixed.resize(bytes == H5T_VARIABLE ? 0 : bytes, padding == H5T_STR_SPACEPAD ? ' ' : '\0');
    return bytes == H5T_VARIABLE ? read(type.get(), &variable) : read(type.get(), fixed.data());
  }
};

TEST_F(Hdf5AttributeTest, WholeNumbersOfEveryType) {
  EXPECT_EQ(read_number<int64_t>(H5T_STD_I64LE, 512), 512);
  EXPECT_EQ(read_number<uint8_t>(H5T_STD_U8LE, 200), 200);
  EXPECT_EQ(read_number<int8_t>(H5T_STD_I8LE, -2), -2);
  EXPECT_EQ(read_number<double>(H5T_IEEE_F64LE, 512.0), 512);
  EXPECT_EQ(read_number<float>(H5T_IEEE_F32LE, -3.0F), -3);
  EXPECT_EQ(read_number<int64_t>(H5T_STD_I64LE, -1), -1);
  const std::vector<int64_t> one{77};
  EXPECT_EQ(read(H5T_STD_I64LE, one.data(), {1}), 77);
  EXPECT_EQ(read(H5T_STD_I64LE, one.data(), {1, 1}), 77);
  EXPECT_THAT(complaint(H5T_IEEE_F64LE, 0.5),
              HasSubstr(R"(attribute "context": expected one whole number, found 0.5)"));
  EXPECT_THAT(complaint(H5T_IEEE_F64LE, 1e300), HasSubstr("found 1e+300"));
  EXPECT_THAT(complaint(H5T_IEEE_F64LE, std::nan("")), HasSubstr("found nan"));
  const std::vector<int64_t> two{1, 2};
  EXPECT_THAT(message_of<DataError>([&] { read(H5T_STD_I64LE, two.data(), {2}); }), HasSubstr("found something else"));
}

TEST_F(Hdf5AttributeTest, WholeNumbersAsTexts) {
  for (const H5T_cset_t characters : {H5T_CSET_ASCII, H5T_CSET_UTF8}) {
    EXPECT_EQ(read_text("512", H5T_VARIABLE, H5T_STR_NULLTERM, characters), 512);
    EXPECT_EQ(read_text("512", 3, H5T_STR_NULLPAD, characters), 512);
    EXPECT_EQ(read_text("512", 9, H5T_STR_NULLTERM, characters), 512);
    EXPECT_EQ(read_text("512", 9, H5T_STR_SPACEPAD, characters), 512);
  }
  EXPECT_THAT(message_of<DataError>([&] { read_text("many", 4, H5T_STR_NULLPAD, H5T_CSET_ASCII); }),
              HasSubstr(R"(expected one whole number, found the text "many")"));
}

}  // namespace
}  // namespace segue
