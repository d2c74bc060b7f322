"""Gated and reversible layers give each token the loss, and each weight the gradient, that independent layers with the same
weights give it, segment by segment with memory and without.

Gated layers are those of DI-engine's GTrXL, whose queries are made of the residual as it is: here a hook hands them its
layer norm, as the paper has it. Reversible layers are reformer-pytorch's, around DI-engine's attention. Of both packages one
file is loaded, as all that DI-engine imports would be a gigabyte. Skipped where Python lacks torch, safetensors, ding or
reformer_pytorch; run with torch 2.15.0, DI-engine 0.5.3 and reformer-pytorch 1.4.4, both installed with --no-deps.
"""

import importlib
import importlib.util
import math
import random
import sys
import types

from program import Program, block_losses, check

SKIPPED = 77
try:
    import torch
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)


def load_alone(module):
    """A module of a package, without what the package imports beside it."""
    package, _, rest = module.partition(".")
    found = importlib.util.find_spec(package)
    if found is None:
        print(f"skipped: No module named {package!r}")
        sys.exit(SKIPPED)
    folder = found.submodule_search_locations[0]
    parents = [package, *(f"{package}.{'.'.join(rest.split('.')[:count])}" for count in range(1, rest.count(".") + 1))]
    for parent in parents:
        sys.modules[parent] = types.ModuleType(parent)
        sys.modules[parent].__path__ = [folder + parent.removeprefix(package).replace(".", "/")]
    return importlib.import_module(module)


gtrxl = load_alone("ding.torch_utils.network.gtrxl")
reversible = load_alone("reformer_pytorch.reversible")

TOLERANCE = 1e-5
STREAMS, SEGMENTS, TGT_LEN, MEM_LEN, STEPS = 4, 6, 16, 24, 10
VOCABULARY = 60
BASE = {"n_layer": 3, "n_head": 4, "d_model": 32, "d_head": 12, "d_inner": 32, "mem_len": MEM_LEN, "dropout": 0.0,
        "memory": {"initial": "zeros"}, "init": {"init_std": 0.2}}
MODELS = {
    "gated": {"block": {"kind": "gated", "gate": "gru"}},
    "gated, almost closed": {"block": {"kind": "gated", "gate": "gru", "gate_bias": 4.0}},
    "gated, final norm": {"block": {"kind": "gated", "gate": "gru", "final_norm": True}},
    "reversible": {"block": {"kind": "reversible"}},
    "reversible, final norm": {"block": {"kind": "reversible", "final_norm": True}},
    "reversible, eight layers": {"n_layer": 8, "block": {"kind": "reversible", "final_norm": True}},
}


class Gated(torch.nn.Module):
    """Embedded tokens [T, B, D] -> [T, B, D]; remembers from call to call."""

    def __init__(self, model, mem_len):
        super().__init__()
        self.layers = gtrxl.GTrXL(
            input_dim=model["d_model"], head_dim=model["d_head"], embedding_dim=model["d_model"], head_num=model["n_head"],
            layer_num=model["n_layer"], memory_len=mem_len, use_embedding_layer=False)
        for layer in self.layers.layers:
            layer.attention.attention_q.register_forward_pre_hook(lambda _, inputs, norm=layer.layernorm1: (norm(*inputs),))

    def forward(self, x):
        return self.layers(x)["logit"]

    def weights_of(self, of_layer, layer):
        place = f"layers.layers.{layer}."
        for number, part in ((1, "attention"), (2, "feed_forward")):
            yield f"{place}layernorm{number}.weight", of_layer.pop(f"{part}.norm.gain")
            yield f"{place}layernorm{number}.bias", of_layer.pop(f"{part}.norm.bias")
            yield f"{place}gate{number}.bg", of_layer.pop(f"{part}.gate.bias")
            for matrix in ("w_r", "u_r", "w_z", "u_z", "w_g", "u_g"):
                yield f"{place}gate{number}.{matrix[0].upper()}{matrix[2]}.weight", of_layer.pop(f"{part}.gate.{matrix}")
        yield from attention_weights(of_layer, place + "attention.")
        for number, linear in ((1, "0.0"), (2, "2.0")):
            yield f"{place}mlp.{linear}.weight", of_layer.pop(f"feed_forward.w{number}")
            yield f"{place}mlp.{linear}.bias", of_layer.pop(f"feed_forward.b{number}")

    places_of_biases = ("layers.u", "layers.v")


