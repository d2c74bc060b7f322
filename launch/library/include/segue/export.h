// What of the library can be seen from outside.
#pragma once

#define SEGUE_EXPORT __attribute__((visibility("default")))
