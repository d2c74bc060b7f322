"""Every kind of state gives each token the loss that the plain functions of flash-linear-attention give it with the same
weights: those over the whole text at once, Segue by segments that pass states on.

What is around those functions (projections, convolutions, random features, gates, norms, the block) is written out below. Skipped where Python lacks
torch, safetensors, einops or fla; run with torch 2.15.0 and fla-core 0.6.0.
"""

import math
import random
import sys
import warnings

from program import Program, block_losses, check

SKIPPED = 77
warnings.simplefilter("ignore")
try:
    import torch
    from fla.modules.feature_map import DPFPFeatureMap
    from fla.ops.delta_rule.naive import delta_rule_recurrence
    from fla.ops.gated_delta_rule.naive import naive_chunk_gated_delta_rule, naive_recurrent_gated_delta_rule
    from fla.ops.gla.naive import naive_recurrent_gla
    from fla.ops.kda.naive import naive_recurrent_kda
    from fla.ops.linear_attn.naive import naive_recurrent_linear_attn
    from fla.ops.retention.naive import naive_retention
    from fla.ops.simple_gla.naive import naive_recurrent_simple_gla
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

F = torch.nn.functional
TOLERANCE = 1e-5
STREAMS, SEGMENTS, TGT_LEN, STEPS = 4, 6, 16, 10
VOCABULARY = 60
MODEL = {"n_layer": 2, "n_head": 4, "d_model": 32, "d_head": 12, "d_inner": 48, "mem_len": 0, "dropout": 0.0,
         "init": {"init_std": 0.2}}
PLAIN = {"unit_keys": False, "erases": False, "strength": "full"}
AVERAGES = PLAIN | {"output_norm": "weights", "output_gate": False}


def swapped(function):
    """Of functions whose tensors are [B, N, T, H]."""
    def call(*tensors):
        found = function(*(tensor.transpose(1, 2) for tensor in tensors))
        return (found[0] if isinstance(found, tuple) else found).transpose(1, 2)
    return call


def turned(function):
    """Of functions without positions: queries and keys, in pairs of columns, turned by angles that grow with their tokens'."""
    def turn(x):
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
        speeds = 10000.0 ** -(torch.arange(pairs.shape[-1]) / pairs.shape[-1])
        angles = torch.arange(x.shape[1]).view(-1, 1, 1) * speeds
        return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)
    return lambda q, k, v, g, b: function(turn(q), turn(k), v, g, b)


# Of q, k, v [B, T, N, H], logarithms of decays g and strengths b: what is read.
KINDS = {
    "linear": (PLAIN | {"decay": "none", "feature": "elu_plus_one", "output_gate": False},
               lambda q, k, v, g, b: naive_recurrent_linear_attn(q, k, v)[0]),
    "retention": (PLAIN | {"decay": "fixed", "feature": "identity"}, lambda q, k, v, g, b: swapped(naive_retention)(q, k, v)),
    "retention, turned": (PLAIN | {"decay": "fixed", "feature": "identity"},
                          turned(lambda q, k, v, g, b: swapped(naive_retention)(q, k, v))),
    "gated_delta, turned": ({}, turned(lambda q, k, v, g, b: naive_recurrent_gated_delta_rule(q, k, v, b, g)[0])),
    "gated_linear": (PLAIN | {"decay": "channel", "feature": "identity"},
                     lambda q, k, v, g, b: naive_recurrent_gla(q, k, v, g)[0]),
    "step": ({"unit_keys": False, "erases": False, "strength": "step"},
             lambda q, k, v, g, b: naive_recurrent_simple_gla(q, k, v * b.unsqueeze(-1), g)[0]),
    "delta": ({"decay": "none", "output_gate": False},
              lambda q, k, v, g, b: swapped(delta_rule_recurrence)(q, k, v, b.unsqueeze(-1))),
    "delta, rectified": ({"decay": "none", "feature": "relu"},
                         lambda q, k, v, g, b: swapped(delta_rule_recurrence)(q, k, v, b.unsqueeze(-1))),
    "gated_delta": ({}, lambda q, k, v, g, b: naive_recurrent_gated_delta_rule(q, k, v, b, g)[0]),
    "gated_delta, in chunks": ({}, lambda q, k, v, g, b: naive_chunk_gated_delta_rule(q, k, v, g, b, chunk_size=16)[0]),
    "channel_delta": ({"decay": "channel"}, lambda q, k, v, g, b: naive_recurrent_kda(q, k, v, g, b)[0]),
    "gated_delta, convolved": ({"convolution": 4, "feature": "identity"},
                               lambda q, k, v, g, b: naive_recurrent_gated_delta_rule(q, k, v, b, g)[0]),
    "delta, dpfp": ({"decay": "none", "feature": "dpfp", "shifts": 3},
                    lambda q, k, v, g, b: swapped(delta_rule_recurrence)(q, k, v, b.unsqueeze(-1))),
    "linear, averages": (AVERAGES | {"decay": "none", "feature": "elu_plus_one"},
                         lambda q, k, v, g, b: naive_recurrent_linear_attn(q, k, v, normalize=True)[0]),
    "performer": (AVERAGES | {"decay": "none", "feature": "performer", "random_features": 40},
                  lambda q, k, v, g, b: naive_recurrent_linear_attn(q, k, v, normalize=True)[0]),
    "random_fourier": (AVERAGES | {"decay": "token", "strength": "rest", "feature": "random_fourier", "unit_keys": True,
                                   "random_features": 40},
                       lambda q, k, v, g, b: averaged(q, k, v * b.unsqueeze(-1), b, g)),
}


