// What MPI says of a call that failed.
#pragma once

#include <mpi.h>

#include <string_view>

#include "base/error.h"

namespace segue::mpi {

// Throws PeerError, unless the call succeeded.
inline void check(int status, std::string_view what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw PeerError("{}: {}", what, std::string_view(text, static_cast<size_t>(length)));
}

}  // namespace segue::mpi
