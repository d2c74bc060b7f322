"""What mutation_check.py breaks: at least two places of every family of kernels."""

from typing import NamedTuple

KERNELS = "kernels/cuda/"


class Mutation(NamedTuple):
    file: str
    meaning: str
    text: str  # in the file exactly once
    replacement: str
    filter: str  # of GoogleTest: who should notice
    unit: str  # the source to compile: the file itself, or one that includes it
    test: str = "kernels_simt_test"


def kernel(family: str, meaning: str, text: str, replacement: str, tests: str) -> Mutation:
    unit = f"{KERNELS}{family}.cu"
    return Mutation(unit, meaning, text, replacement, tests, unit)


def header(name: str, meaning: str, text: str, replacement: str, tests: str, family: str) -> Mutation:
    return Mutation(f"{KERNELS}{name}.cuh", meaning, text, replacement, tests, f"{KERNELS}{family}.cu")


ADAM = "Adam.*:GradientClip.*"
CROSS_ENTROPY = "*CrossEntropyTest.EqualsTheOracle*:BFloat16.CrossEntropy"
DROPOUT = "*DropoutTest.*:Dropout.*"
EMBEDDING = "*EmbeddingTest.*"
FEED_FORWARD = "*FeedForwardTest.*EqualsTheOracle*"
LAYER_NORM = "*LayerNormTest.*EqualsTheOracle*"
SEGMENT_MEMORY = "*SegmentMemoryTest.*"

MUTATIONS = [
    header(
        "reduce",
        "no barrier before the sums of warps are read",
        "of_warps[warp()] = value;\n  sync_block();",
        "of_warps[warp()] = value;",
        LAYER_NORM,
        "layer_norm",
    ),
    header(
        "reduce",
        "no barrier between one sum and the next",
        "  sync_block();  // of the reduction before, somebody may still read\n",
        "",
        LAYER_NORM,
        "layer_norm",
    ),
    header(
        "reduce", "a shuffle that leaves out the last lanes", "mask > 0; mask /= 2", "mask > 1; mask /= 2", ADAM, "adam"
    ),
    header(
        "column_sums",
        "no barrier between the sums of warps and their total",
        "  sync_block();\n",
        "",
        LAYER_NORM,
        "layer_norm",
    ),
    header(
        "column_sums",
        "parts that overlap by a row",
        "begin + args.part_rows < args.rows ? begin + args.part_rows",
        "begin + args.part_rows < args.rows ? begin + args.part_rows + 1",
        "*CrossEntropyTest.EqualsTheOracle*",
        "cross_entropy",
    ),
    header(
        "dropout_mask",
        "the words of a block shifted by one",
        "static_cast<int>(at % 4)",
        "static_cast<int>((at + 1) % 4)",
        DROPOUT,
        "dropout",
    ),
    header("dropout_mask", "the step of a replay ignored", "stream.step += *step;", "", DROPOUT, "dropout"),
    kernel("adam", "every part of the norm in the first place", "args.parts[simt::block()] =", "args.parts[0] =", ADAM),
    kernel("adam", "an update by a norm that is not finite", "!std::isfinite(args.clipped[0])", "false", ADAM),
    kernel(
        "adam", "elements left out of the norm", "i += int64_t{kNormThreads} * kWidth", "i += kNormThreads * 5", ADAM
    ),
    kernel(
        "cross_entropy",
        "no barrier before the sums of warps are joined",
        "  simt::sync_block();\n",
        "",
        CROSS_ENTROPY,
    ),
    kernel(
        "cross_entropy",
        "the target beside",
        "column + k == targets[row]",
        "column + k + 1 == targets[row]",
        CROSS_ENTROPY,
    ),
    kernel("cross_entropy", "a sum that does not fade", "b.sum * expf(b.largest - largest)", "b.sum", CROSS_ENTROPY),
    kernel("dropout", "no mask", "values[k] * mask[k]", "values[k]", DROPOUT),
    kernel("dropout", "overwriting for adding", "if (args.accumulate) ", "if (false) ", DROPOUT),
    kernel(
        "embedding",
        "no mask in the backward",
        "args.scale * mask[k] * gradient[k]",
        "args.scale * gradient[k]",
        EMBEDDING,
    ),
    kernel("embedding", "a row counted before itself", "first + k < row)", "first + k <= row)", EMBEDDING),
    kernel(
        "embedding",
        "no barrier before the tokens of others are read",
        "args.tokens[first + simt::thread()];\n    simt::sync_block();",
        "args.tokens[first + simt::thread()];",
        EMBEDDING,
    ),
    kernel(
        "embedding",
        "a token of many chunks added by each of them",
        "if (args.continues(begin) && args.token(begin) == token) return;",
        "",
        EMBEDDING,
    ),
    kernel(
        "feed_forward",
        "no mask on the hidden units",
        "relu(z[k]) : gelu(z[k])) * mask[k]",
        "relu(z[k]) : gelu(z[k]))",
        FEED_FORWARD,
    ),
    kernel("feed_forward", "no bias", "z[k] += bias[k]", "z[k] += 0.0F * bias[k]", FEED_FORWARD),
    kernel(
        "feed_forward",
        "what dropout kept not scaled",
        "value[k] > 0.0F ? kept : 0.0F",
        "value[k] > 0.0F ? 1.0F : 0.0F",
        FEED_FORWARD,
    ),
    kernel(
        "layer_norm",
        "no mask on the branch",
        "fmaf(branch[k], mask[k], s[k])",
        "fmaf(branch[k], 1.0F, s[k])",
        LAYER_NORM,
    ),
    kernel(
        "layer_norm",
        "columns shifted by one",
        "(int64_t{i} * places + place) * kWidth",
        "(int64_t{i} * places + place + 1) * kWidth",
        LAYER_NORM,
    ),
    kernel("layer_norm", "a gradient without its second mean", " - n[i][k] * gn_mean", "", LAYER_NORM),
    kernel(
        "segment_memory",
        "a chain torn into single moves",
        "std::min(std::abs(shift), kept_count)",
        "kept_count",
        SEGMENT_MEMORY,
    ),
    kernel("segment_memory", "every chain upwards", "kept_count), shift > 0}", "kept_count), true}", SEGMENT_MEMORY),
]