class RememberingAttention(torch.nn.Module):
    """The branch that reads the second stream, [B, T, D], and what a layer remembers of it."""

    def __init__(self, model, mem_len, biases):
        super().__init__()
        self.norm = torch.nn.LayerNorm(model["d_model"])
        self.attention = gtrxl.AttentionXL(model["d_model"], model["d_head"], model["n_head"], torch.nn.Identity())
        self.sinusoids = gtrxl.PositionalEmbedding(model["d_model"])
        self.biases = biases
        self.mem_len = mem_len
        self.memory = self.remembered = None

    def forward(self, b):
        b = b.transpose(0, 1)
        if not torch.is_grad_enabled():  # it runs again, with gradients, on what backward rebuilds
            if self.remembered is None:
                self.remembered = b.new_zeros(self.mem_len, *b.shape[1:])
            self.memory = self.remembered
            self.remembered = torch.cat((self.memory, b))[len(b):] if self.mem_len else self.memory
        read = self.norm(torch.cat((self.memory, b)))
        keys, queries = len(read), len(b)
        hidden = torch.ones(queries, keys).triu(1 + keys - queries).bool().unsqueeze(-1)
        places = self.sinusoids(torch.arange(keys - 1, -1, -1.0))
        return self.attention(read[-queries:], places, read, *self.biases, mask=hidden).transpose(0, 1)


class Reversible(torch.nn.Module):
    """As Gated."""

    def __init__(self, model, mem_len):
        super().__init__()
        width, inner = model["d_model"], model["d_inner"]
        self.u, self.v = (torch.nn.Parameter(torch.zeros(model["n_head"], model["d_head"])) for _ in range(2))
        self.layers = reversible.ReversibleSequence(torch.nn.ModuleList(torch.nn.ModuleList((
            RememberingAttention(model, mem_len, (self.u, self.v)),
            torch.nn.Sequential(torch.nn.LayerNorm(width), torch.nn.Linear(width, inner), torch.nn.ReLU(),
                                torch.nn.Linear(inner, width)))) for _ in range(model["n_layer"])))

    def forward(self, x):
        both = self.layers(torch.cat((x, x), -1).transpose(0, 1))
        return sum(both.chunk(2, -1)).transpose(0, 1)  # the package takes their mean

    def weights_of(self, of_layer, layer):
        attention, feed_forward = (f"layers.blocks.{layer}.{branch}.net." for branch in "fg")
        for part, place in (("attention", attention + "norm"), ("feed_forward", feed_forward + "0")):
            yield f"{place}.weight", of_layer.pop(f"{part}.norm.gain")
            yield f"{place}.bias", of_layer.pop(f"{part}.norm.bias")
        yield from attention_weights(of_layer, attention + "attention.")
        for number, linear in ((1, 1), (2, 3)):
            yield f"{feed_forward}{linear}.weight", of_layer.pop(f"feed_forward.w{number}")
            yield f"{feed_forward}{linear}.bias", of_layer.pop(f"feed_forward.b{number}")

    places_of_biases = ("u", "v")


def attention_weights(of_layer, place):
    query, key, value = of_layer.pop("attention.qkv").chunk(3)
    for name, weight in (("attention_q", query), ("attention_kv", torch.cat((key, value))),
                         ("project_pos", of_layer.pop("attention.r")), ("project", of_layer.pop("attention.output"))):
        yield f"{place}{name}.0.weight", weight


