// Vocabularies are small beside what 32 bits can say: of wide tokens the high parts are 0 or nearly so.
#include "data_pipeline/token_width.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

namespace segue {
namespace {

constexpr size_t kFewestTokens = 32;
constexpr size_t kFewestLikely = 8;                        // whose high parts are 0 or 1
constexpr size_t kFewestCertain = 3;                       // whose high parts are 0
constexpr uint32_t kLikelyVocabulary = uint32_t{1} << 20;  // above the largest that are used

std::vector<uint32_t> numbers_of(std::string_view bytes, size_t width) {
  std::vector<uint32_t> numbers(bytes.size() / width);
  for (size_t i = 0; i < numbers.size(); ++i) std::memcpy(&numbers[i], bytes.data() + i * width, width);
  return numbers;
}

// What stands at one place of every group of `stride` numbers.
struct Column {
  uint32_t largest = 0;
  size_t zeros = 0;
  std::set<uint32_t> values;
};
Column column_of(const std::vector<uint32_t>& numbers, size_t stride, size_t place) {
  Column column;
  for (size_t i = place; i + stride - place <= numbers.size(); i += stride) {
    column.values.insert(numbers[i]);
    column.zeros += numbers[i] == 0 ? 1 : 0;
  }
  if (!column.values.empty()) column.largest = *column.values.rbegin();
  return column;
}

// Whether each group of `stride` numbers is one token: its first number varies, its second says at most what is left of
// a large vocabulary, of numbers of 16 bits, and the others are 0.
bool are_groups(const std::vector<uint32_t>& numbers, size_t stride, size_t width) {
  if (numbers.size() < kFewestCertain * stride) return false;
  const Column low = column_of(numbers, stride, 0);
  const Column high = column_of(numbers, stride, 1);
  for (size_t place = 2; place < stride; ++place)
    if (column_of(numbers, stride, place).largest > 0) return false;
  if (low.values.size() < 2) return false;
  // Of a few tokens of a small vocabulary every second one may be 0 by chance, but then others are, too.
  const size_t groups = numbers.size() / stride;
  const bool are_few = groups < kFewestTokens;
  if (high.largest == 0) return !are_few || (low.values.size() > 2 && 4 * low.zeros <= groups);
  const size_t fewest = high.largest == 1 ? kFewestLikely : kFewestTokens;
  return numbers.size() >= fewest * stride && width == 2 && high.largest < kLikelyVocabulary >> 16 &&
         low.largest >= 256 && low.values.size() >= 4 * high.values.size();
}

bool is_print(char byte) { return (byte >= ' ' && byte <= '~') || byte == '\n' || byte == '\r' || byte == '\t'; }

// Text in any encoding that is more than ASCII has no control characters, of which tokens have many among a few
// hundred.
bool is_text(std::string_view beginning) {
  constexpr size_t kFewestBytes = 256;
  const auto is_of_text = [](char byte) { return is_print(byte) || byte == '\f' || (byte & 0x80) != 0; };
  return beginning.size() >= kFewestTokens &&
         std::ranges::all_of(beginning, beginning.size() < kFewestBytes ? is_print : +is_of_text);
}

}  // namespace

std::string other_tokens_than(TokenType type, std::string_view beginning) {
  const auto width = static_cast<size_t>(bytes_of(type));
  const std::vector<uint32_t> numbers = numbers_of(beginning, width);
  if (numbers.size() < kFewestCertain) return {};
  if (is_text(beginning)) return "text: leave out --format";
  if (are_groups(numbers, 8 / width, width))
    return "tokens of int64: write them with save() of NumPy, or as uint32 with astype(\"uint32\")";
  if (width == 2 && are_groups(numbers, 2, width)) return "tokens of uint32: give --format uint32";
  const auto beyond = std::ranges::count_if(numbers, [](uint32_t number) { return number >= kLikelyVocabulary; });
  const std::set<uint32_t> values(numbers.begin(), numbers.end());
  const bool is_swapped =
      values.size() > 2 && std::ranges::all_of(values, [](uint32_t number) { return number % 256 == 0; });
  if (width == 2 && is_swapped) return "tokens of the other byte order: swap their bytes with dd conv=swab";
  if (width == 4 && 2 * beyond > std::ssize(numbers)) {
    if (is_swapped) return "tokens of the other byte order: swap their bytes with byteswap() of NumPy";
    return "tokens of uint16: give --format uint16";
  }
  return {};
}

std::string raw_tokens_of(std::string_view beginning) {
  const std::string other = other_tokens_than(TokenType::kUInt16, beginning);
  if (other.starts_with("tokens")) return "raw " + other;
  // Frequent tokens have small numbers.
  constexpr uint32_t kFrequent = 8192;
  const std::vector<uint32_t> numbers = numbers_of(beginning, 2);
  const auto frequent = std::ranges::count_if(numbers, [](uint32_t number) { return number < kFrequent; });
  if (beginning.size() % 2 != 0 || numbers.size() < kFewestCertain || 10 * frequent < 4 * std::ssize(numbers))
    return {};
  return "raw tokens of uint16, as nanoGPT writes them: give --format uint16";
}

}  // namespace segue
