"""What two runs must have in common, and what they need not."""

import array
import hashlib
import json
import math

# Of the clock and the machine, not of the training.
MEASURED_METRICS = ("time", "seconds", "tokens_per_second", "model_flops_per_second", "mfu", "exchange_seconds",
                    "exposed_exchange_seconds")
MEASURED_STATE = ("seconds",)


def metrics(run):
    """Every line of metrics.jsonl, without what was measured."""
    lines = []
    for text in (run / "metrics.jsonl").read_text().splitlines():
        lines.append({key: value for key, value in json.loads(text).items() if key not in MEASURED_METRICS})
    return lines


def state(checkpoint):
    everything = json.loads((checkpoint / "state.json").read_text())
    return {key: value for key, value in everything.items() if key not in MEASURED_STATE}


def is_pending(checkpoints, step):
    """The evaluation after that step is still to be made; of a step whose save was being replaced nobody can tell."""
    path = checkpoints / f"step-{step:08d}" / "state.json"
    return not path.exists() or json.loads(path.read_text()).get("evaluation_pending", False)


def digests(checkpoint):
    """Of weights, optimizer and memories."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(checkpoint.glob("*.safetensors"))}


def difference_of_steady(run, reference, step):
    """What differs, in words, or None: nothing may."""
    last = f"checkpoints/step-{step:08}"
    if digests(run / last) != digests(reference / last):
        expected, found = digests(reference / last), digests(run / last)
        names = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
        return f"other bits in {', '.join(names)} of {last}"
    if state(run / last) != state(reference / last):
        return f"{last}/state.json differs: {state(run / last)}, expected {state(reference / last)}"
    if metrics(run) != metrics(reference):
        return "metrics.jsonl differs"
    if (run / "checkpoints/best").readlink() != (reference / "checkpoints/best").readlink():
        return "another checkpoint is marked best"
    return None


def weights(checkpoint):
    """All numbers of weights.safetensors, which are float32."""
    content = (checkpoint / "weights.safetensors").read_bytes()
    return array.array("f", content[8 + int.from_bytes(content[:8], "little"):])


def difference_of_elastic(run, reference, step):
    """The widest difference between the losses of two runs, relative, or between their weights at the end; infinite when
    they are not of the same steps."""
    found, expected = metrics(run), metrics(reference)
    places = [[(line["step"], line.get("evaluation")) for line in lines] for lines in (found, expected)]
    if places[0] != places[1]:
        return math.inf
    of_losses = max(abs(a["loss"] - b["loss"]) / abs(b["loss"]) for a, b in zip(found, expected))
    last = f"checkpoints/step-{step:08}"
    return max(of_losses, *(abs(a - b) for a, b in zip(weights(run / last), weights(reference / last), strict=True)))
