// What an extension was built for, as text in a section of its file. The program reads it there before it loads
// anything, and refuses a file whose text is not its own: code that was built upon other headers would meet objects of
// other shapes.
//
//   "segue extension NAME\nsegue 0.2.0, headers 0123456789abcdef, compiler 12.2.0, ...\n"
#pragma once

#include <fmt/core.h>

#include <nlohmann/json_fwd.hpp>

#include "core/extension/headers.h"  // made by the build: SEGUE_HEADERS, the version and a digest of all that is included

#define SEGUE_STAMP_SECTION ".segue_extension"
#define SEGUE_STAMP_BEGIN "segue extension "

#define SEGUE_TEXT_OF(value) #value
#define SEGUE_TEXT(macro) SEGUE_TEXT_OF(macro)

#if defined(_GLIBCXX_DEBUG) || defined(_LIBCPP_VERSION)
#define SEGUE_STANDARD_LIBRARY "of another layout"
#else
#define SEGUE_STANDARD_LIBRARY "libstdc++ " SEGUE_TEXT(_GLIBCXX_RELEASE) " ABI " SEGUE_TEXT(_GLIBCXX_USE_CXX11_ABI)
#endif

// The compiler counts, since inline functions of both sides stand for one another.
#define SEGUE_BUILD                                                                                           \
  SEGUE_HEADERS                                                                                               \
  ", compiler " __VERSION__ ", " SEGUE_STANDARD_LIBRARY                                                       \
  ", fmt " SEGUE_TEXT(FMT_VERSION) ", nlohmann_json " SEGUE_TEXT(NLOHMANN_JSON_VERSION_MAJOR) "." SEGUE_TEXT( \
      NLOHMANN_JSON_VERSION_MINOR) "." SEGUE_TEXT(NLOHMANN_JSON_VERSION_PATCH)

#define SEGUE_STAMP(name) SEGUE_STAMP_BEGIN name "\n" SEGUE_BUILD "\n"
