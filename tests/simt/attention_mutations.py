"""How the kernels of relative attention could be wrong."""

from mutation import KERNELS, Mutation


def attention(file: str, meaning: str, text: str, replacement: str, tests: str = "", unit: str = "") -> Mutation:
    """In relative_attention<file>; `unit` is the kernel that includes it when it is a header."""
    path = f"{KERNELS}{file}"
    compiled = f"{KERNELS}relative_attention_{unit}.cu" if unit else path
    return Mutation(path, meaning, text, replacement, tests or ATTENTION, compiled, "relative_attention_simt_test")


ATTENTION = "RelativeAttention.EqualsOracleForAllLengths:RelativeAttention.EqualsOracleForAllHeadWidths"
ATTENTION_CLAMPED = "RelativeAttention.EqualsOracleForClampedDistances"
BIASED = "RelativeAttention.EqualsOracleWithBiasesByDistance"
BIASED_CLAMPED = "RelativeAttention.EqualsOracleForFewerAndForMoreBiasesThanDistances"
WITHOUT_DISTANCES = "RelativeAttention.EqualsOracleWithoutDistances"
ATTENTION_WINDOWS = "RelativeAttention.EqualsOracleForWindows"
BFLOAT16 = "RelativeAttentionInBFloat16.IsAsNearAsTheNaivePath"
MEMORY_PITCH = "RelativeAttention.MemoryPitchOnlySpacesTheStreams"

