"""Models whose layers keep keys and values: what they learn from, what an evaluation keeps of them, and where a run of one
kind of memory begins that had another."""

from program import KEYS_VALUES, TINY_MODEL, Program, check, evaluate, metrics, refused

CONFIG = 3
STEPS = 20
STREAMS = 3


def write_config(program, name, model):
    return program.config(name, data={"path": "text"}, model=TINY_MODEL | model, optimizer={"lr": 0.002},
                          training={"batch_size": STREAMS, "tgt_len": 16, "max_step": STEPS, "log_interval": 1},
                          evaluation={"interval": STEPS})


def losses(program, run):
    return [line["loss"] for line in metrics(program.path(run)) if "evaluation" not in line]


def close(a, b):
    return abs(a - b) <= 1e-5 * abs(b)


def test_rows_stay_as_the_weights_of_their_time_made_them(program):
    """The first segment has no memory; that of the second was made before the first update."""
    kept, states = losses(program, "kept"), losses(program, "states")
    check(kept[0] == states[0], f"the first loss: {kept[0]}, and {states[0]} of hidden states")
    check(all(a != b for a, b in zip(kept[1:], states[1:])), "the same losses as with hidden states")


def test_an_evaluation_may_keep_what_training_did(program):
    for options in ([], ["--mem-len", 60], ["--tgt-len", 5], ["--warm-up", "auto", "--set", "model.memory.initial=zeros"]):
        cached, as_trained = (
            evaluate(program, "--checkpoint", "kept", "--data", "text", "--split", "valid", "--memory", memory, *options)
            for memory in ("kv_cache", "as_trained"))
        check(close(as_trained["loss"], cached["loss"]), f"{options}: {as_trained['loss']}, cached {cached['loss']}")
    refused(program, CONFIG, "eval", "--checkpoint", "kept", "--data", "text", "--set", "model.memory.kind=hidden_states",
            says=["model.memory.kind", "how weights are used"])
    program.run("generate", "--checkpoint", "kept", "--prompt", "a", "--tokens", 40)


def test_a_run_goes_on_with_its_kind_alone(program):
    for run, other in (("kept", "hidden_states"), ("states", "keys_values")):
        own = {"hidden_states": "keys_values", "keys_values": "hidden_states"}[other]
        refused(program, CONFIG, "train", "--run", run, "--resume", "--set", f"model.memory.kind={other}",
                says=[f'cannot resume with model.memory.kind: "{own}" -> "{other}"', "training.init_from"])


def test_weights_begin_a_run_of_either_kind(program):
    for config, weights in (("kept.json", "states"), ("states.json", "kept")):
        run = f"from-{weights}"
        program.run("train", config, "--run", run, "--set", f"training.init_from={weights}", "--set", "model.dropout=0",
                    "--set", "model.dropatt=0", "--set", "training.max_step=2")
        check(losses(program, run)[0] < losses(program, weights)[0], f"{run}: begins at {losses(program, run)[0]}")


def test_other_programs_take_the_weights(program):
    said = "trained with model.memory.kind keys_values, the authors' PyTorch code has hidden_states"
    output, errors = program.run("export", "--checkpoint", "relative", "--output", "weights.safetensors", "--args",
                                 "args.json")
    check(said in output + errors, f"export says: {output}{errors}")
    program.run("import", "--from", "transformer-xl", "--model", "weights.safetensors", "--args", "args.json", "--output",
                "imported")
    own, imported = (evaluate(program, "--checkpoint", model, "--data", "text")["loss"] for model in ("relative", "imported"))
    check(own == imported, f"{own}, and {imported} imported again")


def test_inspect_says_what_streams_keep(program):
    for config, width in (("kept.json", 2 * TINY_MODEL["n_head"] * TINY_MODEL["d_head"]),
                          ("states.json", TINY_MODEL["d_model"])):
        output, _ = program.run("inspect", config, "--vocab-size", 20)
        kib = TINY_MODEL["n_layer"] * STREAMS * TINY_MODEL["mem_len"] * width * 4 / 1024
        line = next(line for line in output.splitlines() if line.startswith("  segment memory"))
        check(line.split(maxsplit=2)[2] == f"{kib:.1f} KiB", f"{config}: {line}")


def main():
    program = Program()
    program.prepare_text("text", 4000, seed=1)
    rope = {"position": {"kind": "rope"}}
    for name, model in (("kept", rope | KEYS_VALUES), ("states", rope), ("relative", KEYS_VALUES)):
        program.run("train", write_config(program, f"{name}.json", model), "--run", name)
    test_rows_stay_as_the_weights_of_their_time_made_them(program)
    test_an_evaluation_may_keep_what_training_did(program)
    test_a_run_goes_on_with_its_kind_alone(program)
    test_weights_begin_a_run_of_either_kind(program)
    test_other_programs_take_the_weights(program)
    test_inspect_says_what_streams_keep(program)


main()
