"""Configs of the pages and of the repository, made small: the same experiments within a moment."""

SMALL_MODEL = {"n_layer": 1, "n_head": 2, "d_model": 8, "d_head": 4, "d_inner": 8, "mem_len": 8}
SMALL_TRAINING = {"batch_size": 8, "tgt_len": 8, "max_step": 4}
NARROW_MODEL = {key: SMALL_MODEL[key] for key in ("d_model", "d_head", "d_inner")}


def small_comparison(comparison):
    """The same comparison of a few of its variants within a moment."""
    steps = SMALL_TRAINING["max_step"] * SMALL_TRAINING["batch_size"] * SMALL_TRAINING["tgt_len"]
    variants = [variant for variant in comparison["variants"] if "stages" not in str(variant.get("set"))]
    return {**comparison, "budget": {"amount": steps}, "variants": variants[:3], "seeds": [1, 2],
            "measure": {"max_tokens": 1000}}


def is_cut_to_measure(model):
    """Whether what it says of layers, heads or keys that are seen needs as many of them as it has."""
    return "layers" in model or model.get("visibility", {}).get("kind") in ("sparse", "adaptive")


def few_steps(config):
    """The same config of as many stages, each of one step."""
    training = config["training"]
    for step, stage in enumerate(training.get("stages", []), start=1):
        stage["until_step"] = step
    training["max_step"] = len(training.get("stages", [])) + 2
    return config


def narrow(config):
    """What a page shows of a config, with all that it says but of narrow layers, in few steps."""
    config.setdefault("data", {}).setdefault("path", "data/book")
    config.setdefault("model", {}).update(NARROW_MODEL)
    config.setdefault("training", {})["batch_size"] = 2
    config["evaluation"] = {"max_tokens": 1000}
    return few_steps(config)


def small(config):
    """The same experiment, of a size that takes a moment."""
    if "variants" in config:
        return small_comparison(config)
    config.get("data", {}).pop("vocab_size", None)
    if is_cut_to_measure(config["model"]):
        config["model"].update(NARROW_MODEL)
        config["schedule"] = {}
        return few_steps(config)
    for group, sizes in (("model", SMALL_MODEL), ("training", SMALL_TRAINING)):
        config[group].update({key: min(value, config[group].get(key, value)) for key, value in sizes.items()})
    for stage in config["training"].get("stages", []):
        stage.update(until_step=SMALL_TRAINING["max_step"] // 2, tgt_len=SMALL_TRAINING["tgt_len"])
    if "window" in (visibility := config["model"].get("visibility", {})):
        visibility["window"] = config["model"]["mem_len"] + 1
    if head := config["model"].get("head"):
        head.update(cutoffs=[8 * (i + 1) for i in range(len(head["cutoffs"]))], div_val=min(2, head["div_val"]))
    if "warmup_step" in config.get("schedule", {}):
        config["schedule"]["warmup_step"] = min(2, config["schedule"]["warmup_step"])
    config["evaluation"].update(max_tokens=1000, batch_size=2)
    if "tgt_len" in config["evaluation"]:
        config["evaluation"]["tgt_len"] = 8
    return config
