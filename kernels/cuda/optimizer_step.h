// Steps of optimizers on a GPU; arguments as checked by kernels/optimizer_step.cc.
#pragma once

#include "kernels/update_rules.h"

namespace segue::kernels::cuda {

void update(Stream& stream, const UpdatedBlock& block, const AdamRule& rule);
void update(Stream& stream, const UpdatedBlock& block, const AdagradRule& rule);
void update(Stream& stream, const UpdatedBlock& block, const SgdRule& rule);
void update(Stream& stream, const UpdatedBlock& block, const MomentumRule& rule);

}  // namespace segue::kernels::cuda
