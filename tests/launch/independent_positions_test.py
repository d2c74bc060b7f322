"""Every kind of position but relative, which huggingface_test.py has, and kerple and distance_aware, which neither package
has, gives each token the loss that independent layers with the same weights give it: by segments with and without memory,
and in one pass over whole streams under a mask.

The layers are x-transformers', with its positions, memory, windows and attention; its layer norms have no biases, so
PyTorch's take their place. It has no rows of distances on keys: for shaw, the attention of Hugging Face's DeBERTa with
its content-to-position term alone takes that of its attention. Skipped where Python lacks torch, safetensors,
x_transformers or transformers; run with torch 2.15.0, x-transformers 2.31.10 and transformers 4.57.6.
"""

import math
import random
import sys
import types
import warnings

from program import Program, block_losses, check

SKIPPED = 77
warnings.simplefilter("ignore")
try:
    import torch
    from safetensors.torch import load_file
    from transformers import DebertaV2Config
    from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention
    from x_transformers import Decoder, TransformerWrapper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

TOLERANCE = 1e-5
STREAMS, SEGMENTS, TGT_LEN, MEM_LEN, STEPS = 4, 6, 16, 24, 10
VOCABULARY = 60
USUAL_BASE = 10000  # of x-transformers, which takes others as a factor, to the power of width / (width - 2)
ENTERING = ("sinusoidal", "learned")  # with the embedding, counted from a segment's first token

BASE = {"n_layer": 2, "n_head": 4, "d_model": 32, "d_head": 12, "d_inner": 48, "mem_len": MEM_LEN, "dropout": 0.0,
        "init": {"init_std": 0.2}}
PRE_NORM = {"pre_lnorm": True, "final_norm": True}
WINDOW = {"kind": "window", "window": 10}
MODELS = {
    "none": {"position": {"kind": "none"}},
    "sinusoidal": {"position": {"kind": "sinusoidal"}},
    "learned": {"position": {"kind": "learned"}},
    "rope": {"position": {"kind": "rope"}},
    "rope of half a head, base 500": {"position": {"kind": "rope", "rotary_share": 0.5, "rotary_base": 500}},
    "alibi, 4 heads": {"position": {"kind": "alibi"}},
    "alibi, 3 heads": {"position": {"kind": "alibi"}, "n_head": 3},
    "alibi, 12 heads": {"position": {"kind": "alibi"}, "n_head": 12},
    "t5": {"position": {"kind": "t5"}},
    "t5, 8 buckets to 20": {"position": {"kind": "t5", "t5_buckets": 8, "t5_max_distance": 20}},
    "shaw": {"position": {"kind": "shaw"}},
    "none, layer norm first": {"position": {"kind": "none"}, "block": PRE_NORM},
    "rope, layer norm first": {"position": {"kind": "rope"}, "block": PRE_NORM},
    "t5, layer norm first": {"position": {"kind": "t5"}, "block": PRE_NORM},
    "none, window": {"position": {"kind": "none"}, "visibility": WINDOW},
    "rope, window": {"position": {"kind": "rope"}, "visibility": WINDOW},
    "alibi, window": {"position": {"kind": "alibi"}, "visibility": WINDOW},
    "t5, window": {"position": {"kind": "t5"}, "visibility": WINDOW},
    "shaw, window": {"position": {"kind": "shaw"}, "visibility": WINDOW},
    "sinusoidal, window": {"position": {"kind": "sinusoidal"}, "visibility": WINDOW},
}


def window_of(model):
    """The keys that a query sees, or None."""
    return model.get("visibility", {}).get("window")


