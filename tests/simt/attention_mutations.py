"""How the kernels of relative attention could be wrong."""

from mutation import KERNELS, Mutation


def attention(file: str, meaning: str, text: str, replacement: str, tests: str = "", unit: str = "") -> Mutation:
    """In relative_attention<file>; `unit` is the kernel that includes it when it is a header."""
    path = f"{KERNELS}{file}"
    compiled = f"{KERNELS}relative_attention_{unit}.cu" if unit else path
    return Mutation(path, meaning, text, replacement, tests or ATTENTION, compiled, "relative_attention_simt_test")


ATTENTION = "RelativeAttention.EqualsOracleForAllLengths:RelativeAttention.EqualsOracleForAllHeadWidths"
ATTENTION_CLAMPED = "RelativeAttention.EqualsOracleForClampedDistances"
ATTENTION_WINDOWS = "RelativeAttention.EqualsOracleForWindows"
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
        "    simt::sync_block();  // everybody is done with these keys and positions\n",
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
        "relative_attention_forward.cu",
        "no mask",
        "visible ? scores.value[block][i] * in.scale : -INFINITY",
        "visible || true ? scores.value[block][i] * in.scale : -INFINITY",
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
        "lane.row(i) - lane.column(block, i) + kTile<Element> - 1;",
        "lane.row(i) - lane.column(block, i) + kTile<Element>;",
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
        "  simt::sync_warp();\n#pragma unroll",
        "#pragma unroll",
        unit="forward",
    ),
    attention(
        "relative_attention.cuh",
        "distances beyond the last position encoded as the first",
        "distance < positions ? distance : positions - 1",
        "distance < positions ? distance : 0",
        ATTENTION_CLAMPED,
        "forward",
    ),
    attention(
        "relative_attention.cuh",
        "a window wider by one",
        "distance < window;",
        "distance <= window;",
        ATTENTION_WINDOWS,
        "forward",
    ),
    attention(
        "relative_attention.cuh",
        "rows of the segment shifted by one",
        "(static_cast<int64_t>(b) * tgt_len + i) * 3 + part)",
        "(static_cast<int64_t>(b) * tgt_len + (i > 0 ? i - 1 : i)) * 3 + part)",
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
        "visible ? exp_of(score - query.lse[i / 2]) : 0.0F",
        "visible || true ? exp_of(score - query.lse[i / 2]) : 0.0F",
        unit="keys",
    ),
    attention(
        "relative_attention_backward.cuh",
        "no dropout in the gradient of the weights",
        "dweights.value[block][i] * multiplier[0] - query",
        "dweights.value[block][i] - query",
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
        "multiply_straight(dscores, queries.doutput, warp_row, values)",
        "multiply_straight(dscores, queries.doutput, warp_row, keys)",
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
        "warp_row, tiles.queries.content);\n    simt::sync_block();",
        "warp_row, tiles.queries.content);",
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
        "warp_row, tiles.queries.position);\n    simt::sync_block();",
        "warp_row, tiles.queries.position);",
    ),
    attention(
        "relative_attention_queries.cu",
        "gradients of scores stored one place off in the band",
        "lane.row(i) - lane.column(block, i) + kTile<Element> - 1;",
        "lane.row(i) - lane.column(block, i) + kTile<Element>;",
    ),
    attention(
        "relative_attention_queries.cu",
        "no barrier before keys and values are replaced",
        "warp_row, tiles.positions);\n    simt::sync_block();",
        "warp_row, tiles.positions);",
    ),
    attention(
        "relative_attention_backward.cu",
        "distances beyond the last position not summed",
        "position + 1 == in.positions ? in.keys : position + 1",
        "position + 1",
        ATTENTION_CLAMPED,
    ),
    attention(
        "relative_attention.cuh",
        "memories lie one behind the other",
        "(static_cast<int64_t>(b) * memory_pitch + j)",
        "(static_cast<int64_t>(b) * mem_len + j)",
        MEMORY_PITCH,
        "forward",
    ),
]
