"""Finds the weights of a Transformer-XL in what a program has saved around them: dictionaries, prefixes of names, and arguments
under one of several names.
"""

from torch_pickle import Object, OtherTensor, Refusal, Tensor, kind_of, one_line, require

# Where programs keep a model's state_dict; the first of these is taken.
WEIGHTS = ("model_state", "model_state_dict", "state_dict", "model", "module", "net", "network", "weights", "params")
ARGUMENTS = ("model_config", "model_args", "hyper_parameters", "hparams", "config", "cfg", "args", "arguments", "params")
DEEPEST, MOST_PLACES = 4, 10000
MOST_TABLES = 4  # that are named as the first one: a model has one

# Parts of names that stand for a wrapper around a module: torch.compile, FSDP, activation checkpoints.
WRAPPERS = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}
COUNTERS = {"n_averaged"}  # of torch.optim.swa_utils.AveragedModel, beside the weights of its module
FIRST_TABLE, OF_HUGGING_FACE = "word_emb.emb_layers.0.weight", "transformer."

# What each program's arguments may name, and has to.
NEEDED = {"n_token", "n_layer", "n_head", "d_model", "d_head", "d_inner", "tgt_len", "mem_len"}
KNOWN = NEEDED | {"d_embed", "dropout", "dropatt", "div_val", "cutoffs", "tie_projs", "sample_softmax", "same_length", "clamp_len",
                  "pre_lnorm", "attn_type", "ext_len", "adapt_inp"}
KNOWN_BY = {"transformer-xl": KNOWN | {"tied", "untie_r", "batch"}, "nvidia": KNOWN | {"tie_weight"}}


def tensors_in(value):
    """The tensors of a dictionary, by name; what lies beside them, as counters, is no weight."""
    if not isinstance(value, dict):
        return {}
    return {name: tensor for name, tensor in value.items()
            if isinstance(name, str) and name not in COUNTERS and isinstance(tensor, (Tensor, OtherTensor))}


def prefix_of(names):
    """What wrappers have put before all names: up to the first table, or to Hugging Face's own prefix of it."""
    for name in [name for name in names if name.endswith(FIRST_TABLE)][:MOST_TABLES]:
        prefix = name.removesuffix(FIRST_TABLE)
        for known in (prefix, prefix.removesuffix(OF_HUGGING_FACE)):
            if all(other.startswith(known) for other in names):
                return known
    return ""


def plain_names(names):
    """{name of the model's own: name in the file}."""
    plain = {}
    for name in names:
        own = ".".join(part for part in name.split(".") if part not in WRAPPERS)
        require(own not in plain, f"expected tensors of different names, found {one_line(name)} and {one_line(plain.get(own))}")
        plain[own] = name
    prefix = prefix_of(plain)
    return {name[len(prefix):]: old for name, old in plain.items()}


def source_of(names):
    if any(name.startswith("transformer.") for name in names):
        return "huggingface"
    if any(name.startswith("crit.out_layers_") for name in names):
        return "nvidia"
    if FIRST_TABLE in names:
        return "transformer-xl"
    refuse_parametrized(names)
    found = ", ".join(one_line(name) for name in sorted(names)[:3])
    raise Refusal(f"expected the tensors of a Transformer-XL, found others: {found}")


def refuse_parametrized(names):
    """Weights in a form that another program has to undo."""
    for name in names:
        last = name.rpartition(".")[2]
        require("flat_param" not in last, f"{one_line(name)}: weights that FSDP keeps in one piece; save them with "
                "StateDictType.FULL_STATE_DICT")
        require(".parametrizations." not in name and last not in ("weight_g", "weight_v", "weight_orig"),
                f"{one_line(name)}: a weight that is computed from parts, as by weight_norm; "
                "torch.nn.utils.parametrize.remove_parametrizations or remove_weight_norm, then save the state_dict again")
        require("lora_" not in name, f"{one_line(name)}: adapters beside weights; merge_and_unload() them, then save again")
        require(last not in ("qweight", "qzeros", "SCB", "_packed_params", "quant_map", "absmax"),
                f"{one_line(name)}: quantized weights, which are not read: take the weights that they were made of")


