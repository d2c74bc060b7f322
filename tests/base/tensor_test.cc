// Shapes and views refuse what would read outside them; buffers own what they say.
#include "base/tensor.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/buffer.h"
#include "tests/message_of.h"

namespace segue {

namespace {

TEST(Shape, CountsAndPrints) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ((Shape{2, 3, 5}).elements(), 30);
  EXPECT_EQ((Shape{2, 0, 5}).elements(), 0);
  EXPECT_EQ((Shape{2, 3}).text(), "[2, 3]");
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
}

TEST(Shape, RefusesNegativeTooManyAndTooLarge) {
  EXPECT_EQ(message_of<ContractError>([] { Shape{2, -1}; }), "negative extent -1");
  EXPECT_EQ(message_of<ContractError>([] { Shape{1, 1, 1, 1, 1, 1, 1}; }), "more than 6 extents");
  const int64_t large = int64_t{1} << 40;
  EXPECT_THROW((Shape{large, large}).elements(), ContractError);
}

TEST(DType, EverySizeHasAName) {
  EXPECT_EQ(bytes_of(DType::kBFloat16), 2);
  EXPECT_EQ(bytes_of(DType::kInt64), 8);
  EXPECT_EQ(name_of(DType::kUInt16), "uint16");
}

TEST(TensorView, ReadsOnlyAsItsOwnType) {
  OwnedTensor tensor(DType::kFloat32, {2, 3});
  EXPECT_EQ(message_of<ContractError>([&] { tensor.as<int32_t>(); }), "tensor read as int32, is float32");
  EXPECT_EQ(tensor.view().bytes(), 24);
  EXPECT_TRUE(TensorView{}.empty());
}

TEST(TensorView, CutsRowsAndReshapes) {
  OwnedTensor tensor(DType::kFloat32, {4, 3});
  for (int i = 0; i < 12; ++i) tensor.as<float>()[i] = static_cast<float>(i);
  const TensorView rows = tensor.view().rows(1, 2);
  EXPECT_EQ(rows.shape, (Shape{2, 3}));
  EXPECT_EQ(rows.as<float>()[0], 3.0F);
  EXPECT_EQ(tensor.view().rows(4, 0).elements(), 0);
  EXPECT_EQ(rows.reshaped({6}).as<float>()[5], 8.0F);
  EXPECT_THROW(tensor.view().rows(3, 2), ContractError);
  EXPECT_THROW(tensor.view().rows(-1, 2), ContractError);
  EXPECT_THROW(rows.reshaped({5}), ContractError);
}

TEST(Buffer, IsZeroAlignedAndOwned) {
  Buffer buffer(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0U);
  for (int64_t i = 0; i < buffer.bytes(); ++i) ASSERT_EQ(buffer.data()[i], std::byte{0});
  const std::byte* const address = buffer.data();
  Buffer other(std::move(buffer));
  EXPECT_EQ(other.data(), address);
  Buffer third;
  third = std::move(other);
  EXPECT_EQ(third.data(), address);
  EXPECT_EQ(third.bytes(), 1000);
  EXPECT_EQ(Buffer(0).data(), nullptr);
}

TEST(Buffer, NamesTheSizeItCannotHave) {
  EXPECT_THROW(Buffer(-1), ContractError);
  const std::string message = message_of<DeviceError>([] { Buffer(int64_t{1} << 60); });
  EXPECT_NE(message.find("1152921504606846976"), std::string::npos) << message;
}

}  // namespace

}  // namespace segue
