"""How the kernels of relative attention could be wrong about how far queries see in their text, back and ahead."""

from attention_mutations import attention
from mutation import Mutation

DOCUMENTS = "RelativeAttentionInDocuments.EqualsOracle"
AHEAD = "RelativeAttentionAhead.EqualsOracle"

ATTENTION_SIGHT_MUTATIONS: list[Mutation] = [
    attention(
        "relative_attention_inputs.cuh",
        "tiles within the window taken for visible whatever the reach",
        "args.reach.empty() ? window : 0",
        "window",
        DOCUMENTS,
        "forward",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "the reach of the first stream for all",
        "std::min(window - 1, reach[static_cast<int64_t>(at.b) * tgt_len + i])",
        "std::min(window - 1, reach[i])",
        DOCUMENTS,
        "queries",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "queries left out that see the end of a tile of keys",
        ">= j0 + kRows) end",
        ">= j0) end",
        DOCUMENTS,
        "keys",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "a tile of a schedule left out that ends in reach",
        "walk.skip_to(first_in_reach(at, i0));",
        "walk.skip_to(first_in_reach(at, i0) + 1);",
        DOCUMENTS,
        "forward",
    ),
    attention(
        "relative_attention.cuh",
        "with a schedule, no reach in the gradient of the positions",
        "  if (in.has_limits()) visit_unseen<kOrder, kColumns>(in, at, first_query, key_of, SeenByDistance(), visit);\n",
        "",
        DOCUMENTS,
        "distances",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "what the first stream sees ahead for all",
        "-std::min(ahead[static_cast<int64_t>(at.b) * tgt_len + i],",
        "-std::min(ahead[i],",
        AHEAD,
        "forward",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "the last key ahead left out",
        "return mem_len + last + 1 - nearest_distance(at, last);",
        "return mem_len + last - nearest_distance(at, last);",
        AHEAD,
        "forward",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "a tile of queries left out that sees one key of the tile, ahead",
        "end_of_sight(at, first - 1) > j0",
        "end_of_sight(at, first - 1) > j0 + 1",
        AHEAD,
        "keys",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "queries of earlier tiles left out of the gradient of keys",
        "if (ahead == nullptr) return first;",
        "return first;",
        AHEAD,
        "keys",
    ),
    attention(
        "relative_attention_inputs.cuh",
        "with a schedule, no end of what is seen ahead",
        "return reach != nullptr || ahead != nullptr;",
        "return reach != nullptr;",
        "RelativeAttentionAhead.SaysTheSameInOtherWordsToTheBit",
        "forward",
    ),
]
