"""What mutation_check.py breaks of states: scans, gates, and what is done to heads."""

from mutation import header, kernel

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
    header("state_chunk", "a decay a token late", "if (t >= back) sum += before;", "if (t > back) sum += before;", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "decays of channels not summed up", "sum += decays[t];", "sum = decays[t];", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "scores that no decay of all channels lowers", "decay * score.value[block][i]", "score.value[block][i]", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "nothing erased within a chunk", "s < t ? beta[t] * overlap : 0.0F", "0.0F", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "an inverse of the first order", "overlaps[t * kChunk + s] * solved[s]", "overlaps[t * kChunk + s] * (s == column ? 1.0F : 0.0F)", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "a last chunk's missing tokens taken for tokens", "t >= count ? 0.0F : in.beta == nullptr", "in.beta == nullptr", STATE_SCAN, "state_scan_backward"),
    kernel("state_scan_forward", "a text's parts apart", "args.initial == nullptr ? nullptr : args.initial + in.state()", "nullptr", STATE_SCAN),
    kernel("state_scan_forward", "a chunk's carry lost", "state.value[block][i] *= chunk.carry[lane.column(block, i)];", "state.value[block][i] = 0.0F;", STATE_SCAN),
    kernel("state_scan_forward", "nothing found of the chunks before", "news.value[block][i] -= found.value[block][i];", ";", STATE_SCAN),
    kernel("state_scan_backward", "the gradient of a chunk kept from the one before", "gradient = before;", "", STATE_SCAN),
    kernel("state_scan_backward", "one warp's columns alone", "for (int place = 0; place < width; place += 16) {", "for (int place = 0; place < 16; place += 16) {", STATE_SCAN),
    kernel("state_scan_backward", "keys compared with themselves", "s < t || (s == t && simt::warp() == 0)", "s <= t", STATE_SCAN),
    kernel("state_scan_backward", "gradients that are not erased", "(read.value[half][i] - erased.value[half][i])", "read.value[half][i]", STATE_SCAN),
    kernel("state_scan_backward", "decays that the state gives nothing", "chunk.carry[channel] * tiles.dcarry[channel]", "0.0F", STATE_SCAN),
    kernel("state_scan_backward", "a decay of its own token alone", "for (int t = kChunk - 1; t >= simt::thread(); --t)", "for (int t = simt::thread(); t >= simt::thread(); --t)", STATE_SCAN),
]
