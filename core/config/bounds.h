// Bounds that keys of several structs share.
#pragma once

#include <cstdint>

namespace segue {

inline constexpr double kMostStreams = 1 << 15;
inline constexpr double kLongest = 1 << 20;         // segments and memories
inline constexpr double kMostSegments = 32;         // of a step
inline constexpr int64_t kMostStateFeatures = 256;  // of a head: the limit of the kernel that scans states
inline constexpr double kMostSteps = 1e12;
inline constexpr double kWidestVocabulary = 1 << 30;
inline constexpr double kMostThreads = 4096;
inline constexpr double kLargestSeed = 9007199254740991;  // 2^53 - 1: other JSON tools keep such integers exactly

}  // namespace segue