def state_dict_in(value):
    """The tensors of a dictionary, or of the one in it, whatever they are named."""
    places = sorted(places_of(value), key=lambda place: rank_of(place[0]))
    return places[0][1] if places else None


def places_of(value):
    """The dictionaries that hold tensors, in `value` and in dictionaries in it, each with the way to it."""
    places, waiting, seen = [], [((), value)], set()
    while waiting and len(seen) < MOST_PLACES:
        path, part = waiting.pop(0)
        if id(part) in seen:
            continue
        seen.add(id(part))
        tensors = tensors_in(part)
        if tensors:
            places.append((path, tensors))
        if isinstance(part, dict) and len(path) < DEEPEST:
            waiting += [((*path, key), inner) for key, inner in part.items() if isinstance(key, str) and isinstance(inner, dict)]
    return places


def rank_of(path):
    return (WEIGHTS.index(path[-1]) if path and path[-1] in WEIGHTS else len(WEIGHTS) if path else -1), len(path)


def is_of_the_model(tensors):
    try:
        source_of(plain_names(tensors))
    except Refusal:
        return False
    return True


def find_weights(value):
    """The tensors, and the arguments or None."""
    refuse_parts(value)
    places = places_of(value)
    found = sorted((place for place in places if is_of_the_model(place[1])), key=lambda place: rank_of(place[0]))
    if not found:
        if places:
            source_of(plain_names(min(places, key=lambda place: rank_of(place[0]))[1]))
        raise Refusal(f"expected a model, a state_dict or a checkpoint with model_state, found {kind_of(value)}")
    (path, tensors), *others = found
    require(not others or rank_of(others[0][0]) > rank_of(path), "expected the weights of one model, found those of "
            f"{' and '.join('.'.join(map(one_line, other)) for other, _ in found[:3])}: save one of them alone")
    plain = {new: tensors[old] for new, old in plain_names(tensors).items()}
    refuse_parametrized(plain)
    if "ds_version" in (value if isinstance(value, dict) else {}):
        empty = next((name for name, tensor in plain.items() if isinstance(tensor, Tensor) and 0 in tensor.shape), None)
        require(empty is None, f"{one_line(empty)}: has no elements, as DeepSpeed's ZeRO 3 keeps them elsewhere; zero_to_fp32.py of "
                "that checkpoint gathers them")
    return plain, find_arguments(value, source_of(plain))


def refuse_parts(value):
    ranks = value.get("mp_world_size") if isinstance(value, dict) else None
    require(not isinstance(ranks, int) or ranks <= 1, f"a part of a model that DeepSpeed has spread over {ranks} ranks; zero_to_fp32.py "
            "of that checkpoint gathers it")


def plain_arguments(arguments):
    """Without what is neither a number nor text nor a list of these."""
    require(isinstance(arguments, dict), f"expected the model's arguments, found {kind_of(arguments)}")

    def is_plain(value):
        return value is None or isinstance(value, (bool, int, float, str))

    return {name: value for name, value in arguments.items() if isinstance(name, str) and (
        is_plain(value) or (type(value) in (list, tuple) and all(map(is_plain, value))))}


def find_arguments(value, source):
    """NVIDIA's model_config as it is; of what other programs keep, what the model needs, if it is all there. Clusters that follow
    from the data set are not there."""
    if not isinstance(value, dict) or source not in KNOWN_BY:
        return None
    if value.get("model_config") is not None:
        return plain_arguments(value["model_config"])
    for name in ARGUMENTS:
        part = value.get(name)
        known = part if isinstance(part, dict) else {**part.attributes, **part.items} if isinstance(part, Object) else {}
        arguments = plain_arguments(known)
        arguments.setdefault("n_token", arguments.get("vocab_size"))
        if arguments.get("adaptive") and "cutoffs" not in arguments:
            continue
        if all(arguments.get(needed) is not None for needed in NEEDED):
            return {name: value for name, value in arguments.items() if name in KNOWN_BY[source]}
    return None
