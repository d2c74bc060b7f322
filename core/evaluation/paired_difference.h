// How far evaluations of the same tokens lie apart, whatever models and lengths they are of.
//
// The paired difference of evaluations a and b is the mean over the scored tokens of nll_a(t) - nll_b(t). Both met the
// same text, so what makes a text hard or easy falls out of it, and its confidence (LossMean, loss_statistics.h, over
// regions of the scored tokens) is far narrower than that of either mean. That confidence is of the text: how sure the
// difference between these two sets of weights is on text of this kind. It knows nothing of how other weights, trained
// the same way from another seed, would differ. With many pairs, one of twenty intervals misses by chance.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json_text.h"

namespace segue {

// Compares per-token files (per_token_file.h), in the order given, named "a", "b", ...:
// {"format": "segue-paired-difference", "version": 1, "split": "" where no file says it, "unit",
//  "tokens_per_byte": of the scored tokens, null where no file says, "tokens": that every file scores, of these where a
//  file says which token is the unknown one "unknown_tokens" and "unknown_share",
//  "evaluations": [{"name", "file", "checkpoint", "mem_len", "tgt_len": null where the file does not say, the losses of
//    base units (loss_units.h), "confidence95", "bits_per_byte_confidence95", "answers": of marked data {"answers": how
//    many, "accuracy", "confidence95"}}],
//  "differences": of every pair [{"first", "second": names, "loss", "bits_per_token", "bits_per_byte", "confidence95",
//    "bits_per_byte_confidence95",
//    "lower": name of the one whose loss is lower, null where the interval (per byte, where bytes are known) holds
//    0, "answers": where both tell right
//    ones {"accuracy", "confidence95", "higher": likewise}}]}
// "confidence95" is half the width of the interval, in nats per token, the other in bits per byte; null where the
// tokens are too few for one. Throws UsageError unless there are 2 to 26 files, each once, and DataError naming two
// files and how they differ when they are not about the same tokens, do not score the same ones, or have other answers.
OrderedJson paired_differences(const std::vector<std::filesystem::path>& files);

// A line for every evaluation, without "second", and one for every pair, with the difference as its loss.
std::string paired_differences_csv(const OrderedJson& comparison);

// For people, in bits.
std::string describe_paired_differences(const OrderedJson& comparison);

}  // namespace segue
