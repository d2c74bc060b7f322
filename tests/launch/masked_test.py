"""Models that predict masked tokens: what an evaluation tells of them, of the same tokens whatever the model, and what
refuses them by name."""

import json

from program import MASKED, TINY_MODEL, Program, check, read_evaluation, read_losses, refused

USAGE, CONFIG, DATA, CHECKPOINT = 2, 3, 4, 5


def write_config(program, name, model):
    return program.config(name, data={"path": "text"}, model=TINY_MODEL | model,
                          training={"batch_size": 3, "tgt_len": 16, "max_step": 20, "log_interval": 10},
                          evaluation={"interval": 20})


def evaluation_of(program, run, *options):
    """The output for people, the only result, and the losses of all tokens, None where there is none."""
    output, _ = program.run("eval", "--checkpoint", run, "--data", "text", "--split", "valid", "--name", "result", "--force",
                            "--per-token", *options)
    directory = program.path(run, "evaluations", "result")
    evaluation = read_evaluation(directory)
    result = evaluation["results"][0]
    nll = read_losses(program, f"{directory}/{result['per_token']}")["nll"]
    return output, evaluation, [loss if loss == loss else None for loss in nll]


def test_evaluation_tells_a_loss_of_masked_tokens(program):
    output, evaluation, nll = evaluation_of(program, "masked")
    result = evaluation["results"][0]
    check(evaluation["unit"] == "masked byte" and "a token is a masked byte" in output, output)
    check("perplexity" not in output and not {"perplexity", "bits_per_byte"} & result.keys(), f"{output}{result}")
    check(0 <= result["accuracy"] <= 1 and "accuracy" in output, f"accuracy of\n{output}")
    check(result["by_context"] == [] and "sample" not in evaluation, "by context, or a sample")
    scored = [loss for loss in nll if loss is not None]
    check(len(scored) == result["tokens"] and 0.1 < len(scored) / len(nll) < 0.2, f"{len(scored)} of {len(nll)} tokens")
    check(abs(sum(scored) / len(scored) - result["loss"]) < 1e-6, "mean of the losses by token")


def test_all_models_are_asked_for_the_same_tokens(program):
    _, _, nll = evaluation_of(program, "masked")
    for name in ("half", "near"):
        program.run("train", f"{name}.json", "--run", name)
        _, _, others = evaluation_of(program, name)
        check([a is None for a in nll] == [b is None for b in others], f"{name}: other tokens")


def test_what_takes_next_tokens_refuses_them(program):
    refused(program, CHECKPOINT, "generate", "--checkpoint", "masked", "--prompt", "a",
            says=["model.objective.kind", "next_token", "masked"])
    refused(program, CONFIG, "eval", "--checkpoint", "masked", "--data", "text", "--recompute", says=["recompute", "masked"])
    refused(program, CONFIG, "export", "--checkpoint", "masked", "--output", "weights",
            says=["model.objective.kind", "masked"], leaves_nothing_at="weights")
    program.run("train", "plain.json", "--run", "plain")
    refused(program, USAGE, "report", "masked", "plain", "--output", "page.html",
            says=["model.objective.kind", "masked", "plain"], leaves_nothing_at="page.html")


def test_marked_data_are_refused_before_the_run(program):
    examples = [{"examples": 20, "length": 17, "items": 2}]
    task = {"kind": "recall", "vocabulary": 20,
            "splits": [{"name": name, "parts": examples} for name in ("train", "valid")]}
    program.run("tasks", program.write("recall.json", json.dumps(task)), "--output", "recall")
    refused(program, DATA, "train", "masked.json", "--run", "marked", "--set", "data.path=recall",
            says=["recall", "marks", "masked"])


def main():
    program = Program()
    program.prepare_text("text", 4000, seed=1)
    write_config(program, "masked.json", MASKED)
    write_config(program, "half.json", MASKED | {"objective": {"kind": "masked", "mask_rate": 0.5, "mask_token_share": 0.8,
                                                               "random_token_share": 0.2}})
    write_config(program, "near.json", MASKED | {"mem_len": 0, "visibility": {
        "kind": "sparse", "patterns": [{"kind": "window", "window": 5}]}})
    write_config(program, "plain.json", {})
    program.run("train", "masked.json", "--run", "masked")
    test_evaluation_tells_a_loss_of_masked_tokens(program)
    test_all_models_are_asked_for_the_same_tokens(program)
    test_what_takes_next_tokens_refuses_them(program)
    test_marked_data_are_refused_before_the_run(program)


if __name__ == "__main__":
    main()
