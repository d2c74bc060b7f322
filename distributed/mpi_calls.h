// Helpers for MPI calls: the error of one that failed, and whether one that was started is done.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
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

// The progress of started operations since the last look.
enum class Progress : uint8_t { kNone, kSome, kDone };

inline Progress test(MPI_Request& request, std::string_view what) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
  return done == 0 ? Progress::kNone : Progress::kDone;
}

// Looks again and again until all is done; throws PeerError when nothing comes of `what` for longer than the time-out.
using Wait = std::function<void(const std::function<Progress()>& look, const char* what)>;

}  // namespace segue::mpi
