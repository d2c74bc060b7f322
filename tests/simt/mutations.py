"""What mutation_check.py breaks: at least two places of every family of kernels."""

from attention_mutations import ATTENTION_MUTATIONS
from host_mutations import HOST_MUTATIONS
from mutation import KERNELS, Mutation, header, kernel


def listed(meaning: str, text: str, replacement: str, header: bool = False) -> Mutation:
    unit = f"{KERNELS}linear_cross_entropy_listed.cu"
    return Mutation(unit + "h" if header else unit, meaning, text, replacement, LINEAR_CROSS_ENTROPY, unit)


BUCKET_BIAS = "*BucketBiasTest.*"
COPY_BLOCK = "*CopyBlockTest.*"
CROSS_ENTROPY = "*/CrossEntropyTest.EqualsTheOracle*:BFloat16.CrossEntropy"
DISTANCE_CURVE = "*DistanceCurve*"
DROPOUT = "*DropoutTest.*:Dropout.*"
EMBEDDING = "*EmbeddingTest.*"
FEED_FORWARD = "*FeedForwardTest.*EqualsTheOracle*"
GRADIENT_CLIP = "GradientClip.*"
LAMB = "Lamb.*"
LAYER_NORM = "*LayerNormTest.*EqualsTheOracle*"
LINEAR_CROSS_ENTROPY = "*LinearCrossEntropyTest.EqualsTheOracle*:LinearCrossEntropy.RowsInChunks"
OPTIMIZER_STEP = "*OptimizerStep.*"
ROTARY = "*RotaryTest.*:Rotary.*"
SEGMENT_MEMORY = "*SegmentMemoryTest.*"
TOKEN_CLUSTERS = "*TokenClustersTest.*"

