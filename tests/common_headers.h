// What most tests include, compiled once for all of them (segue_test in cmake/options.cmake) in two thirds of the time.
// Headers of others alone: where only a comment of one of ours changes, ccache serves the header compiled before, and
// `#pragma once` does not know the new one again (GCC 12 with ccache 4.7).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>
