// One block of random words for a token: whether it is chosen, what becomes of it, and which token it reads as.
#include "data_pipeline/masked_tokens.h"

#include <array>

#include "data_pipeline/token_mark.h"

namespace segue {

namespace {

constexpr uint16_t kMaskSite = 0xFFFF;  // that no dropout has
constexpr double kWords = 4294967296.0;

}  // namespace

MaskedToken masked(const Masking& masking, int64_t epoch, int64_t offset, int32_t token) {
  const std::array<uint32_t, 4> words = random_block(
      {.seed = masking.seed, .step = static_cast<uint64_t>(epoch), .site = kMaskSite}, static_cast<uint64_t>(offset));
  if (static_cast<double>(words[0]) >= masking.rate * kWords) return {.token = token, .target = kUnscoredTarget};
  const double lot = static_cast<double>(words[1]) / kWords;
  const double masked_or_random = masking.mask_token_share + masking.random_token_share;
  const uint64_t drawn = words[2] * static_cast<uint64_t>(masking.vocabulary) >> 32;
  const int64_t read = lot < masking.mask_token_share ? masking.vocabulary
                       : lot < masked_or_random       ? static_cast<int64_t>(drawn)
                                                      : token;
  return {.token = static_cast<int32_t>(read), .target = token};
}

}  // namespace segue
