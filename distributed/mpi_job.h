// Ranks that MPI has launched. Two files define these functions and a build compiles one of them: mpi_job.cc, or
// no_mpi.cc where there is no MPI.
#pragma once

#include <memory>
#include <string>

#include "distributed/job.h"

namespace segue {

// Whether this process is one of those that mpirun or srun has started.
bool launched_by_mpi();

// "Open MPI v4.1.4"; empty in a build without MPI.
std::string mpi_library();

// Throws PeerError when MPI cannot be initialised, and ends the process when that takes longer than the time-out. One
// at a time, and one in the life of a process.
std::unique_ptr<Job> open_mpi_job(const JobOptions& options);

}  // namespace segue
