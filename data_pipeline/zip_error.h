// The error messages of libzip.
#pragma once

#include <zip.h>

#include <string>

namespace segue {

// Ends the error.
inline std::string message_of(zip_error_t& error) {
  std::string message = zip_error_strerror(&error);
  zip_error_fini(&error);
  return message;
}

}  // namespace segue
