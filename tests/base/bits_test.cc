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

}  // namespace
}  // namespace segue