ATTENTION_MUTATIONS = [
    attention(
        "relative_attention_forward.cu",
        "no barrier after keys and positions have landed",
        "    simt::sync_block();\n    Accumulators<kRows> scores;",
        "    Accumulators<kRows> scores;",
    ),
    attention(
        "relative_attention_forward.cu",
        "no barrier before keys and positions are replaced",
        "    simt::sync_block();  // all threads are done with these keys and positions\n",
        "",
    ),
    attention(
        "relative_attention_forward.cu",
        "no barrier before values are replaced",
        "    simt::sync_block();  // and with these values\n",
        "",
    ),
    attention(
        "relative_attention_forward.cu",
        "values used before their copies have landed",
        "    simt::async_wait<1>();\n    simt::sync_block();\n    multiply_rows",
        "    simt::sync_block();\n    multiply_rows",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "ones for a bias that is not there",
        "bias == nullptr ? 0.0F",
        "bias == nullptr ? 1.0F",
        "RelativeAttention.EqualsOracleWithoutBiases",
        "forward",
    ),
    attention(
        "relative_attention_backward.cu",
        "queries rounded with no bias",
        "q + in.bias_at(in.u",
        "q + 0 * in.bias_at(in.u",
        WITHOUT_DISTANCES,
    ),
    attention(
        "relative_attention.cuh",
        "no mask",
        "if (!in.visible(first_query + lane.row(i), j)) scores",
        "if (false && !in.visible(first_query + lane.row(i), j)) scores",
        unit="forward",
    ),
    attention(
        "relative_attention.cuh",
        "a tile taken for visible by its first query alone",
        " && in.visible(first_query + 15, key_of(15))",
        "",
        ATTENTION_WINDOWS,
        "forward",
    ),
    attention(
        "relative_attention_forward.cu",
        "earlier sums not shrunk when a larger score comes",
        "      sum[row] *= shrink;\n",
        "",
    ),
    attention(
        "relative_attention_products.cuh",
        "the band shifted by one",
        "lane.row(i) - lane.column(block, i) + kAtATime - 1;",
        "lane.row(i) - lane.column(block, i) + kAtATime;",
        unit="forward",
    ),
    attention(
        "relative_attention_products.cuh",
        "a band that does not turn",
        "base ^= kTile<Element>;",
        "base ^= 0;",
        unit="forward",
    ),
    attention(
        "relative_attention_products.cuh",
        "no barrier of the warp before the band is read",
        "    simt::sync_warp();\n#pragma unroll\n    for (int block",
        "#pragma unroll\n    for (int block",
        unit="forward",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "distances beyond the last position encoded as the first",
        "distance < positions ? distance : positions - 1",
        "distance < positions ? distance : 0",
        ATTENTION_CLAMPED,
        "forward",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "a window wider by one",
        "distance < window;",
        "distance <= window;",
        ATTENTION_WINDOWS,
        "forward",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "keys and values of the segment exchanged",
        "(first * 3 + part)",
        "(first * 3 + (part > 0 ? 3 - part : part))",
        unit="forward",
    ),
    attention(
        "mma_tile.cuh",
        "one of the products of float32's parts left out",
        "  simt::mma_bf16_16x8x16(c, a.part[0], b.part[1]);\n",
        "",
        unit="forward",
    ),
    attention(
        "relative_attention_backward.cuh",
        "no mask in the backward",
        "  mask_scores<kOrder>(in, first_query, key_of, scores);\n",
        "",
        unit="keys",
    ),
    attention(
        "relative_attention_backward.cuh",
        "no dropout in the gradient of the weights",
        "  dropout.apply(dweights);\n",
        "",
        unit="distances",
    ),
    attention(
        "relative_attention_backward.cuh",
        "the band of positions one row off",
        "i0 - j0 - (kTile<Element> - 1) + row",
        "i0 - j0 - (kTile<Element> - 2) + row",
        unit="keys",
    ),
    attention(
        "relative_attention_backward.cuh",
        "keys in place of values",
        "multiply_straight(dscores, queries.doutput, warp.row, values, column)",
        "multiply_straight(dscores, queries.doutput, warp.row, keys, column)",
        unit="queries",
    ),
    attention(
        "relative_attention_keys.cu",
        "no barrier before weights and gradients are read",
        "    simt::sync_block();\n    multiply_transposed(dvalues",
        "    multiply_transposed(dvalues",
    ),
    attention(
        "relative_attention_keys.cu",
        "no barrier before the queries are replaced",
        "warp.row, tiles.queries.content, feature);\n    simt::sync_block();",
        "warp.row, tiles.queries.content, feature);",
    ),
    attention(
        "relative_attention_distances.cu",
        "the key of a pair shifted by one",
        "return first_key + row - column;",
        "return first_key + row - column - 1;",
    ),
    attention(
        "relative_attention_distances.cu",
        "no barrier before the queries are replaced",
        "warp.row, tiles.queries.position, feature);\n    simt::sync_block();",
        "warp.row, tiles.queries.position, feature);",
    ),
    attention(
        "relative_attention_queries.cu",
        "gradients of scores stored one place off in the band",
        "lane.row(i) - first - lane.column(block, i) + kTile<Element> - 1;",
        "lane.row(i) - first - lane.column(block, i) + kTile<Element>;",
    ),
    attention(
        "relative_attention_queries.cu",
        "no barrier before keys and values are replaced",
        "tiles.positions, feature);\n    simt::sync_block();",
        "tiles.positions, feature);",
    ),
    attention(
        "relative_attention_backward.cu",
        "distances beyond the last position not summed",
        "position + 1 == in.positions ? in.keys : position + 1",
        "position + 1",
        ATTENTION_CLAMPED,
    ),
    attention(
        "relative_attention_inputs.cuh",
        "memories lie one behind the other",
        "static_cast<int64_t>(at.b) * memory_pitch",
        "static_cast<int64_t>(at.b) * mem_len",
        MEMORY_PITCH,
        "forward",
    ),
    attention(
        "relative_attention_queries.cu",
        "no barrier before gradients of scores are read",
        "    simt::sync_block();\n    multiply_rows(dqueries",
        "    multiply_rows(dqueries",
        BFLOAT16,
    ),
    attention(
        "relative_attention_backward.cu",
        "queries rounded with w in place of u",
        "q + in.bias_at(in.u",
        "q + in.bias_at(in.w",
    ),
    attention(
        "relative_attention_backward.cu",
        "bias gradients of the first warp alone",
        "for (int warp = 1; warp < kReduceWarps",
        "for (int warp = 1; warp < 1",
    ),
    attention(
        "tile_products.cuh",
        "whole rows all copied to the first",
        "tile.at(first + row + i, column)",
        "tile.at(first + row, column)",
        unit="forward",
    ),
    attention(
        "mma_tile.cuh",
        "fragments read where chunks were not put",
        " ^ permutation(static_cast<unsigned>(r)) ^ first % kRound",
        " ^ first % kRound",
        BFLOAT16,
        "forward",
    ),
    attention(
        "relative_attention_backward.cuh",
        "warps beside each other with the same keys",
        "const int column = warp.part * kColumns;",
        "const int column = 0 * warp.part * kColumns;",
        BFLOAT16,
        "keys",
    ),
    attention(
        "relative_attention_dropout.cuh",
        "dropout by the words of the next block",
        "first / 4 + static_cast<uint64_t>(n)",
        "first / 4 + static_cast<uint64_t>(n + 1)",
        unit="forward",
    ),
    attention(
        "relative_attention_dropout.cuh",
        "no words for the end of rows that begin inside a block",
        "if (simt::any((offset[0] | offset[1]) != 0)) {",
        "if (simt::any(false)) {",
        unit="queries",
    ),
    attention(
        "relative_attention.cuh",
        "biases one distance off",
        "const int distance = in.mem_len + first_query + row - key_of(row)",
        "const int distance = 1 + in.mem_len + first_query + row - key_of(row)",
        BIASED,
        "forward",
    ),
    attention(
        "relative_attention.cuh",
        "biases scaled with the scores",
        "in.unscale * in.distance_bias",
        "in.distance_bias",
        BIASED,
        "keys",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "distances beyond the last bias given the first",
        "distance < biases ? distance : biases - 1",
        "distance < biases ? distance : 0",
        BIASED_CLAMPED,
        "queries",
    ),
    attention(
        "relative_attention_biases.cu",
        "no barrier before queries are replaced",
        "    simt::sync_block();  // all threads are done with these queries, keys and values\n",
        "",
        BIASED,
    ),
    attention(
        "relative_attention_biases.cu",
        "sums of half of the rows",
        "mask >= 4; mask /= 2",
        "mask > 4; mask /= 2",
        BIASED,
    ),
    attention(
        "relative_attention_biases.cu",
        "the first warp's rows alone",
        "rows < WarpPlace<Element>::kRowWarps",
        "rows < 1",
        BIASED,
    ),
    attention(
        "relative_attention_backward.cu",
        "distances beyond the last bias left out",
        "column + 1 == in.biases ? in.keys : ",
        "",
        BIASED_CLAMPED,
    ),
    attention(
        "dropout_mask.cuh",
        "the words of descending keys in ascending order",
        "kFromBehind ? 3 - i : i",
        "i",
        unit="distances",
    ),
]
