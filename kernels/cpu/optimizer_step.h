// Steps of optimizers on the CPU; arguments as checked by kernels/optimizer_step.cc.
#pragma once

#include "kernels/update_rules.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void update(const Stream& stream, const UpdatedBlock& block, const AdamRule& rule);
void update(const Stream& stream, const UpdatedBlock& block, const AdagradRule& rule);
void update(const Stream& stream, const UpdatedBlock& block, const SgdRule& rule);
void update(const Stream& stream, const UpdatedBlock& block, const MomentumRule& rule);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
