// The job that a test program is a rank of, and its collectives.
#pragma once

#include "base/device.h"
#include "distributed/collectives.h"
#include "distributed/job.h"

namespace segue {

Job& job();
Collectives& collectives();

// Where their tensors lie. Programs are linked with one of two answers: on_cpu.cc, on_gpu.cc.
// Throws DeviceError when there is no GPU.
Device job_device();

}  // namespace segue
