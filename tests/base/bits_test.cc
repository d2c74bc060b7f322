// Runs of bits across words.
#include "base/bits.h"

#include <gtest/gtest.h>

#include <array>

namespace segue {
namespace {

TEST(Bits, AreSetFromFirstToLast) {
  constexpr int64_t kBits = 192;
  for (const int64_t first : {0, 1, 62, 63, 64, 65, 127, 128}) {
    for (const int64_t last : {0, 1, 63, 64, 126, 127, 128, 190, 191}) {
      std::array<uint64_t, 3> words{};
      if (last < first) continue;
      set_bits(words, first, last);
      for (int64_t bit = 0; bit < kBits; ++bit)
        ASSERT_EQ(bits_from(words, bit) & 1, bit >= first && bit <= last ? 1U : 0U)
            << bit << ' ' << first << ' ' << last;
    }
  }
}

TEST(Bits, AreTakenFromAnywhere) {
  const std::array<uint64_t, 2> words{0x8000000000000001U, 0x3U};
  EXPECT_EQ(bits_from(words, 0), words[0]);
  EXPECT_EQ(bits_from(words, 63), 0x7U);
  EXPECT_EQ(bits_from(words, -63), 0x8000000000000000U);
  EXPECT_EQ(bits_from(words, 128), 0U);
}

TEST(Bits, MakeRoomForSetOnes) {
  const std::array<uint64_t, 2> words{0xF0F0F0F012345679U, 0x8000000000000003U};
  for (const int64_t first : {0, 1, 5, 63, 64, 65, 100, 128}) {
    for (const int64_t count : {0, 1, 2, 63, 64, 65}) {
      std::array<uint64_t, 4> found{};
      insert_set_bits(words, first, count, found);
      for (int64_t bit = 0; bit < 128 + count; ++bit) {
        const bool is_old = bit < first || bit >= first + count;
        const uint64_t old = bits_from(words, bit < first ? bit : bit - count) & 1;
        ASSERT_EQ(bits_from(found, bit) & 1, is_old ? old : 1U) << bit << ' ' << first << ' ' << count;
      }
    }
  }
}

}  // namespace
}  // namespace segue
