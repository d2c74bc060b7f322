// A build without MPI: every process is alone.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "distributed/mpi_job.h"

namespace segue {

bool launched_by_mpi() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

std::string mpi_library() { return {}; }

std::unique_ptr<Job> open_mpi_job(const JobOptions&) {
  throw PeerError("launched by mpirun, but this program was built without MPI; install libopenmpi-dev and build again");
}

}  // namespace segue
