// Bounds and roles that keys of several structs share.
#pragma once

#include <cstdint>
#include <string_view>

namespace segue {

inline constexpr double kMostStreams = 1 << 15;
inline constexpr double kLongest = 1 << 20;         // segments and memories
inline constexpr double kMostSegments = 32;         // of a step
inline constexpr int64_t kMostStateFeatures = 256;  // of a head: the limit of the kernel that scans states
inline constexpr double kMostLayers = 512;
inline constexpr double kMostCompressed = 1024;
inline constexpr double kMostSteps = 1e12;
inline constexpr double kWidestVocabulary = 1 << 30;
inline constexpr double kMostThreads = 4096;
inline constexpr double kLargestSeed = 9007199254740991;  // 2^53 - 1: other JSON tools keep such integers exactly

// Roles of keys; the others say what the model is, which is not to be changed once it has weights.
inline constexpr std::string_view kUse = "use";            // see ModelUse
inline constexpr std::string_view kTraining = "training";  // read by training alone

}  // namespace segue
