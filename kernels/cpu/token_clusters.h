// Token clusters on the CPU; arguments as checked by kernels/token_clusters.cc.
#pragma once

#include "kernels/token_clusters.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void token_clusters(const TokenClusters& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
