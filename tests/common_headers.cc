// Carries the precompiled header.
#include "tests/common_headers.h"
