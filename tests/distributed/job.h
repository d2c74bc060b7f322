// The job that a test program is a rank of.
#pragma once

#include "base/device.h"
#include "distributed/communicator.h"

namespace segue {

Communicator& job();
Communicator& host_job();  // what it stands on: MPI, or one rank alone

// Where the tensors of job() lie. Programs are linked with one of two answers: on_cpu.cc, on_gpu.cc.
// Throws DeviceError when there is no GPU.
Device job_device();

}  // namespace segue
