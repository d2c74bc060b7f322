// LAMB on the CPU; arguments as checked by kernels/lamb.cc.
#pragma once

#include "kernels/lamb.h"
#include "kernels/lamb_scalars.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void lamb_moments(const Stream& stream, const LambMoments& args, const LambMomentScalars& scalars);
void lamb_norms(const Stream& stream, const LambNorms& args);
void lamb_step(const Stream& stream, const LambStep& args, const LambStepScalars& scalars);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
