// The results of an evaluation job as documents.
//
//   evaluation.json    everything: {"format": "segue-evaluation", "version": 1, "checkpoint", "step", "data", "split",
//                      "dataset": checksum, "text": null or where it stands in its sources (SourcePlace), "tokenizer",
//                      "unit", "trained": lengths, "batch_size", "warm_up": tokens, "auto" or null,
//                      "document_boundary": text or null, "set": overrides, "baseline", "command": that makes it again,
//                      "results": [...], "sample"}
//     a result         mode "memory" or "recompute", its lengths, "context": most tokens a query attends to, "warm_up":
//                      tokens or null, "unknown_tokens" of the scored ones and "unknown_share", where there is an
//                      unknown token, "accuracy" of a masked model, the losses of base units (loss_units.h),
//                      "confidence95": half width in nats, "above_baseline": {"loss", "confidence95"} of the
//                      differences at the same tokens to the result number "baseline" (that of training, or else the
//                      first), "by_position", "by_context", and "per_token", the name of the file of losses, if there
//                      is one; of marked data "answers"
//     answers          "answers": how many, "accuracy": the share of them that was right, "confidence95": half width;
//                      the same in "by_examples" for every run of examples, with their "tokens" and "traits", and in
//                      "by_distance" for those whose deciding token stands "from" to "to" tokens back; "hardest": of
//                      those with the fewest right answers the "example", its "begin", "answers", how many "right",
//                      "first_wrong": {"offset", "distance"}, and the "tokens" up to it, as "texts" too where they can
//                      be decoded; "longest_trained": tokens of the longest example of split train, or null;
//                      "above_baseline": {"accuracy", "confidence95"}, or null
//     the sample       "offset" in the split, and "tokens": their "text" and "nll" of every result
//   evaluation.csv     a line for every result
//   by_position.csv    a line for every result and position in the segment, from 0
//   by_context.csv     a line for every result and number of tokens that could be attended to
#pragma once

#include <filesystem>
#include <vector>

#include "core/evaluation/evaluation_job.h"
#include "core/evaluation/loss_units.h"

namespace segue {

OrderedJson evaluation_json(const EvaluationSettings& settings, const EvaluationJob& job,
                            const std::vector<PassResult>& results, const Checkpoint& checkpoint,
                            const Dataset& dataset);

// Writes the four documents into a directory.
void write_evaluation(const std::filesystem::path& directory, const OrderedJson& evaluation);

// For people: the result, or a line for each, those with the lengths of training marked.
std::string describe_evaluation(const OrderedJson& evaluation, const LossUnits& units);

}  // namespace segue
