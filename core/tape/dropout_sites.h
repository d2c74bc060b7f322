// The numbers of the sites where a Transformer-XL applies dropout. They enter the random numbers of every mask, so they
// never change: a resumed run draws the masks of the run before.
#pragma once

#include <cstdint>

namespace segue {

inline constexpr uint16_t kEmbeddingDropoutSite = 0;
inline constexpr uint16_t kPositionDropoutSite = 1;
inline constexpr uint16_t kOutputDropoutSite = 2;
inline constexpr uint16_t kEncoderDropoutSite = 3;  // of its embedding

enum class LayerDropout : uint16_t { kAttentionScores = 0, kAttentionOutput = 1, kHidden = 2, kFeedForwardOutput = 3 };

// Layers of an encoder are numbered after the model's.
inline uint16_t layer_dropout_site(int64_t layer, LayerDropout place) {
  return static_cast<uint16_t>(16 + 8 * layer + static_cast<int64_t>(place));
}

// The number of the first random element of a site in the n-th segment of a step: no segment has as many elements.
inline int64_t first_dropout_element(int64_t segment) { return segment << 44; }

}  // namespace segue
