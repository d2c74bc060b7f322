"""How the kernels of losses could be wrong: softmax over all classes, over clusters, and who belongs to which."""

from mutation import KERNELS, Mutation, header, kernel


def listed(meaning: str, text: str, replacement: str, header: bool = False) -> Mutation:
    unit = f"{KERNELS}linear_cross_entropy_listed.cu"
    return Mutation(unit + "h" if header else unit, meaning, text, replacement, LINEAR_CROSS_ENTROPY, unit)


CROSS_ENTROPY = "*/CrossEntropyTest.EqualsTheOracle*:BFloat16.CrossEntropy"
LINEAR_CROSS_ENTROPY = "*LinearCrossEntropyTest.EqualsTheOracle*:LinearCrossEntropy.RowsInChunks"
TOKEN_CLUSTERS = "*TokenClustersTest.*"

LOSS_MUTATIONS = [
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
        "float hit = column + k == target",
        "float hit = column + k + 1 == target",
        CROSS_ENTROPY,
    ),
    kernel(
        "cross_entropy",
        "a gradient of rows that are not scored",
        "target < 0 ? 0.0F : scale",
        "scale",
        CROSS_ENTROPY,
    ),
    kernel(
        "cross_entropy",
        "the target among the others of its margin",
        "column + k == target ? others : fmaxf(others, z[k])",
        "fmaxf(others, z[k])",
        CROSS_ENTROPY,
    ),
    kernel(
        "cross_entropy",
        "a margin to the others of one thread",
        "simt::reduce_warp(others, Larger())",
        "others",
        CROSS_ENTROPY,
    ),
    kernel(
        "cross_entropy",
        "no margin where a row is not scored",
        "if (has_margin) args.margin[row]",
        "if (has_margin && target >= 0) args.margin[row]",
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
    kernel(
        "token_clusters",
        "targets that are not scored among the first cluster's",
        "if (tail == 0) return target;",
        "if (tail == 0) return target < 0 ? 0 : target;",
        TOKEN_CLUSTERS,
    ),
    kernel(
        "token_clusters",
        "a place in the list for targets that are not scored",
        "rank_of(column >= 0)",
        "rank_of(column >= 0 || (cluster == 0 && row < args.count))",
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
