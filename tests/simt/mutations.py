"""What mutation_check.py breaks: at least two places of every family of kernels."""

from attention_mutations import ATTENTION_MUTATIONS
from attention_score_mutations import ATTENTION_SCORE_MUTATIONS
from attention_sight_mutations import ATTENTION_SIGHT_MUTATIONS
from host_mutations import HOST_MUTATIONS
from loss_mutations import LOSS_MUTATIONS
from mutation import header, kernel, shared
from state_mutations import STATE_MUTATIONS

BUCKET_BIAS = "*BucketBiasTest.*"
CLAMP = "Clamp.*"
COPY_BLOCK = "*CopyBlockTest.*"
DISTANCE_CURVE = "*DistanceCurve*"
DROPOUT = "*DropoutTest.*:Dropout.*"
EMBEDDING = "*EmbeddingTest.*"
FEED_FORWARD = "*FeedForwardTest.*EqualsTheOracle*"
GRADIENT_CLIP = "GradientClip.*"
LAMB = "Lamb.*"
LAYER_NORM = "*LayerNormTest.*EqualsTheOracle*"
MOST_USED_ROWS = "MostUsedRows.*"
OPTIMIZER_STEP = "*OptimizerStep.*"
POOL_ROWS = "*PoolRows*"
RECTIFIER = "RectifierTest.*"
ROTARY = "*RotaryTest.*:Rotary.*"
SEGMENT_MEMORY = "*SegmentMemoryTest.*"
SPAN_CURVE = "*SpanCurve*"
SQUARED_DIFFERENCE = "SquaredDifferenceTest.*"

MUTATIONS = [
    *ATTENTION_MUTATIONS,
    *ATTENTION_SCORE_MUTATIONS,
    *ATTENTION_SIGHT_MUTATIONS,
    *HOST_MUTATIONS,
    *LOSS_MUTATIONS,
    *STATE_MUTATIONS,
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
    shared(
        "curve_formulas",
        "beyond what floats hold",
        "exp(Math::at_most(kLargest, Math::softplus(beta_) - Math::softplus(exponent(distance))))",
        "exp(Math::softplus(beta_) - Math::softplus(exponent(distance)))",
        DISTANCE_CURVE,
        "distance_curve",
    ),
    shared(
        "curve_formulas",
        "one less in the logarithm",
        "log1p(r2_ * distance)",
        "log(r2_ * distance)",
        DISTANCE_CURVE,
        "distance_curve",
    ),
    shared(
        "curve_formulas",
        "a slope that does not level off",
        "-r1_ * (product / (1.0 + product))",
        "-r1_ * product",
        DISTANCE_CURVE,
        "distance_curve",
    ),
    shared(
        "curve_formulas",
        "factors beyond what floats hold",
        "exp(CurveMath<Source>::at_most(kLargest, exponent))",
        "exp(exponent)",
        DISTANCE_CURVE,
        "distance_curve",
    ),
    shared(
        "curve_formulas",
        "a span whose ramp begins a token early",
        "share >= 1.0) return 0.0;",
        "share > 1.0 - 1.0 / ramp_) return 0.0;",
        SPAN_CURVE,
        "distance_curve",
    ),
    shared(
        "curve_formulas",
        "the mask's slope for that of its logarithm",
        "0.0 : longest_ / left",
        "0.0 : longest_ / ramp_",
        SPAN_CURVE,
        "distance_curve",
    ),
    shared(
        "curve_formulas",
        "a slope where nothing is left",
        "left >= ramp_ || left <= 0.0",
        "left >= ramp_",
        SPAN_CURVE,
        "distance_curve",
    ),
    kernel("clamp", "no lower end", "x[k] = args.lowest", "x[k] = x[k]", CLAMP),
    kernel("clamp", "NaN becomes a number", "if (x[k] < args.lowest)", "if (!(x[k] >= args.lowest))", CLAMP),
    shared(
        "curve_formulas",
        "NaN becomes a number",
        "x > limit ? limit : x",
        "fmin(limit, x)",
        DISTANCE_CURVE,
        "distance_curve",
    ),
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
        "most_used_rows",
        "every stream used as the first",
        "args.received + int64_t{simt::block_y()} * args.heads * args.rows + row",
        "args.received + row",
        MOST_USED_ROWS,
    ),
    kernel("most_used_rows", "one head's use alone", "received[int64_t{n} * args.rows]", "received[0 * n]", MOST_USED_ROWS),
    kernel("most_used_rows", "of equals the last", "other, own, row) ?", "row, own, other) ?", MOST_USED_ROWS),
    kernel("most_used_rows", "by use and not in their order", "ranked[rank] < row ? 1 : 0", "rank < simt::block() ? 1 : 0", MOST_USED_ROWS),
    kernel("most_used_rows", "half of a row", "piece < pieces;", "piece < pieces / 2;", MOST_USED_ROWS),
    kernel("pool_rows", "the first row twice", "simt::load(x + i * args.columns, row)", "simt::load(x, row)", POOL_ROWS),
    kernel("pool_rows", "groups as long as one row", "group * args.size * args.columns", "group * args.columns", POOL_ROWS),
    kernel("pool_rows", "NaN is passed over", " || row[k] != row[k]", "", POOL_ROWS),
    kernel("rectifier", "NaN becomes nothing", "if (x[k] <= 0.0F) x[k] = 0.0F;", "if (!(x[k] > 0.0F)) x[k] = 0.0F;", RECTIFIER),
    kernel("rectifier", "a gradient through everything", "y[k] > 0.0F ? dy[k] : 0.0F", "dy[k]", RECTIFIER),
    kernel(
        "rectifier",
        "adding forgets what was there",
        "if (args.accumulate) simt::load(args.dx + element, dx);",
        "",
        RECTIFIER,
    ),
    kernel("squared_difference", "every stream is the first", "simt::block() * args.count", "0 * args.count", SQUARED_DIFFERENCE),
    kernel("squared_difference", "half a gradient", "2.0F * args.scale", "args.scale", SQUARED_DIFFERENCE),
    kernel(
        "squared_difference",
        "one warp's sums alone",
        "simt::reduce_block(sum, 0.0F, simt::Sum())",
        "simt::reduce_warp(sum, simt::Sum())",
        SQUARED_DIFFERENCE,
    ),
]
