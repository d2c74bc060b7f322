"""What mutation_check.py breaks of states: scans, gates, and what is done to heads."""

from mutation import kernel

GATE = "GateTest.*"
HEAD_NORM = "HeadNormTest.*"
STATE_SCAN = "StateScan.*"

STATE_MUTATIONS = [
    kernel("gate", "biases left out", "x + in.bias[column]", "x", GATE),
    kernel("gate", "rates left out", "kFormula == GateFormula::kDecay ? -scale_of(in.rate[column]) : 1.0F", "kFormula == GateFormula::kDecay ? -1.0F : 1.0F", GATE),
    kernel("gate", "rates without a limit", "expf(rate > kLargestRate ? kLargestRate : rate)", "expf(rate)", GATE),
    kernel("gate", "the gradient of a share as if it were a decay's", "value * sigmoid(-shifted)", "value", GATE),
    kernel("head_norm", "the length of one lane's columns", "simt::reduce_warp(squares, simt::Sum())", "squares", HEAD_NORM),
    kernel("head_norm", "no gradient through the norm", "e - F::of(x[i][k]) * gathered", "e", HEAD_NORM),
    kernel("head_norm", "a gate's gradient without the gain", "* scale * in.gain_at(column + k) * Silu::slope", "* scale * Silu::slope", HEAD_NORM),
    kernel("head_norm", "a gain's gradient without the gate", "(scale == nullptr ? 1.0F : scale[row]) * gates[k]", "(scale == nullptr ? 1.0F : scale[row])", HEAD_NORM),
    kernel("state_scan", "no decay", "state[j] *= token.decay[j];", "", STATE_SCAN),
    kernel(
        "state_scan",
        "a decay after the token has written",
        "for (int j = 0; j < kRows; ++j) state[j] += token.key[j] * written;",
        "for (int j = 0; j < kRows; ++j) state[j] = state[j] / token.decay[j] + token.decay[j] * token.key[j] * written;",
        STATE_SCAN,
    ),
    kernel("state_scan", "nothing erased", "token.beta * (value - found)", "token.beta * value", STATE_SCAN),
    kernel("state_scan", "a text's parts apart", "args.initial == nullptr ? nullptr : args.initial + in.state()", "nullptr", STATE_SCAN),
    kernel("state_scan", "the gradient of a range kept from the one before", "gradients = left;", "", STATE_SCAN),
    kernel("state_scan", "a decay's gradient of what it has not decayed", "const float decayed = before * token.decay[j];", "const float decayed = before;", STATE_SCAN),
    kernel("state_scan", "one warp's columns alone", "for (int warp = 0; warp < Part::kWarps; ++warp) sum +=", "for (int warp = 0; warp < 1; ++warp) sum +=", STATE_SCAN),
]
