"""Weights as other programs keep them: the authors' PyTorch module, names of NVIDIA, variables of TensorFlow."""

import json
import struct

import fake_torch
from fake_torch import Parameter, Storage, Tensor

Module = fake_torch.add_class("torch.nn.modules.module", "Module")
Dropout = fake_torch.add_class("torch.nn.modules.dropout", "Dropout", Module)
MemTransformerLM = fake_torch.add_class("mem_transformer", "MemTransformerLM", Module)


def load(path):
    """{name: Tensor} of a safetensors file."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: Tensor(Storage(data[slice(*entry["data_offsets"])], entry["dtype"]), entry["shape"])
            for name, entry in header.items()}


def module_of(cls, **attributes):
    module = cls()
    module.__dict__.update(_parameters={}, _buffers={}, _modules={}, **attributes)
    return module


def model_of_the_authors(tensors, args):
    """A module for each step of the tensors' names, tied tables once, and the attributes that the constructor keeps."""
    model, known = module_of(MemTransformerLM), {}
    for name, tensor in tensors.items():
        *path, last = name.split(".")
        part = model
        for step in path:
            part = part._modules.setdefault(step, module_of(Module))
        if name == "pos_emb.inv_freq":
            part._buffers[last] = tensor
        else:
            part._parameters[last] = known.setdefault(tensor.storage.data, Parameter(tensor))
    for name in ("n_token", "n_layer", "n_head", "d_model", "d_head", "d_embed", "tgt_len", "mem_len", "same_length",
                 "attn_type", "clamp_len", "sample_softmax", "ext_len"):
        setattr(model, name, args[name])
    model._modules["drop"] = module_of(Dropout, p=args["dropout"])
    for layer in model._modules["layers"]._modules.values():
        attention = layer._modules["dec_attn"]
        attention._modules["dropatt"] = module_of(Dropout, p=args["dropatt"])
        attention.pre_lnorm = args["pre_lnorm"]
    model._modules["crit"].cutoffs = args["cutoffs"] + [args["n_token"]]
    model._modules["crit"].div_val = args["div_val"]
    return model


def nvidia_names(tensors, args):
    """Tied tables are not in the file; projections of the embedding are there twice, own ones of tied clusters not."""
    tied = {f"crit.out_projs.{i}" for i, is_tied in enumerate(args["tie_projs"]) if is_tied}
    named = {}
    for name, tensor in tensors.items():
        if name.startswith("crit.out_layers.") and name.endswith("bias"):
            named[name.replace("out_layers", "out_layers_biases").removesuffix(".bias")] = tensor
        elif not name.startswith("crit.out_layers.") and name not in tied:
            named[name] = tensor
        if name.startswith("word_emb.emb_projs."):
            named[name.replace("word_emb.emb_projs", "crit.shared_out_projs")] = tensor
    return named


def nvidia_config(args):
    kept = {key: value for key, value in args.items() if key not in ("untie_r", "batch", "tied")}
    return kept | {"tie_weight": args["tied"]}


def tensorflow_variables(tensors, args):
    """Of {name: (shape, values)}."""
    def transposed(name):
        (rows, columns), values = tensors[name]
        return [columns, rows], [values[row * columns + column] for column in range(columns) for row in range(rows)]

    variables = {f"transformer/{ours}": tensors[ours] for ours in ("r_w_bias", "r_r_bias")}
    for layer in range(args["n_layer"]):
        to, attention, inner = f"transformer/layer_{layer}", f"layers.{layer}.dec_attn", f"layers.{layer}.pos_ff"
        for kernel in ("qkv", "r", "o"):
            variables[f"{to}/rel_attn/{kernel}/kernel"] = transposed(f"{attention}.{kernel}_net.weight")
        for number, place in ((1, 0), (2, 3)):
            variables[f"{to}/ff/layer_{number}/kernel"] = transposed(f"{inner}.CoreNet.{place}.weight")
            variables[f"{to}/ff/layer_{number}/bias"] = tensors[f"{inner}.CoreNet.{place}.bias"]
        for part, place in (("rel_attn", attention), ("ff", inner)):
            variables[f"{to}/{part}/LayerNorm/gamma"] = tensors[f"{place}.layer_norm.weight"]
            variables[f"{to}/{part}/LayerNorm/beta"] = tensors[f"{place}.layer_norm.bias"]
    for i in range(len(args["cutoffs"]) + 1):
        variables[f"transformer/adaptive_embed/cutoff_{i}/lookup_table"] = tensors[f"word_emb.emb_layers.{i}.weight"]
        variables[f"transformer/adaptive_embed/cutoff_{i}/proj_W"] = transposed(f"word_emb.emb_projs.{i}")
        variables[f"transformer/adaptive_softmax/cutoff_{i}/b"] = tensors[f"crit.out_layers.{i}.bias"]
    variables["transformer/adaptive_softmax/cutoff_0/proj"] = transposed("crit.out_projs.0")
    for ours, theirs in (("crit.cluster_weight", "cluster_W"), ("crit.cluster_bias", "cluster_b")):
        variables[f"transformer/adaptive_softmax/cutoff_0/{theirs}"] = tensors[ours]
    return variables


def tensorflow_args(args):
    kept = ("n_token", "n_layer", "n_head", "d_model", "d_head", "d_inner", "d_embed", "div_val", "cutoffs", "tgt_len",
            "mem_len")
    return {key: args[key] for key in kept} | {"proj_share_all_but_first": True}
