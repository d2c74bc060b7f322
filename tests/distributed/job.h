// The job that a test program is a rank of.
#pragma once

#include "distributed/communicator.h"

namespace segue {

Communicator& job();

}  // namespace segue