class RowsOnKeys(torch.nn.Module):
    """DeBERTa's attention in the place of x-transformers', with a row for every distance back to earlier keys."""

    def __init__(self, model, rows):
        super().__init__()
        self.attention = DisentangledSelfAttention(DebertaV2Config(
            hidden_size=model["d_model"], num_attention_heads=model["n_head"], attention_head_size=model["d_head"],
            relative_attention=True, pos_att_type=["c2p"], max_relative_positions=rows, position_buckets=-1,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
        width = model["n_head"] * model["d_head"]
        self.attention.pos_key_proj = torch.nn.Identity()  # the rows are there, not what they would be made of
        self.distances = torch.nn.Parameter(torch.empty(2 * rows, width))  # from -rows on
        self.to_out = torch.nn.Linear(width, model["d_model"], bias=False)
        self.window = window_of(model)

    def forward(self, x, mem=None, attn_mask=None, **_):
        read = x if mem is None else torch.cat((mem, x), 1)
        keys = read.shape[1]
        sees = torch.ones(keys, keys, dtype=torch.bool).tril().triu(1 - (self.window or keys))
        if attn_mask is not None:
            sees &= attn_mask
        heard, _ = self.attention(read, sees[None, None], rel_embeddings=self.distances)
        return self.to_out(heard[:, -x.shape[1]:]), types.SimpleNamespace()


def position_arguments(model):
    """Of x-transformers' layers."""
    position = model["position"]
    if position["kind"] == "rope":
        width = int(position.get("rotary_share", 1) * model["d_head"])
        factor = (position.get("rotary_base", USUAL_BASE) / USUAL_BASE) ** ((width - 2) / width)
        return {"rotary_pos_emb": True, "rotary_emb_dim": width, "rotary_base_rescale_factor": factor}
    if position["kind"] == "alibi":
        return {"alibi_pos_bias": True}
    if position["kind"] == "t5":
        return {"rel_pos_bias": True, "rel_pos_num_buckets": position.get("t5_buckets", 32),
                "rel_pos_max_distance": position.get("t5_max_distance", 128)}
    return {}


def independent_model(model, rows_on_keys):
    pre_norm = model.get("block", {}).get("pre_lnorm", False)
    window = window_of(model)
    layers = Decoder(
        dim=model["d_model"], depth=model["n_layer"], heads=model["n_head"], attn_dim_head=model["d_head"],
        ff_mult=model["d_inner"] / model["d_model"], ff_custom_activation=torch.nn.ReLU(), pre_norm=pre_norm,
        attn_max_attend_past=window - 1 if window else None, verbose=False, **position_arguments(model))
    for norms, _, _ in layers.layers:
        norms[0 if pre_norm else 2] = torch.nn.LayerNorm(model["d_model"])
    if pre_norm:
        layers.final_norm = torch.nn.LayerNorm(model["d_model"])
    if rows_on_keys:
        for layer in range(model["n_layer"]):
            layers.layers[2 * layer][1] = RowsOnKeys(model, rows_on_keys)
    kind = model["position"]["kind"]
    return TransformerWrapper(
        num_tokens=VOCABULARY, max_seq_len=TGT_LEN, max_mem_len=model["mem_len"], attn_layers=layers,
        use_abs_pos_emb=kind in ENTERING, scaled_sinu_pos_emb=kind == "sinusoidal",
        to_logits=torch.nn.Linear(model["d_model"], VOCABULARY)).eval()


def attention_weights(model, of_layer, place):
    query, key, value = of_layer.pop("attention.qkv").chunk(3)
    yield f"{place}.to_out.weight", of_layer.pop("attention.output")
    if "attention.distances" not in of_layer:
        for name, weight in (("q", query), ("k", key), ("v", value)):
            yield f"{place}.to_{name}.weight", weight
        return
    rows = of_layer.pop("attention.distances")
    yield f"{place}.distances", torch.cat((torch.zeros_like(rows), rows))
    query = query * math.sqrt(2)  # scores of two terms are divided by that
    for name, weight in (("query", query), ("key", key), ("value", value)):
        yield f"{place}.attention.{name}_proj.weight", weight
        yield f"{place}.attention.{name}_proj.bias", torch.zeros(len(weight))


def layer_weights(model, of_layer, layer):
    norm = 0 if model.get("block", {}).get("pre_lnorm") else 2
    attention, feed_forward = (f"attn_layers.layers.{2 * layer + part}" for part in (0, 1))
    yield from attention_weights(model, of_layer, f"{attention}.1")
    for part, place in (("attention", attention), ("feed_forward", feed_forward)):
        yield f"{place}.0.{norm}.weight", of_layer.pop(f"{part}.norm.gain")
        yield f"{place}.0.{norm}.bias", of_layer.pop(f"{part}.norm.bias")
    for number, linear in ((1, "0.0"), (2, "2")):
        yield f"{feed_forward}.1.ff.{linear}.weight", of_layer.pop(f"feed_forward.w{number}")
        yield f"{feed_forward}.1.ff.{linear}.bias", of_layer.pop(f"feed_forward.b{number}")
    check(not of_layer, f"layer {layer} has more weights: {list(of_layer)}")


def other_weights(model, weights):
    """Of what is not in a layer, with the factors by which x-transformers multiplies."""
    table, width = weights.pop("embedding.table"), math.sqrt(model["d_model"])
    yield "token_emb.emb.weight", table * width
    yield "to_logits.weight", table
    yield "to_logits.bias", weights.pop("head.bias")
    if "embedding.places" in weights:
        yield "pos_emb.emb.weight", weights.pop("embedding.places") * width
    if model["position"]["kind"] == "sinusoidal":
        yield "pos_emb.scale", torch.ones(1)
    if "attention.buckets" in weights:
        biases = weights.pop("attention.buckets") / math.sqrt(model["d_head"])
        yield "attn_layers.rel_pos.relative_attention_bias.weight", biases
    if "final_norm.gain" in weights:
        yield "attn_layers.final_norm.weight", weights.pop("final_norm.gain")
        yield "attn_layers.final_norm.bias", weights.pop("final_norm.bias")


def with_weights_of_segue(model, path):
    """Every weight of the file in its place, and nothing drawn left."""
    weights = load_file(path)
    table_of_distances = weights.get("layers.0.attention.distances")
    theirs = independent_model(model, 0 if table_of_distances is None else len(table_of_distances))
    named = dict(other_weights(model, weights))
    for layer in range(model["n_layer"]):
        prefix = f"layers.{layer}."
        of_layer = {name.removeprefix(prefix): weights.pop(name) for name in list(weights) if name.startswith(prefix)}
        named.update(layer_weights(model, of_layer, layer))
    check(not weights, f"there are more weights: {list(weights)}")
    missing, unexpected = theirs.load_state_dict(named, strict=False)
    computed = {name for name, _ in theirs.named_buffers()}
    check(not unexpected and set(missing) <= computed, f"missing {missing}, unexpected {unexpected}")
    return theirs


def losses_of(logits, targets):
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")


def losses_by_segments(theirs, streams, with_memory):
    losses, memory = [], None
    for begin in range(0, SEGMENTS * TGT_LEN, TGT_LEN):
        inputs, targets = (streams[:, begin + shift:begin + shift + TGT_LEN] for shift in (0, 1))
        logits, remembered = theirs(inputs, mems=memory, return_mems=True)
        memory = remembered if with_memory else None
        losses.append(losses_of(logits, targets))
    return torch.cat(losses, 1)


def losses_in_one_pass(theirs, streams, with_memory):
    """Of all segments at once, each with what it remembers of those before it."""
    place = torch.arange(SEGMENTS * TGT_LEN)
    first_key = place - place % TGT_LEN - (MEM_LEN if with_memory else 0)
    sees = place[None, :] >= first_key[:, None]
    return losses_of(theirs(streams[:, :-1], attn_mask=sees), streams[:, 1:])


def compare(program, name, model, run, theirs, streams):
    for with_memory in (True, False):
        found = torch.tensor(block_losses(
            program, STREAMS, "--checkpoint", run, "--data", "text", "--split", "train", "--tgt-len", TGT_LEN,
            "--mem-len", MEM_LEN if with_memory else 0))
        ways = {"by segments": losses_by_segments}
        if model["position"]["kind"] not in ENTERING:
            ways["in one pass"] = losses_in_one_pass
        for way, losses in ways.items():
            expected = losses(theirs, streams, with_memory)
            check(found.shape == expected.shape, f"{name}: {found.shape} losses, expected {expected.shape}")
            largest = (found - expected).abs().max().item()
            what = f"{name}, {'with' if with_memory else 'without'} memory, {way}"
            print(f"{what}: losses from {found.min():.2f} to {found.max():.2f}, off by {largest:.1e} at most")
            check(largest < TOLERANCE, f"{what}: losses are off by {largest:.1e}")


def test_positions(program, streams):
    for number, (name, changes) in enumerate(MODELS.items()):
        model, run = BASE | changes, f"run-{number}"
        config = program.config(
            "config.json", data={"path": "text"}, model=model, optimizer={"lr": 0.01}, evaluation={"interval": 0},
            training={"batch_size": STREAMS, "tgt_len": TGT_LEN, "max_step": STEPS}, checkpoint={"interval": 0})
        program.run("train", config, "--run", run)
        weights = program.path(run, "checkpoints", f"step-{STEPS:08d}", "weights.safetensors")
        compare(program, name, model, run, with_weights_of_segue(model, weights), streams)


def main():
    torch.set_num_threads(1)
    program = Program()
    tokens = random.Random(4).choices(range(VOCABULARY), k=STREAMS * (SEGMENTS * TGT_LEN + 1))
    program.prepare_tokens("text", VOCABULARY, train=tokens)
    with torch.no_grad():
        test_positions(program, torch.tensor(tokens).view(STREAMS, -1))


main()
