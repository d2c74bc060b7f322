// Token clusters on a GPU; arguments as checked by kernels/token_clusters.cc.
#pragma once

#include "kernels/token_clusters.h"

namespace segue::kernels::cuda {

void token_clusters(Stream& stream, const TokenClusters& args);

}  // namespace segue::kernels::cuda