class Model(torch.nn.Module):
    """Embedding, layers and output layer, with the weights of `weights`, which are Segue's."""

    def __init__(self, model, weights, mem_len):
        super().__init__()
        self.width = model["d_model"]
        self.table = torch.nn.Parameter(torch.zeros(VOCABULARY, self.width))
        self.bias = torch.nn.Parameter(torch.zeros(VOCABULARY))
        norm = model["block"].get("final_norm", False)
        self.final_norm = torch.nn.LayerNorm(self.width) if norm else torch.nn.Identity()
        self.body = {"gated": Gated, "reversible": Reversible}[model["block"]["kind"]](model, mem_len)
        named = self.named_as_here(model, weights)
        missing, unexpected = self.load_state_dict(named, strict=False)
        check(not unexpected, f"there is no place for {unexpected}")
        for name in missing:  # what is computed, the same modules once more, and biases of products to which Segue adds none
            check(name.endswith(("inv_freq", ".0.bias")) or ".irrev_blocks." in name, f"nothing for {name}")
        with torch.no_grad():
            for name, value in self.named_parameters():
                if name not in named:
                    value.zero_()

    def named_as_here(self, model, weights):
        """Weights, or gradients, of Segue by this model's names."""
        weights = dict(weights)
        named = {"table": weights.pop("embedding.table"), "bias": weights.pop("head.bias")}
        for name, place in zip(("attention.u", "attention.w"), self.body.places_of_biases):
            named[f"body.{place}"] = weights.pop(name)
        for name, ending in (("gain", "weight"), ("bias", "bias")):
            if f"final_norm.{name}" in weights:
                named[f"final_norm.{ending}"] = weights.pop(f"final_norm.{name}")
        for layer in range(model["n_layer"]):
            prefix = f"layers.{layer}."
            of_layer = {name.removeprefix(prefix): weights.pop(name) for name in list(weights) if name.startswith(prefix)}
            named.update((f"body.{name}", value) for name, value in self.body.weights_of(of_layer, layer))
            check(not of_layer, f"layer {layer} has more weights: {list(of_layer)}")
        check(not weights, f"there are more weights: {list(weights)}")
        return named

    def losses(self, streams, segment):
        """Of a segment of all streams, [B, T], after those before it."""
        inputs, targets = (streams[:, segment * TGT_LEN + shift:(segment + 1) * TGT_LEN + shift] for shift in (0, 1))
        x = torch.nn.functional.embedding(inputs, self.table) * math.sqrt(self.width)
        logits = self.final_norm(self.body(x.transpose(0, 1))) @ self.table.T + self.bias
        return torch.nn.functional.cross_entropy(logits.permute(1, 2, 0), targets, reduction="none")


def train(program, model, run, steps, **optimizer):
    config = program.config(
        "config.json", data={"path": "text"}, model=model, optimizer=optimizer, evaluation={"interval": 0},
        training={"batch_size": STREAMS, "tgt_len": TGT_LEN, "max_step": steps}, checkpoint={"interval": 0})
    program.run("train", config, "--run", run)
    return [load_file(program.path(run, "checkpoints", f"step-{steps:08d}", f"{name}.safetensors"))
            for name in ("weights", "optimizer")]


def compare_losses(program, name, model, run, streams):
    weights, _ = train(program, model, run, STEPS, lr=0.01)
    for mem_len in (MEM_LEN, 0):
        found = torch.tensor(block_losses(program, STREAMS, "--checkpoint", run, "--data", "text", "--split", "train",
                                          "--tgt-len", TGT_LEN, "--mem-len", mem_len))
        theirs = Model(model, weights, mem_len).eval()
        with torch.no_grad():
            expected = torch.cat([theirs.losses(streams, segment) for segment in range(SEGMENTS)], 1)
        check(found.shape == expected.shape, f"{name}: {found.shape} losses, expected {expected.shape}")
        largest = (found - expected).abs().max().item()
        what = f"{name}, {'with' if mem_len else 'without'} memory"
        print(f"{what}: losses from {found.min():.2f} to {found.max():.2f}, off by {largest:.1e} at most")
        check(largest < TOLERANCE, f"{what}: losses are off by {largest:.1e}")


def compare_gradients(program, name, model, run, streams):
    """Those of the third segment, which are the moments of an optimizer that averages over nothing and hardly moves."""
    segments = 3
    weights, moments = train(program, model, run, segments, lr=1e-12, beta1=0.0, clip=0.0)
    theirs = Model(model, weights, MEM_LEN).train()
    for segment in range(segments - 1):
        with torch.no_grad():
            theirs.losses(streams, segment)
    theirs.losses(streams, segments - 1).mean().backward()
    prefix = "first_moment."
    found = theirs.named_as_here(model, {moment.removeprefix(prefix): value for moment, value in moments.items()
                                         if moment.startswith(prefix)})
    parameters = dict(theirs.named_parameters())
    largest = 0.0
    for place, gradient in found.items():
        expected = parameters[place].grad
        largest = max(largest, ((gradient - expected).abs().max() / expected.abs().max()).item())
    print(f"{name}: gradients of {len(found)} weights, off by {largest:.1e} of the largest in each at most")
    check(largest < TOLERANCE, f"{name}: gradients are off by {largest:.1e}")


def main():
    torch.set_num_threads(1)
    program = Program()
    tokens = random.Random(4).choices(range(VOCABULARY), k=STREAMS * (SEGMENTS * TGT_LEN + 1))
    program.prepare_tokens("text", VOCABULARY, train=tokens)
    streams = torch.tensor(tokens).view(STREAMS, -1)
    for number, (name, changes) in enumerate(MODELS.items()):
        compare_losses(program, name, BASE | changes, f"run-{number}", streams)
        compare_gradients(program, name, BASE | changes, f"slow-{number}", streams)


main()
