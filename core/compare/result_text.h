// Writes a comparison's result as JSON, and as tables for a terminal.
#pragma once

#include <string>

#include "base/json_text.h"
#include "core/compare/comparison_result.h"

namespace segue {

// {"format": "segue-comparison", "version": 1, "split", "unit", "tokens_per_byte", "tokens", of these where there is
//  an unknown token "unknown_tokens" and "unknown_share", "answers": of marked data, "seeds", "budget",
//  "runs", "measured_runs", "diverged_runs", "variants": [{"name", "set", "diverged": seeds, "cost": {...},
//    "sweep": null or {"learning_rate", "chosen_by": "loss" or "accuracy", "is_at_end", "flops", "tried":
//    [{"learning_rate", "loss": null if it diverged, "accuracy": of marked data}]}, "losses": of each of the measured
//    lengths, none when all seeds diverged, [{"tgt_len", "mem_len", "memory_bytes_per_stream", the losses of base units
//    (loss_units.h), "per_byte": null where bytes are not known, else "bits" with "confidence95", "seeds" and
//    "difference" as here, all in bits per byte and from the regions' bytes, "confidence95", "seeds": nats per token,
//    null where it diverged, "difference": null of the first variant and without seeds of both, else {"loss", "seeds":
//    how many, "confidence95", "error_of_text", "error_of_seeds", "p", "p_adjusted", "is_significant"}, "accuracy": of
//    marked data}], "as_trained": null, or likewise of the lengths of its training, where they differ between
//    variants}]}
//   accuracy: {"answers": how many, "accuracy": the share of them that was right, "confidence95", "seeds",
//   "difference":
//    likewise, with "accuracy" in place of "loss", "by_examples": of every run of examples [{"tokens", "traits",
//    "answers", "accuracy": the mean over seeds, "seeds"}], "by_distance": likewise of "from" to "to" tokens}
// Losses, their differences and errors are in nats per token but for "per_byte"; what is not known is null.
OrderedJson result_json(const ComparisonResult& result);

// For people: a table for each of the measured lengths, of right answers in per cent and of losses in bits.
std::string describe_result(const ComparisonResult& result);

}  // namespace segue
