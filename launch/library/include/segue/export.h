// Marks what libsegue.so exports.
#pragma once

#define SEGUE_EXPORT __attribute__((visibility("default")))
