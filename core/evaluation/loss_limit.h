// The limit above which a loss says that a training has gone wrong, for the log of a run and for its page.
#pragma once

#include <cstdint>

namespace segue {

// Nats per token. Above what it costs to guess all tokens of a vocabulary alike, ln V, with room for a model that has
// just been drawn; and, for a model that had learned something before, above twice what it began with. A vocabulary of
// 0 is not known.
double loss_limit(int64_t vocabulary, double start);

}  // namespace segue
