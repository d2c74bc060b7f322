// LAMB on a GPU; arguments as checked by kernels/lamb.cc.
#pragma once

#include "kernels/lamb.h"
#include "kernels/lamb_scalars.h"

namespace segue::kernels::cuda {

void lamb_moments(Stream& stream, const LambMoments& args, const LambMomentScalars& scalars);
void lamb_norms(Stream& stream, const LambNorms& args);
void lamb_step(Stream& stream, const LambStep& args, const LambStepScalars& scalars);

}  // namespace segue::kernels::cuda