MUTATIONS = [
    *ATTENTION_MUTATIONS,
    *HOST_MUTATIONS,
    kernel(
        "bucket_bias",
        "the table read by its columns",
        "args.heads + n];",
        "args.heads + 0 * n];",
        BUCKET_BIAS,
    ),
    kernel("bucket_bias", "the first lane's distances alone", "simt::reduce_warp(sum, simt::Sum())", "sum", BUCKET_BIAS),
    kernel("bucket_bias", "overwriting for adding", "args.dtable[element] += sum", "args.dtable[element] = sum", BUCKET_BIAS),
    kernel(
        "copy_block",
        "rows as far apart as they are wide",
        ".from_row = from[2]",
        ".from_row = args.columns",
        COPY_BLOCK,
    ),
    kernel("copy_block", "adding forgets what was there", "values[i] += before[i]", "values[i] += values[i]", COPY_BLOCK),
    kernel(
        "distance_curve",
        "beyond what floats hold",
        "exp(at_most(kLargest, softplus(beta_) - softplus(exponent(distance))))",
        "exp(softplus(beta_) - softplus(exponent(distance)))",
        DISTANCE_CURVE,
    ),
    kernel(
        "distance_curve",
        "one less in the logarithm",
        "log1p(r2_ * distance)",
        "log(r2_ * distance)",
        DISTANCE_CURVE,
    ),
    kernel(
        "distance_curve",
        "a slope that does not level off",
        "-r1_ * (product / (1.0 + product))",
        "-r1_ * product",
        DISTANCE_CURVE,
    ),
    kernel(
        "distance_curve",
        "factors beyond what floats hold",
        "exp(at_most(kLargest, exponent))",
        "exp(exponent)",
        DISTANCE_CURVE,
    ),
    kernel("distance_curve", "NaN becomes a number", "x > limit ? limit : x", "fmin(limit, x)", DISTANCE_CURVE),
    kernel(
        "distance_curve",
        "distances counted from one",
        "element % args.distances))",
        "element % args.distances + 1))",
        DISTANCE_CURVE,
    ),
    kernel(
        "distance_curve",
        "the first lane's distances alone",
        "simt::reduce_warp(by_beta, simt::Sum())",
        "by_beta",
        DISTANCE_CURVE,
    ),
    kernel(
        "distance_curve",
        "overwriting for adding",
        "args.dalpha[n] += by_alpha",
        "args.dalpha[n] = by_alpha",
        DISTANCE_CURVE,
    ),
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
        "  sync_block();  // threads may still read the reduction before\n",
        "",
        LAYER_NORM,
        "layer_norm",
    ),
    header(
        "reduce",
        "lanes that shuffle from two places",
        "value = combine(value, shuffle_xor(value, mask));",
        "value = combine(value, lane() < mask ? shuffle_xor(value, mask) : shuffle_xor(value, mask));",
        LAYER_NORM,
        "layer_norm",
    ),
    header(
        "reduce",
        "a shuffle that leaves out the last lanes",
        "mask > 0; mask /= 2",
        "mask > 1; mask /= 2",
        GRADIENT_CLIP,
        "gradient_clip",
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
        "*/CrossEntropyTest.EqualsTheOracle*",
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
    header("dropout_mask", "the step of a replay ignored", "sequence.step += *step;", "", DROPOUT, "dropout"),
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
    header(
        "softmax_sum",
        "a sum that does not fade",
        "b.sum * expf(b.largest - largest)",
        "b.sum",
        CROSS_ENTROPY,
        "cross_entropy",
    ),
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
    kernel("embedding", "a row for tokens that the table lacks", "if (held) {", "if (true) {", EMBEDDING),
    kernel(
        "embedding",
        "gradients one row off",
        "{args.first_token, args.dtable.shape[0]}",
        "{args.first_token + 1, args.dtable.shape[0]}",
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
        "value[k] > 0.0F ? mask.scale : 0.0F",
        "value[k] > 0.0F ? 1.0F : 0.0F",
        FEED_FORWARD,
    ),
    kernel(
        "gradient_clip",
        "every part of the norm in the first place",
        "args.parts[simt::block()] =",
        "args.parts[0] =",
        GRADIENT_CLIP,
    ),
    kernel(
        "gradient_clip",
        "elements left out of the norm",
        "i += int64_t{kPartThreads} * kWidth",
        "i += kPartThreads * 5",
        GRADIENT_CLIP,
    ),
    kernel(
        "lamb",
        "a chunk's place among the parameters for its own",
        "args.gradients + chunk.own",
        "args.gradients + chunk.first",
        LAMB,
    ),
    kernel(
        "lamb",
        "whole vectors in a chunk that has none",
        "(chunk.first | chunk.own | chunk.count)",
        "(chunk.first | chunk.own)",
        LAMB,
    ),
    kernel(
        "lamb",
        "whole vectors of parameters that begin anywhere",
        "(chunk.first | chunk.own | chunk.count)",
        "(chunk.own | chunk.count)",
        LAMB,
    ),
    kernel(
        "lamb",
        "chunks of a tensor left out of its norm",
        "c < args.starts[tensor + 1]",
        "c + 1 < args.starts[tensor + 1]",
        LAMB,
    ),
    kernel("lamb", "one ratio for all tensors", "args.squares + 2 * chunk.tensor", "args.squares", LAMB),
    kernel(
        "lamb", "a ratio that is not clamped", "fmin(sqrt(squares[0]), kLargestTrustedNorm)", "sqrt(squares[0])", LAMB
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
    header(
        "clipped_scale",
        "an update by a norm that is not finite",
        "!std::isfinite(clipped[0])",
        "false",
        OPTIMIZER_STEP,
        "optimizer_step",
    ),
    kernel(
        "optimizer_step",
        "a moment that is not kept",
        "m < Formula::kMoments; ++m) simt::store",
        "m < Formula::kMoments - 1; ++m) simt::store",
        OPTIMIZER_STEP,
    ),
    kernel("optimizer_step", "a velocity that does not fade", "fmaf(k.momentum, b, g)", "b + g", OPTIMIZER_STEP),
    kernel(
        "linear_cross_entropy",
        "classes that only fill up a row weigh",
        "args.joined[c] = -INFINITY;",
        "args.joined[c] = 0.0F;",
        LINEAR_CROSS_ENTROPY,
    ),
    kernel(
        "linear_cross_entropy",
        "nothing where no product writes",
        "args.logits[row * args.padded + c] = static_cast<Element>(0.0F);",
        ";",
        LINEAR_CROSS_ENTROPY,
    ),
    kernel(
        "linear_cross_entropy",
        "overwriting for adding",
        "(args.accumulate ? args.to[e] : 0.0F)",
        "0.0F",
        LINEAR_CROSS_ENTROPY,
    ),
    kernel(
        "linear_cross_entropy",
        "the loss of every chunk in the first one's place",
        ".to = args.nll.as<float>() + first,",
        ".to = args.nll.as<float>(),",
        LINEAR_CROSS_ENTROPY,
    ),
    listed("the target's column beside", "== rows.column[row]) args", "== rows.column[row] + 1) args"),
    listed(
        "no barrier before the classes of a sum are replaced",
        "sums[row] = joined(sums[row], piece);\n    }\n    simt::sync_block();",
        "sums[row] = joined(sums[row], piece);\n    }\n",
    ),
    listed("sums of some lanes left out", "mask < 4; mask *= 2", "mask < 2; mask *= 2"),
    listed(
        "a split left out of the loss",
        "for (int split = 0; split < splits; ++split) {",
        "for (int split = 1; split < splits; ++split) {",
    ),
    listed(
        "no barrier before the classes of dx are replaced",
        "multiply_rows(dx, tiles.dz, warp_row, tiles.w);\n    simt::sync_block();",
        "multiply_rows(dx, tiles.dz, warp_row, tiles.w);",
    ),
    kernel(
        "linear_cross_entropy_listed",
        "no barrier of the warp before the gradients of its logits are read by ldmatrix",
        "store_tile(tiles.dz, warp_row, z);\n    simt::sync_warp();",
        "store_tile(tiles.dz, warp_row, z);",
        "*BFloat16LinearCrossEntropy.*",
    ),
    listed("overwriting dx for adding to it", "args.accumulate_dx ? simt::as_float(dx[e]) : 0.0F", "0.0F"),
    listed(
        "no barrier before the gradients of logits are read",
        "store_tile(tiles.dz, warp_row, z);\n    simt::sync_block();",
        "store_tile(tiles.dz, warp_row, z);",
    ),
    listed(
        "no barrier before the rows are replaced",
        "    simt::sync_block();  // all threads are done with these rows\n",
        "",
    ),
    listed("db added by every slice", "if (slice > 0 || lane", "if (lane"),
    listed(
        "no barrier between slices",
        "    if (step > 1) simt::sync_block();  // all threads are done with the slice before\n",
        "",
        header=True,
    ),
    listed("another slice than a block's own at the end", "(own + step) % slices", "step % slices", header=True),
    listed("classes that are not there weigh", "return -INFINITY;", "return 0.0F;", header=True),
    listed("rows that are not listed have gradients", "target < 0 ? 0.0F : scale", "false ? 0.0F : scale", header=True),
    listed(
        "the gradient's target beside",
        "lane.column(block, i) == target",
        "lane.column(block, i) + 1 == target",
        header=True,
    ),
    listed(
        "the gates' weights for the table's",
        "c < table_classes ? table + ",
        "c < table_classes + 1 ? table + ",
        header=True,
    ),
    kernel("rotary", "no barrier before the angles of others are read", "  simt::sync_block();\n", "", ROTARY),
    kernel("rotary", "the next pair's sine", "angles.sine[(column + k)", "angles.sine[(column + k + 2)", ROTARY),
    kernel("rotary", "a pair beyond the share turned", "column + k >= args.width", "column + k > args.width", ROTARY),
    kernel("rotary", "positions counted in float32", "static_cast<double>(args", "static_cast<float>(args", ROTARY),
    kernel("rotary", "every stream at the first one's place", "simt::block_y() * args.rows", "0 * args.rows", ROTARY),
    kernel("rotary", "gradients turned forward", "args.direction * ", "", ROTARY),
    kernel(
        "segment_memory",
        "a chain torn into single moves",
        "std::min(std::abs(shift), kept_count)",
        "kept_count",
        SEGMENT_MEMORY,
    ),
    kernel("segment_memory", "every chain upwards", ".ascending = shift > 0", ".ascending = true", SEGMENT_MEMORY),
    kernel(
        "token_clusters",
        "no barrier before the counts of warps are read",
        "__builtin_popcount(members);\n  simt::sync_block();",
        "__builtin_popcount(members);",
        TOKEN_CLUSTERS,
    ),
    kernel(
        "token_clusters",
        "no barrier between the counts of some targets and of the next",
        "  simt::sync_block();  // threads may still read the targets before\n",
        "",
        TOKEN_CLUSTERS,
    ),
    kernel("token_clusters", "the order of gates ignored", "reversed ? tails - tail", "false ? 0", TOKEN_CLUSTERS),
    kernel(
        "token_clusters",
        "targets counted anew for each part",
        "rows[counted + rank.before]",
        "rows[rank.before]",
        TOKEN_CLUSTERS,
    ),
]