def averaged(q, k, v, b, g):
    """What is read of v, already times b, over what is read of ones times b: nothing divides by less than 1e-3."""
    read = lambda values: naive_recurrent_simple_gla(q, k, values, g, scale=1)[0]
    weights = read(b.unsqueeze(-1).expand(v.shape).contiguous())
    return read(v) / torch.where(weights.abs() < 1e-3, torch.where(weights < 0, -1e-3, 1e-3), weights)


def feature(score, weights, x):
    kind = score.get("feature", "silu")
    unit = lambda y: y / torch.sqrt(y.square().sum(-1, keepdim=True) + 1e-6) if score.get("unit_keys", True) else y
    if kind == "performer":
        x = unit(x) * x.shape[-1] ** -0.25
        return torch.exp(x @ weights["directions"].T - x.square().sum(-1, keepdim=True) / 2)
    if kind == "random_fourier":
        x = (unit(x) * weights["feature_gain"]) @ weights["directions"].T
        return torch.cat([x.sin(), x.cos()], -1) * weights["directions"].shape[0] ** -0.5
    if kind == "dpfp":
        return unit(DPFPFeatureMap(x.shape[-1], score["shifts"])(x))
    return unit({"silu": F.silu, "identity": lambda y: y, "relu": F.relu, "elu_plus_one": lambda y: F.elu(y) + 1}[kind](x))


def convolved(weights, name, x):
    if "convolution." + name not in weights:
        return x
    taps = weights["convolution." + name]
    early = F.pad(x.transpose(1, 2), (taps.shape[1] - 1, 0))
    return F.silu(F.conv1d(early, taps.unsqueeze(1), groups=taps.shape[0]).transpose(1, 2))


def log_decay(score, weights, x, heads):
    if "decay_rate" not in weights:
        return None
    down = x @ weights["decay_down"].T if "decay_down" in weights else x
    decay = -weights["decay_rate"].exp() * F.softplus(down @ weights["decay"].T + weights["decay_bias"])
    return heads(decay) if score["decay"] == "channel" else decay


def mixed(score, function, weights, x):
    """What the tokens x [B, T, D] of a layer read."""
    heads = lambda y: y.unflatten(-1, (MODEL["n_head"], MODEL["d_head"]))
    q, k, v = (heads(convolved(weights, name, x @ weights[name].T)) for name in "qkv")
    decay = log_decay({"decay": "token"} | score, weights, x, heads)
    strength = (x @ weights["strength"].T + weights["strength_bias"]).sigmoid() if "strength" in weights else None
    if score.get("strength") == "step":
        strength = F.softplus(x @ weights["decay"].T + weights["decay_bias"])
    if score.get("strength") == "rest":
        strength = 1 - decay.exp()
    read = function(feature(score, weights, q), feature(score, weights, k), v, decay, strength)
    if "norm" in weights:
        read = read / torch.sqrt(read.square().mean(-1, keepdim=True) + 1e-5) * weights["norm"]
    if "gate" in weights:
        read = read * F.silu(heads(x @ weights["gate"].T))
    return read.flatten(-2) @ weights["output"].T


def losses(score, function, weights, streams):
    width = MODEL["d_model"]
    norm = lambda y, name: F.layer_norm(y, (width,), weights[name + ".gain"], weights[name + ".bias"])
    table = weights["embedding.table"]
    x = table[streams[:, :-1]] * math.sqrt(width)
    for layer in range(MODEL["n_layer"]):
        prefix = f"layers.{layer}."
        own = {name.removeprefix(prefix + "attention."): weight for name, weight in weights.items()
               if name.startswith(prefix + "attention.")}
        x = norm(x + mixed(score, function, own, x), prefix + "attention.norm")
        w = lambda name: weights[prefix + "feed_forward." + name]
        x = norm(x + F.relu(x @ w("w1").T + w("b1")) @ w("w2").T + w("b2"), prefix + "feed_forward.norm")
    logits = x @ table.T + weights["head.bias"]
    return F.cross_entropy(logits.transpose(1, 2), streams[:, 1:], reduction="none")


def main():
    torch.set_num_threads(1)
    program = Program()
    tokens = random.Random(4).choices(range(VOCABULARY), k=STREAMS * (SEGMENTS * TGT_LEN + 1))
    program.prepare_tokens("text", VOCABULARY, train=tokens)
    streams = torch.tensor(tokens).view(STREAMS, -1)
    for number, (name, (score, function)) in enumerate(KINDS.items()):
        run = f"run-{number}"
        config = program.config(
            "config.json", data={"path": "text"}, model=MODEL | {
                "score": {"kind": "state"} | score, "position": {"kind": "rope" if "turned" in name else "none"}},
            optimizer={"lr": 0.01}, evaluation={"interval": 0},
            training={"batch_size": STREAMS, "tgt_len": TGT_LEN, "max_step": STEPS}, checkpoint={"interval": 0})
        program.run("train", config, "--run", run)
        weights = load_file(program.path(run, "checkpoints", f"step-{STEPS:08d}", "weights.safetensors"))
        found = torch.tensor(block_losses(program, STREAMS, "--checkpoint", run, "--data", "text", "--split", "train",
                                          "--tgt-len", TGT_LEN))
        with torch.no_grad():
            expected = losses(score, function, weights, streams)
        check(found.shape == expected.shape, f"{name}: {found.shape} losses, expected {expected.shape}")
        largest = (found - expected).abs().max().item()
        print(f"{name}: losses from {found.min():.2f} to {found.max():.2f}, off by {largest:.1e} at most")
        check(largest < TOLERANCE, f"{name}: losses are off by {largest:.1e}")


main()
