"""What mutation_check.py breaks of states: scans, reads, turns, gates, blends, convolutions, features, averages, and what is
done to heads."""

from mutation import header, kernel

BLEND = "BlendTest.*"
CONVERT = "ConvertTest.*"
ELEMENT_GATE = "ElementGateTest.*"
GATE = "GateTest.*"
HEAD_NORM = "HeadNormTest.*"
SHORT_CONVOLUTION = "ShortConvolution*"
STATE_READ = "StateRead.*"
STATE_SCAN = "StateScan.*"
STATE_TURN = "StateTurnTest.*"
FEATURE_MAP = "FeatureMapTest.*"
WEIGHTED_AVERAGE = "WeightedAverageTest.*"

STATE_MUTATIONS = [
    kernel("blend", "shares the other way round", "b[k] += share * (a[k] - b[k])", "b[k] += (1.0F - share) * (a[k] - b[k])", BLEND),
    kernel("blend", "every head's logit the first one's", "args.logits[element / args.width % args.heads]", "args.logits[0]", BLEND),
    kernel("blend", "a rest that rounding leaves of 1", "const float rest = sigmoid(-args.logits[head]);", "const float rest = 1.0F - share;", BLEND),
    kernel("blend", "the sums of one part alone", "for (int part = simt::lane(); part < args.count; part += simt::kWarp)", "for (int part = simt::lane(); part < 1; part += simt::kWarp)", BLEND),
    kernel("blend", "overwriting for adding", "args.dlogits[head] += sigmoid", "args.dlogits[head] = sigmoid", BLEND),
    kernel("blend", "a part's sum of one thread alone", "sum = simt::reduce_block(sum, 0.0F, simt::Sum());", "", BLEND),
    kernel("convert", "overwriting for adding", "args.accumulate ? y[k] + converted : converted", "converted", CONVERT),
    kernel("convert", "four at a time where fewer are left", "simt::is_vectorisable(DType::kFloat32, args.x.elements(), {args.x, args.y})", "true", CONVERT),
    kernel("element_gate", "gates the other way round", "at.other[k] + sigmoid(at.z[k])", "at.other[k] + sigmoid(-at.z[k])", ELEMENT_GATE),
    kernel("element_gate", "biases that no factor scales", "in.bias_factor * in.bias[column + k]", "in.bias[column + k]", ELEMENT_GATE),
    kernel("element_gate", "no gradient through the bound", "args.in.is_bounded ? (1.0F - at.passed[k])", "false ? (1.0F - at.passed[k])", ELEMENT_GATE),
    kernel("element_gate", "a rest that rounding leaves of 1", "db[k] = sigmoid(-at.z[k]) * dy[k];", "db[k] = (1.0F - sigmoid(at.z[k])) * dy[k];", ELEMENT_GATE),
    kernel("element_gate", "a gate's gradient as if nothing else passed", "dy * (passed[k] - other[k])", "dy * passed[k]", ELEMENT_GATE),
    kernel("element_gate", "overwriting for adding", "if (accumulate) simt::load(to + first, sums);", "", ELEMENT_GATE),
    kernel("element_gate", "a bias' gradient without its factor", "in.bias_factor * at.dlogit(k, arrived[k])", "at.dlogit(k, arrived[k])", ELEMENT_GATE),
    kernel("gate", "biases left out", "x + in.bias[column]", "x", GATE),
    kernel("gate", "rates left out", "has_rate(kFormula) ? -scale_of(in.rate[column]) : 1.0F", "has_rate(kFormula) ? -1.0F : 1.0F", GATE),
    kernel("gate", "what a decay leaves without its gradient's sign", "      slope *= -kept;", "      slope *= kept;", GATE),
    kernel("gate", "a rate's gradient as if the gate were the decay", "rate_slope *= -kept;", "", GATE),
    kernel("gate", "rates without a limit", "expf(rate > kLargestRate ? kLargestRate : rate)", "expf(rate)", GATE),
    kernel("gate", "the gradient of a share as if it were a decay's", "value * sigmoid(-shifted)", "value", GATE),
    kernel("head_norm", "the length of one lane's columns", "simt::reduce_warp(squares, simt::Sum())", "squares", HEAD_NORM),
    kernel("head_norm", "no gradient through the norm", "e - F::of(x[i][k]) * gathered", "e", HEAD_NORM),
    kernel("head_norm", "a gate's gradient without the gain", "* scale * in.gain_at(column + k) * Silu::slope", "* scale * Silu::slope", HEAD_NORM),
    kernel("head_norm", "a gain's gradient without the gate", "(scale == nullptr ? 1.0F : scale[row]) * gates[k]", "(scale == nullptr ? 1.0F : scale[row])", HEAD_NORM),
    kernel("short_convolution", "a run's first tokens as if none came before", "for (int back = kTaps - 1; back > 0; --back) x.push(in.x_at(stream, next - back, channel));", "for (int back = kTaps - 1; back > 0; --back) x.push(0.0F);", SHORT_CONVOLUTION),
    kernel("short_convolution", "rows of before in the other order", "before[boundary(stream, kBack + t, channel)]", "before[boundary(stream, -1 - t, channel)]", SHORT_CONVOLUTION),
    kernel("short_convolution", "rows of before moved within after, the last first", "for (int row = 0; row < in.kBack; ++row) {", "for (int row = in.kBack - 1; row >= 0; --row) {", SHORT_CONVOLUTION),
    kernel("short_convolution", "the gradients of tokens beyond a run left out", "t < end + in.kBack", "t < end", SHORT_CONVOLUTION),
    kernel("short_convolution", "taps not turned round on the way back", "convolution.taps[j] * dz.rows[kTaps - 1 - j]", "convolution.taps[j] * dz.rows[j]", SHORT_CONVOLUTION),
    kernel("short_convolution", "gradients of after for one row alone", "dafter == nullptr || row < 0", "dafter == nullptr || row != 0", SHORT_CONVOLUTION),
    kernel("short_convolution", "gradients of before, the first first", "for (int row = kTaps - 2; row >= 0; --row) {", "for (int row = 0; row <= kTaps - 2; ++row) {", SHORT_CONVOLUTION),
    kernel("short_convolution", "gradients of before ahead of what reads those of after", "    differentiate_rows(args, place, inner, in.tokens);\n    if (args.dbefore != nullptr) differentiate_before(args, place);", "    if (args.dbefore != nullptr) differentiate_before(args, place);\n    differentiate_rows(args, place, inner, in.tokens);", SHORT_CONVOLUTION),
    kernel("short_convolution", "gradients of taps of the first run alone", "const int64_t first = row % runs * kRun;", "const int64_t first = 0;", SHORT_CONVOLUTION),
    kernel("short_convolution", "gradients of taps as rows of taps", "column % args.channels * args.taps + column / args.channels", "column", SHORT_CONVOLUTION),
    header("state_chunk", "a decay a token late", "if (t >= back) sum += before;", "if (t > back) sum += before;", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "decays of channels not summed up", "sum += decays[t];", "sum = decays[t];", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "scores that no decay of all channels lowers", "decay * score.value[block][i]", "score.value[block][i]", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "nothing erased within a chunk", "s < t ? beta[t] * overlap : 0.0F", "0.0F", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "an inverse of the first order", "overlaps[t * kChunk + s] * solved[s]", "overlaps[t * kChunk + s] * (s == column ? 1.0F : 0.0F)", STATE_SCAN, "state_scan_forward"),
    header("state_chunk", "a last chunk's missing tokens taken for tokens", "t >= count ? 0.0F : in.beta == nullptr", "in.beta == nullptr", STATE_SCAN, "state_scan_backward"),
    header("state_chunk", "every row of a pair the first one", "state_at(in, state, row + 1, of)", "state_at(in, state, row, of)", STATE_READ, "state_read"),
    kernel("state_read", "a state read by its columns on the way back too", "state_operand<kForward>(in", "state_operand<true>(in", STATE_READ),
    kernel("state_read", "the first columns of every part", "in.place(first + t) * format.width + column", "in.place(first + t) * format.width", STATE_READ),
    kernel("state_read", "tokens beyond a block at the first one's place", "const int first = simt::block() / blocks * kTokens;", "const int first = 0;", STATE_READ),
    kernel("state_read", "other warps' tokens overwritten before they are read", "simt::sync_block();  // before the next tokens", "// before the next tokens", STATE_READ),
    kernel("state_read", "other warps' columns overwritten before they are read", "simt::sync_block();  // before the next columns", "// before the next columns", STATE_READ),
    kernel("state_read", "overwriting for adding", "args.accumulate ? *to + sums.value[block][i] : sums.value[block][i]", "sums.value[block][i]", STATE_READ),
    kernel("state_read", "the gradients of 16 tokens of a tile", "load_a_transposed(operand, tiles.queries, place, t);", "load_a_transposed(operand, tiles.queries, place, 0);", STATE_READ),
    kernel("state_turn", "the next pair's sine", "args.angles.sine[pair]", "args.angles.sine[pair + 1]", STATE_TURN),
    kernel("state_turn", "a row beyond the share turned", "2 * pair < args.width", "2 * pair <= args.width", STATE_TURN),
    kernel("state_turn", "an odd last row left out", "const int pairs = (args.keys + 1) / 2;", "const int pairs = args.keys / 2;", STATE_TURN),
    kernel("state_turn", "turned the other way", "even[k] = x * cosine - odd[k] * sine;", "even[k] = x * cosine + odd[k] * sine;", STATE_TURN),
    kernel("state_turn", "a row after the last", "2 * pair + 1 < args.keys", "true", STATE_TURN),
    kernel("state_scan_forward", "a text's parts apart", "args.initial == nullptr ? nullptr : args.initial + in.state()", "nullptr", STATE_SCAN),
    kernel("state_scan_forward", "a chunk's carry lost", "state.value[block][i] *= chunk.carry[lane.column(block, i)];", "state.value[block][i] = 0.0F;", STATE_SCAN),
    kernel("state_scan_forward", "nothing found of the chunks before", "news.value[block][i] -= found.value[block][i];", ";", STATE_SCAN),
    kernel("state_scan_backward", "the gradient of a chunk kept from the one before", "gradient = before;", "", STATE_SCAN),
    kernel("state_scan_backward", "one warp's columns alone", "for (int place = 0; place < width; place += 16) {", "for (int place = 0; place < 16; place += 16) {", STATE_SCAN),
    kernel("state_scan_backward", "keys compared with themselves", "s < t || (s == t && simt::warp() == 0)", "s <= t", STATE_SCAN),
    kernel("state_scan_backward", "gradients that are not erased", "(read.value[half][i] - erased.value[half][i])", "read.value[half][i]", STATE_SCAN),
    kernel("state_scan_backward", "decays that the state gives nothing", "chunk.carry[channel] * tiles.dcarry[channel]", "0.0F", STATE_SCAN),
    kernel("state_scan_backward", "a decay of its own token alone", "for (int t = kChunk - 1; t >= simt::thread(); --t)", "for (int t = simt::thread(); t >= simt::thread(); --t)", STATE_SCAN),
    kernel("feature_map", "the length of one lane's columns", "scale * simt::reduce_warp(squares, simt::Sum())", "scale * squares", FEATURE_MAP),
    kernel("feature_map", "exponents without a least one", "exponent < kLeastFeatureExponent ? kLeastFeatureExponent : exponent", "exponent", FEATURE_MAP),
    kernel("feature_map", "exponents without a largest one", "exponent > kLargestFeatureExponent ? kLargestFeatureExponent : exponent", "exponent", FEATURE_MAP),
    kernel("feature_map", "gradients through what is cut above", "exponents[k] < kLeastFeatureExponent || exponents[k] > kLargestFeatureExponent", "exponents[k] < kLeastFeatureExponent", FEATURE_MAP),
    kernel("feature_map", "the gradient of a length from one lane's projections", "sum = simt::reduce_warp(sum, simt::Sum());", "", FEATURE_MAP),
    kernel("feature_map", "cosines upon the sines", "args.y + row * args.features + args.projected + column", "args.y + row * args.features + column", FEATURE_MAP),
    kernel("feature_map", "the gradient of a cosine with the wrong sign", "cosf(angles[k]) - dcosines[k]", "cosf(angles[k]) + dcosines[k]", FEATURE_MAP),
    kernel("feature_map", "products that shift the other way", "value * rectified(x, args.width, i - shift)", "value * rectified(x, args.width, i + shift)", FEATURE_MAP),
    kernel("feature_map", "a product's gradient for one of its two alone", "sum += simt::as_float(dy[later]) * rectified(x, args.width, later);", "", FEATURE_MAP),
    kernel("feature_map", "the gradient of -x not turned", "value < 0.0F ? -sum : value", "value < 0.0F ? sum : value", FEATURE_MAP),
    kernel("feature_map", "rows without their 1", "static_cast<Element>(1.0F)", "static_cast<Element>(0.0F)", FEATURE_MAP),
    kernel("weighted_average", "a floor that is always positive", "weights < 0.0F ? -floor : floor", "floor", WEIGHTED_AVERAGE),
    kernel("weighted_average", "weights that equal the floor under it", "fabsf(weights) < floor", "fabsf(weights) <= floor", WEIGHTED_AVERAGE),
    kernel("weighted_average", "products of floats", "static_cast<double>(gradient) * static_cast<double>(simt::as_float(sums[h]))", "gradient * simt::as_float(sums[h])", WEIGHTED_AVERAGE),
    kernel("weighted_average", "the products of one lane's columns", "products = simt::reduce_warp(products, simt::Sum());", "", WEIGHTED_AVERAGE),
    kernel("weighted_average", "a gradient of the floor", "divisor.is_floor ? 0.0F : ", "", WEIGHTED_AVERAGE),
    kernel("weighted_average", "divided once", "-products / d / d", "-products / d", WEIGHTED_AVERAGE),
]
