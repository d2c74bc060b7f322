// Which tokens a masked language model predicts, and what it reads in their place (Devlin et al. 2019, section 3.1).
//
// Every token is chosen with a probability. Of those chosen most read as the mask token, some as a token drawn from the
// vocabulary, and the others as what they are, so that what is read says nothing of what is asked. A token's lot
// depends on the seed, the epoch and where in the split it stands, and on nothing else: not on ranks, segments or
// resumption.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace segue {

// By default as published.
struct Masking {
  double rate = 0.15;  // that a token is chosen
  double mask_token_share = 0.8;
  double random_token_share = 0.1;
  int64_t vocabulary = 1;  // of the dataset; the mask token comes after it
  uint64_t seed = 0;
};

// A token as it is read, and as a target: -1 (kUnscoredTarget) unless it is chosen.
struct MaskedToken {
  int32_t token = 0;
  int32_t target = 0;
};

// The lot of the token at `offset` of a split in an epoch; those of training are counted from 1, evaluations have 0.
MaskedToken masked(const Masking& masking, int64_t epoch, int64_t offset, int32_t token);

}  // namespace segue
