"""segue eval as a job: sweeps, results that do not depend on the batch, where they are written, and what is refused."""

import csv
import json
import math
import os
import re
import shutil
import subprocess

from program import TINY_MODEL, Program, check, evaluate, read_evaluation, read_losses, refused

USAGE, CONFIG, DATA, CHECKPOINT, FILE = 2, 3, 4, 5, 6


def given(*more):
    return ["--checkpoint", "run", "--data", "text", *more]


def test_losses_do_not_depend_on_the_batch(program):
    losses = [evaluate(program, *given("--warm-up", "auto", "--batch-size", batch))["loss"] for batch in (1, 4, 10)]
    check(max(losses) - min(losses) <= 1e-6 * losses[0], f"batch 1, 4, 10: losses {losses}")


def test_a_sweep_is_written_whole(program):
    options = given("--mem-len", "0,8,24", "--warm-up", "auto", "--name", "sweep", "--per-token")
    output, errors = program.run("eval", *options)
    for length in (0, 8, 24):
        cached = "segment memory" if length == 0 else "KV cache"
        said = rf"segments of \d+, mem_len {length}: memory [\d.]+ [KM]iB on cpu: weights .* {cached} .* activations"
        check(re.search(said, errors), f"what mem_len {length} takes: {errors}")
    directory = program.path("run", "evaluations", "sweep")
    evaluation = read_evaluation(directory)
    results = evaluation["results"]
    check([result["mem_len"] for result in results] == [0, 8, 24], "memory lengths")
    check(evaluation["trained"]["mem_len"] == 24 and evaluation["warm_up"] == "auto", "lengths of training")
    check(evaluation["command"].endswith("--mem-len 0,8,24 --warm-up auto --per-token --name sweep"), evaluation["command"])
    check(evaluation["baseline"] == 2 and "  as trained  " in output, f"the baseline of\n{output}")
    check(all(len(line) <= 80 for line in output.splitlines()), f"wider than 80 columns:\n{output}")
    for result in results:
        above = result["above_baseline"]["loss"]
        check(math.isclose(above, result["loss"] - results[2]["loss"], abs_tol=1e-9), f"above the baseline: {above}")
    for result in results:
        alone = evaluate(program, *given("--mem-len", result["mem_len"], "--warm-up", "auto"))
        check(alone["loss"] == result["loss"], f"mem_len {result['mem_len']}: another loss in a sweep")
        nll = read_losses(program, os.path.join(directory, result["per_token"]))["nll"]
        check(nll[0] != nll[0] and all(loss > 0 for loss in nll[1:]), "tokens that are not scored")
        check(abs(sum(nll[1:]) / result["tokens"] - result["loss"]) < 1e-6, "mean of the losses by token")
        for table in ("by_position", "by_context"):
            check(sum(line["tokens"] for line in result[table]) == result["tokens"], f"tokens {table}")
        offset = evaluation["sample"]["offset"]
        sample = [token["nll"][results.index(result)] for token in evaluation["sample"]["tokens"]]
        check(len(sample) > 100 and nll[offset:offset + len(sample)] == sample, "losses of the sample")
    with open(program.path("text.txt")) as file:
        check("".join(token["text"] for token in evaluation["sample"]["tokens"]) in file.read(), "text of the sample")
    with open(os.path.join(directory, "evaluation.csv")) as file:
        lines = list(csv.DictReader(file))
    check([float(line["loss"]) for line in lines] == [result["loss"] for result in results], "evaluation.csv")


def test_a_config_has_the_flags_as_keys(program):
    settings = {"checkpoint": "run", "data": "text", "mem_len": [8], "warm_up": "auto", "batch_size": 3}
    program.config("eval.json", **settings)
    expected = evaluate(program, *given("--mem-len", 8, "--warm-up", "auto", "--batch-size", 3))["loss"]
    check(evaluate(program, "--config", "eval.json")["loss"] == expected, "a config gives another loss than flags")
    check(evaluate(program, "--config", "eval.json", "--mem-len", 0)["mem_len"] == 0, "a flag does not replace a key")
    program.config("eval.json", **settings, memlen=8)
    refused(program, CONFIG, "eval", "--config", "eval.json", says=["eval.json", "memlen", "mem_len"])
    program.config("eval.json", **settings, set=["model.memory.initial=zeros"])
    program.run("eval", "--config", "eval.json", "--set", "model.position.clamp_len=5", "--name", "both")
    said = read_evaluation(program.path("run", "evaluations", "both"))["set"]
    check(said == ["model.memory.initial=zeros", "model.position.clamp_len=5"], f"a config and --set: {said}")
    program.config("eval.json", **settings, set=["model.memory.initial=zeros", "model.n_layer=3"])
    _, errors = program.run("eval", "--config", "eval.json", expect=CONFIG)
    check("eval.json: set model.n_layer=3: " in errors and "--set" not in errors, errors)


def test_a_model_is_used_otherwise(program):
    warm_up = ["--warm-up", 0]
    flagged = evaluate(program, *given(*warm_up, "--mem-len", 8, "--same-length", "--clamp-len", 5))
    overridden = evaluate(program, *given(
        *warm_up, "--set", "model.mem_len=8", "--set", "model.visibility.same_length=true", "--set",
        "model.position.clamp_len=5"))
    for key in ("loss", "mem_len", "same_length", "clamp_len", "context"):
        check(overridden[key] == flagged[key], f"{key}: {overridden[key]} by --set, {flagged[key]} by a flag")

    output, _ = program.run("eval", *given(*warm_up, "--set", "model.memory.initial=zeros", "--name", "zeros"))
    evaluation = read_evaluation(program.path("run", "evaluations", "zeros"))
    check(evaluation["set"] == ["model.memory.initial=zeros"], "evaluation.json does not say what was set")
    check("--set model.memory.initial=zeros" in evaluation["command"], evaluation["command"])
    check("model.memory.initial=zeros" in output, output)
    for options, is_trained in (([], True), (["--set", "model.memory.initial=zeros"], False)):
        output, _ = program.run("eval", *given(*warm_up, "--mem-len", "8,24", *options))
        check(("Differences are to the lengths of training" in output) == is_trained, f"{options}: {output}")
    check(evaluation["results"][0]["loss"] != evaluate(program, *given(*warm_up))["loss"], "zeros are not attended to")

    for override, says in (("model.n_layer=3", ["--set model.n_layer=3", "how weights are used"]),
                           ("model.dropout=0.5", ["--set model.dropout=0.5", "how weights are used"]),
                           ("training.tgt_len=3", ["--set training.tgt_len=3", "how weights are used"]),
                           ("model.mem_length=3", ["did you mean model.mem_len"]),
                           ("model.mem_len=-1", ["model.mem_len", ">= 0", "-1"]),
                           ("model={}", ["--set model={}", "how weights are used"]),
                           ("model.visibility.window=8", ["model.visibility.window", 'model.visibility.kind = "causal"', "found 8"]),
                           ("model.mem_len", ["KEY=VALUE"])):
        refused(program, CONFIG, "eval", *given("--set", override), says=says)
    refused(program, CONFIG, "eval", *given("--set", "model.mem_len=8", "--mem-len", 8),
            says=["--mem-len and --set model.mem_len", "one of them"])
    refused(program, CONFIG, "eval", *given("--set", 'model={"mem_len": 64}', "--mem-len", 8),
            says=["--mem-len and --set model.mem_len", "one of them"])
    refused(program, CONFIG, "eval", *given("--mem-len", "8,16,8"), says=["--mem-len: expected each length once, found 8 again"])
    refused(program, CONFIG, "eval", *given("--mem-len", "8,0", "--same-length"), says=["segue eval: --mem-len: expected at least 1"])
    refused(program, CONFIG, "eval", *given("--set", "model.mem_len=0", "--same-length"),
            says=["segue eval: model.mem_len: expected at least 1"])
    refused(program, CONFIG, "eval", *given("--set", "model.n_layer=3", "--recompute"), says=["how weights are used"])
    refused(program, CONFIG, "eval", *given("--set", "model.position.rotary_scaling=2"),
            says=["model.position.rotary_scaling", "expected 1.0", '"relative"', "found 2.0"])
    for key, value in (("model.mem_len", 8), ("model.memory.initial", "zeros"), ("model.visibility.same_length", "true")):
        refused(program, CONFIG, "eval", *given("--set", f"{key}={value}", "--recompute"), says=[f"--recompute and --set {key}"])


def test_training_evaluates_with_its_own_lengths(program):
    config = program.config("own.json", data={"path": "text"}, model=TINY_MODEL, checkpoint={"interval": 0},
                            evaluation={"interval": 3, "batch_size": 4, "tgt_len": 8, "mem_len": 4},
                            training={"batch_size": 4, "tgt_len": 16, "max_step": 3})
    program.run("train", config, "--run", "own", "--quiet")
    with open(program.path("own", "metrics.jsonl")) as file:
        logged = next(line for line in map(json.loads, file) if "evaluation" in line)
    lengths = ["--split", "valid", "--batch-size", 4, "--tgt-len", 8]
    for mem_len, same in ((4, True), (24, False)):
        loss = evaluate(program, "--checkpoint", "own", "--data", "text", *lengths, "--mem-len", mem_len)["loss"]
        check((abs(loss - logged["loss"]) <= 1e-6 * loss) == same, f"mem_len {mem_len}: {loss}, in training {logged}")


def test_effective_context(program):
    """Of a model that was trained with 24 rows of memory, against itself: the pool is as good as it is."""
    files = [program.path("run", "evaluations", "sweep", f"losses-mem-{length}.h5") for length in (0, 8, 24)]
    output, _ = program.run("effective-context", "--model", "tiny", *files, "--model", "again", *files, "--ratios",
                            "0.1,1", "--threshold", 1e-9, "--output", "effective.json")
    with open(program.path("effective.json")) as file:
        comparison = json.load(file)
    first, second = comparison["models"]
    check(first["curves"] == second["curves"] and list(first["effective_context"]) == ["0.1", "1.0"], f"{comparison}")
    check([point["context"] for point in first["curves"][0]["points"]] == [16, 24], "contexts are memory and segment")
    check(output.splitlines()[1].split()[0] == "tiny", output)
    evaluate(program, *given("--split", "valid", "--per-token"))
    refused(program, DATA, "effective-context", "--model", "mixed", files[0], "evaluated/losses-mem-24.h5",
            says=["losses of split valid of text, but ", "losses-mem-0.h5 has those of split test of text"])
    refused(program, USAGE, "effective-context", "--model", "alone", files[0], says=["alone", "two files"])


def test_paired_differences(program):
    """Of a sweep's files they are those that the sweep itself states."""
    files = [program.path("run", "evaluations", "sweep", f"losses-mem-{length}.h5") for length in (0, 8, 24)]
    output, _ = program.run("paired-difference", *files, "--output", "paired.json", "--csv", "paired.csv")
    with open(program.path("paired.json")) as file:
        comparison = json.load(file)
    results = read_evaluation(program.path("run", "evaluations", "sweep"))["results"]
    for result, evaluation in zip(results, comparison["evaluations"]):
        for key in ("mem_len", "tgt_len", "unit"):
            check(evaluation[key] == result[key], f"{key} of {evaluation}")
        for key in ("loss", "confidence95", "bits_per_byte"):
            check(math.isclose(evaluation[key], result[key], rel_tol=1e-6), f"{key}: {evaluation[key]}, not {result[key]}")
    pairs = {pair["first"] + pair["second"]: pair for pair in comparison["differences"]}
    check(list(pairs) == ["ab", "ac", "bc"], f"pairs: {list(pairs)}")
    for pair, result in (("ac", results[0]), ("bc", results[1])):
        for key in ("loss", "confidence95"):
            check(math.isclose(pairs[pair][key], result["above_baseline"][key], rel_tol=1e-4), f"{key} of {pairs[pair]}")
    with open(program.path("paired.csv")) as file:
        lines = list(csv.DictReader(file))
    check([line["first"] + line["second"] for line in lines] == ["a", "b", "c", *pairs], f"{lines}")
    check(float(lines[-1]["loss"]) == pairs["bc"]["loss"], "the difference in paired.csv")
    check("95 % interval" in output and output.count(" - ") == 3, output)
    evaluate(program, *given("--max-tokens", 300, "--warm-up", "auto", "--per-token"))
    refused(program, DATA, "paired-difference", files[0], "evaluated/losses-mem-24.h5", "--output", "refused.json",
            says=["evaluated/losses-mem-24.h5", "scores 300 tokens", "losses-mem-0.h5", "--max-tokens"],
            leaves_nothing_at="refused")
    refused(program, USAGE, "paired-difference", files[0], says=["2 to 26", "found 1"])
    refused(program, USAGE, "paired-difference", *files, files[1], says=["expected each file once", "losses-mem-8.h5 again"])


def test_python_reads_and_writes_losses(program):
    try:
        import h5py
    except ImportError:
        return print("h5py is not installed: the files of losses are not read with it")
    with h5py.File(program.path("run", "evaluations", "sweep", "losses-mem-24.h5")) as file:
        check(file.attrs["context"] == 40 and file.attrs["format"] == b"segue-per-token", "attributes in Python")
        nll, targets = file["nll"][:], file["targets"][:]
    check(nll.dtype == "float32" and targets.dtype == "int32" and nll.shape == targets.shape, "losses in Python")
    for context, gain in ((16, 0.0), (24, 1.0), (40, 1.0)):
        with h5py.File(program.path(f"others-{context}.h5"), "w") as file:
            file["nll"] = nll.astype("float64") - gain
            file["targets"] = targets.astype("int64")
            file.attrs["split"] = "test"
    program.run("effective-context", "--model", "other", *(f"others-{c}.h5@{c}" for c in (16, 24, 40)), "--output",
                "others.json")
    with open(program.path("others.json")) as file:
        lengths = json.load(file)["models"][0]["effective_context"]
    check(set(lengths.values()) == {16}, f"effective context of another program's losses: {lengths}")


def test_the_data_of_the_run_and_a_name(program):
    """Without --data and --name: on what the run was trained on, and where its report finds it."""
    directory = program.path("run", "evaluations", "eval-test-mem_len-0-8-warm_up-auto")
    output, errors = program.run("eval", "--checkpoint", "run", "--mem-len", "0,8", "--warm-up", "auto")
    check("data: text, which the model was trained on" in errors, errors)
    check(os.path.relpath(directory, program.directory) + "/evaluation.json" in output, output)
    evaluation = read_evaluation(directory)
    check(evaluation["data"] == "text" and "--data text" in evaluation["command"], evaluation["command"])
    program.run("report", "run", "--output", "run.html")
    with open(program.path("run.html")) as file:
        check("eval-test-mem_len-0-8-warm_up-auto" in file.read(), "the report of the run")
    _, errors = program.run("eval", "--checkpoint", "run", "--mem-len", "0,8", "--warm-up", "auto", "--quiet")
    check(errors == "", f"--quiet: {errors}")
    program.run("eval", "--checkpoint", "run/checkpoints/step-00000030", "--batch-size", 3, "--quiet")
    program.run("prepare", "--input", "text.txt", "--split", "0.5,0.1,0.4", "--output", "else")
    program.run("eval", "--checkpoint", "run", "--data", "else", "--quiet")
    names = os.listdir(program.path("run", "evaluations"))
    check("eval-test-step-00000030-batch_size-3" in names and "eval-test-data-else" in names, f"names: {names}")
    program.run("eval", "--checkpoint", "run", "--per-token", "--quiet")
    check(os.path.exists(program.path("run", "evaluations", "eval-test-per_token", "losses-mem-24.h5")), "losses without a name")
    os.rename(program.path("text"), program.path("moved"))
    refused(program, USAGE, "eval", "--checkpoint", "run", says=["--data", "text, which", "was trained on, is not here"])
    program.run("prepare", "--input", "text.txt", "--split", "0.5,0.1,0.4", "--output", "text")
    _, errors = program.run("eval", "--checkpoint", "run", "--batch-size", 2)
    check("text was made anew since the model was trained on it: split train has other tokens than then" in errors, errors)
    check("--data" in errors and "xxh3" not in errors and "which the model was trained on" not in errors, errors)
    shutil.rmtree(program.path("text"))
    os.rename(program.path("moved"), program.path("text"))
    shutil.copytree(program.path("run", "checkpoints", "step-00000030"), program.path("copy"))
    output, _ = program.run("eval", "--checkpoint", "copy", "--quiet")
    check("written to" not in output, f"of no run: {output}")
    refused(program, CONFIG, "eval", "--checkpoint", "copy", "--per-token", says=["--per-token", "--output", "lies in no run"])


def test_streams_shorter_than_the_memory(program):
    """Whose losses with memory would be those without."""
    _, errors = program.run("eval", *given("--mem-len", "0,512", "--batch-size", 8, "--max-tokens", 100))
    check("no more than the memory of 512, which never fills: lower --batch-size and raise --max-tokens\n" in errors, errors)
    _, errors = program.run("eval", *given("--mem-len", 64, "--batch-size", 8, "--max-tokens", 100))
    check("the memory of 64, which never fills: lower --batch-size or raise --max-tokens\n" in errors, errors)
    _, errors = program.run("eval", *given("--mem-len", 512, "--batch-size", 8))
    check("the memory of 512, which never fills: lower --batch-size\n" in errors, errors)
    _, errors = program.run("eval", *given("--mem-len", 1000000, "--batch-size", 1))
    check("the longest of 1 stream has " in errors and "memory of 1,000,000, which never fills: lower --mem-len\n" in errors, errors)
    _, errors = program.run("eval", *given("--mem-len", 512, "--batch-size", 1, "--max-tokens", 100))
    check("memory of 512, which never fills: raise --max-tokens\n" in errors, errors)
    _, errors = program.run("eval", *given("--mem-len", 8))
    check("never fills" not in errors, errors)
    _, errors = program.run("eval", *given("--mem-len", 8, "--tgt-len", 100000, "--batch-size", 2))
    check("--tgt-len: 100,000 is more than the longest of 2 streams of split test has (" in errors, errors)
    _, errors = program.run("eval", *given("--mem-len", 8, "--warm-up", 1000000))
    check("--warm-up: 1,000,000 is more than split test has to score (" in errors, errors)


def test_damage_and_the_best(program):
    """The newest intact checkpoint is called so, and the best is named only where it is whole."""
    config = program.config("best.json", data={"path": "text"}, model=TINY_MODEL, evaluation={"interval": 30},
                            training={"batch_size": 4, "tgt_len": 16, "max_step": 30}, checkpoint={"interval": 15})
    program.run("train", config, "--run", "hurt", "--quiet")
    checkpoints = program.path("hurt", "checkpoints")
    check(os.readlink(os.path.join(checkpoints, "best")) == "step-00000030", "another best")
    with open(os.path.join(checkpoints, "step-00000030", "weights.safetensors"), "r+b") as file:
        file.seek(-9, 2)
        file.write(b"damage")
    _, errors = program.run("eval", "--checkpoint", "hurt")
    check("taking the newest intact checkpoint, of step 15\n" in errors and "best" not in errors, errors)
    weights = "hurt/checkpoints/step-00000015/weights.safetensors"
    refused(program, CHECKPOINT, "eval", "--checkpoint", weights,
            says=["found a file of a checkpoint; did you mean hurt/checkpoints/step-00000015?"])
    refused(program, CHECKPOINT, "eval", "--checkpoint", "hurt/config.json", says=["found a file of a run; did you mean hurt?"])
    refused(program, CHECKPOINT, "eval", "--checkpoint", "hurt/checkpoints/step-00000020",
            says=["found nothing there; in hurt/checkpoints are step-00000015, step-00000030 and best"])
    refused(program, CHECKPOINT, "eval", "--checkpoint", "hurt/step-15", says=["did you mean hurt/checkpoints/step-00000015?"])
    refused(program, DATA, "eval", "--checkpoint", "hurt", "--data", "ones", says=["ones: there is no such dataset; did you mean one?"])
    refused(program, DATA, "eval", "--checkpoint", "hurt", "--data", "missing", says=["missing: there is no such dataset; beside it: ", "text"])
    refused(program, DATA, "eval", "--checkpoint", "hurt", "--data", "text/test-00000.h5", says=["found a file in it; did you mean text?"])


def test_results_in_place_of_losses(program):
    program.run("eval", *given("--mem-len", 8, "--per-token", "--name", "told", "--quiet"))
    result = "run/evaluations/told/evaluation.json"
    refused(program, DATA, "paired-difference", result, result,
            says=["found the result of an evaluation", "its losses: run/evaluations/told/losses-mem-8.h5"])
    refused(program, DATA, "paired-difference", "run/evaluations/told", result, says=["run/evaluations/told/losses-mem-8.h5"])
    refused(program, CONFIG, "train", result, says=["expected a training config, found the result of an evaluation"])
    program.run("eval", *given("--mem-len", 8, "--per-token", "--name", "valid", "--split", "valid", "--quiet"))
    refused(program, DATA, "paired-difference", "run/evaluations/told/losses-mem-8.h5", "run/evaluations/valid/losses-mem-8.h5",
            says=["valid/losses-mem-8.h5: losses of split valid of text, but run/evaluations/told/losses-mem-8.h5 has those of split test of text"])


def test_errors_come_before_warnings(program):
    _, errors = program.run("eval", *given("--batch-size", 10000), expect=DATA)
    check(" W " not in errors, errors)


def test_json_alone_is_printed(program):
    output, errors = program.run("eval", *given("--mem-len", "0,8", "--json"))
    printed = json.loads(output)
    check(printed["format"] == "segue-evaluation" and len(printed["results"]) == 2, output[:200])
    check("written to run/evaluations/eval-test-mem_len-0-8/evaluation.json" in errors, errors)
    check(printed == read_evaluation(program.path("run", "evaluations", "eval-test-mem_len-0-8")), "another than in the file")
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = subprocess.run([program.binary, "eval", *given("--json", "--quiet")], cwd=program.directory, stdout=full,
                                 stderr=subprocess.PIPE, text=True, check=False)
    check(process.returncode == FILE and process.stderr == "segue: standard output: cannot write all of it\n", process.stderr)


def test_a_result_that_nobody_named_need_not_be_kept(program):
    evaluations = program.path("run", "evaluations")
    if os.geteuid() == 0:
        os.rename(evaluations, evaluations + "-aside")
        program.write("run/evaluations", "")  # what is asked for there can be made by nobody
        restore = lambda: (os.remove(evaluations), os.rename(evaluations + "-aside", evaluations))
    else:
        os.chmod(evaluations, 0o555)
        restore = lambda: os.chmod(evaluations, 0o755)
    output, errors = program.run("eval", *given("--batch-size", 5))
    check("bits per byte" in output and "written to" not in output, output)
    check("the result is printed, but not saved" in errors, errors)
    refused(program, FILE, "eval", *given("--batch-size", 5, "--name", "asked"), says=["evaluations"])
    restore()


def test_windows(program):
    every = evaluate(program, *given("--recompute", "--tgt-len", 12, "--max-tokens", 200))
    check(every["mode"] == "recompute" and every["tokens"] == 200 and every["context"] == 12, f"{every}")
    check(len(every["by_position"]) == 12 and every["by_position"][-1]["tokens"] == 189, "the newest token of each")
    whole = evaluate(program, *given("--recompute", "--tgt-len", 12, "--stride", 12, "--max-tokens", 192))
    segments = evaluate(program, *given("--mem-len", 0, "--tgt-len", 12, "--warm-up", 0, "--max-tokens", 192))
    check(abs(whole["loss"] - segments["loss"]) < 1e-6, "windows side by side are segments without memory")


def test_documents_begin_with_empty_memory(program):
    options = given("--document-boundary", "\n")
    whole = [evaluate(program, *options, "--per-token", "--batch-size", batch)["loss"] for batch in (1, 7)]
    check(abs(whole[0] - whole[1]) <= 1e-6 * whole[0], f"documents, batch 1 and 7: losses {whole}")
    evaluation = read_evaluation(program.path("evaluated"))
    losses = read_losses(program, "evaluated/losses-mem-24.h5")
    check(evaluation["document_boundary"] == "\n", "document_boundary")
    check(losses["nll"][1:] == [nll for nll in losses["nll"] if nll == nll], "tokens that are not scored")
    starts = {}  # by its first token, the losses with which documents begin
    for before, token, nll in zip(losses["targets"], losses["targets"][1:], losses["nll"][1:]):
        if before == ord("\n"):
            starts.setdefault(token, []).append(nll)
    check(any(len(same) > 2 for same in starts.values()), "too few documents")
    for same in starts.values():
        check(max(same) - min(same) < 1e-5, "the first token of a document knows what came before")
    with open(program.path("text.txt")) as file:
        text = file.read()[-1200:]  # the split
    documents = text[:-1].count("\n") + 1
    check(evaluation["documents"] == documents, f"{evaluation['documents']} documents, expected {documents}")
    for typed in (r"\n", r"\x0a"):
        check(evaluate(program, *given("--document-boundary", typed, "--batch-size", 7))["loss"] == whole[1], f"{typed}: another loss")
    told, _ = program.run("eval", *given("--document-boundary", r"\n", "--quiet"))
    check(f"{documents} documents from empty memory" in told, told)
    check(read_evaluation(program.path("evaluated"))["documents"] == documents, "documents")
    check(evaluate(program, *given()) and read_evaluation(program.path("evaluated"))["documents"] is None, "documents of one text")
    program.run("prepare", "--train", "text.txt", "--test", program.write("one.txt", "abc def ghi jkl\nabc#"), "--output", "one")
    told, errors = program.run("eval", "--checkpoint", "run", "--data", "one", "--batch-size", 1, "--document-boundary", "#")
    check('split test is one document: "#" stands only at its end' in errors and "1 document from" in told, told + errors)
    refused(program, DATA, "eval", *given("--document-boundary", "#"),
            says=["document_boundary", 'found nowhere: "#"', f'what stands there: "\\n" ({documents} documents)'])
    refused(program, CONFIG, "eval", *given("--document-boundary", r"\xy"), says=["--document-boundary", "hexadecimal"])
    refused(program, CONFIG, "eval", *given("--recompute", "--memory", "as_trained"), says=["--recompute and --memory"])
    refused(program, CONFIG, "eval", *options, "--warm-up", 8, says=["--document-boundary and --warm-up"])


def test_a_position_table_has_an_end(program):
    config = program.config("table.json", data={"path": "text"}, model=dict(TINY_MODEL, position={"kind": "shaw"}),
                            evaluation={"interval": 0}, training={"batch_size": 2, "tgt_len": 16, "max_step": 1},
                            checkpoint={"interval": 0})
    program.run("train", config, "--run", "table", "--quiet")
    table = ["--checkpoint", "table", "--data", "text", "--max-tokens", 100]
    evaluate(program, *table, "--mem-len", 24)
    refused(program, CONFIG, "eval", *table, "--mem-len", "0,100", "--output", "beyond", leaves_nothing_at="beyond",
            says=["model.position.max_positions", "tgt_len = 16", "mem_len = 100"])


def test_an_evaluation_is_replaced_only_by_itself_or_on_demand(program):
    """What took hours is not lost to a short try of the same name."""
    file = program.path("run", "evaluations", "kept", "evaluation.json")
    for name, there in ((["--name", "kept"], "run/evaluations/kept"), (["--output", "kept"], "kept")):
        whole = given("--mem-len", "0,8", *name, "--quiet")
        program.run("eval", *whole)
        program.run("eval", *whole)
        short = given("--max-tokens", 64, *name)
        refused(program, USAGE, "eval", *short, leaves_nothing_at=".partial",
                says=[there + ": expected no evaluation or the same one, found that of: segue eval --checkpoint", "--mem-len 0,8",
                      f"--force replaces it, another {name[0]} keeps it"])
        check(len(read_evaluation(program.path(there))["results"]) == 2, f"{there} was replaced")
        refused(program, USAGE, "eval", *given("--mem-len", "0,8", "--split", "valid", *name), says=[there, "--force replaces it"])
        _, errors = program.run("eval", *short, "--force")
        check("replaces the evaluation that was in" in errors, errors)
        check(len(read_evaluation(program.path(there))["results"]) == 1, f"{there} was not replaced")
    program.write(file, "{")
    refused(program, USAGE, "eval", *given("--name", "kept"), says=["found one that cannot be read; --force"])


def test_learned_text_is_told_of(program):
    """Of another cut of the text that the run was trained on, and of none other."""
    for shares, split, says in (("0.1,0.1,0.8", "test", "run/checkpoints/step-00000030 was trained on 75 % of its text, in split "
                                 "train of text, which cuts the same sources elsewhere"), ("0.8,0.1,0.1", "test", None),
                                ("0.5,0.4,0.1", "test", None), ("0.5,0.4,0.1", "valid", "was trained on ")):
        program.run("prepare", "--input", "text.txt", "--split", shares, "--output", "cut", "--force")
        _, errors = program.run("eval", "--checkpoint", "run", "--data", "cut", "--split", split)
        check((says or "was trained on ") in errors if says else "was trained on" not in errors, f"--split {shares}, {split}: {errors}")
    program.run("prepare", "--train", "text.txt", "--test", "text.txt", "--output", "cut", "--force")
    check("was trained on 80 % of its text" in program.run("eval", "--checkpoint", "run", "--data", "cut")[1], "a text as a split of its own")
    program.write("mixed.txt", "another text " * 99)
    program.run("prepare", "--train", "mixed.txt", "--test", "text.txt", "mixed.txt", "--output", "cut", "--force")
    check("was trained on text of 1 of its 2 sources" in program.run("eval", "--checkpoint", "run", "--data", "cut")[1], "one of two sources")
    program.run("prepare", "--train", "mixed.txt", "--test", "mixed.txt", "--output", "cut", "--force")
    check("was trained on" not in program.run("eval", "--checkpoint", "run", "--data", "cut")[1], "another text")


def test_refuses(program):
    for code, options, says in (
            (CONFIG, ["--warm-up", "much"], ["--warm-up", "much"]),
            (CONFIG, ["--output", "a", "--name", "b"], ["--name and --output"]),
            (CONFIG, ["--recompute", "--mem-len", 8], ["--recompute and --mem-len"]),
            (CONFIG, ["--recompute", "--tgt-len", 4, "--stride", 5], ["--stride", "4", "5"]),
            (DATA, ["--split", "exam"], ["exam"]),
            (DATA, ["--batch-size", 10000], ["10000"]),
            (USAGE, ["--output", "text"], ["text", "holds no evaluation"]),
            (USAGE, ["--name", "../x"], ["../x"])):
        refused(program, code, "eval", *given(*options), says=says, leaves_nothing_at=".partial")
    refused(program, USAGE, "eval", "--data", "text", says=["--checkpoint", "a run or a checkpoint"])
    check(os.path.exists(program.path("text", "manifest.json")), "a dataset was replaced")


def main():
    program = Program()
    program.prepare_text("text", 12000, 1)
    config = program.config("run.json", data={"path": "text"}, model=TINY_MODEL, evaluation={"interval": 0},
                            training={"batch_size": 4, "tgt_len": 16, "max_step": 30}, checkpoint={"interval": 0})
    program.run("train", config, "--run", "run", "--quiet")
    for test in (test_losses_do_not_depend_on_the_batch, test_a_sweep_is_written_whole,
                 test_a_config_has_the_flags_as_keys, test_a_model_is_used_otherwise,
                 test_training_evaluates_with_its_own_lengths, test_effective_context, test_paired_differences,
                 test_python_reads_and_writes_losses, test_the_data_of_the_run_and_a_name, test_json_alone_is_printed,
                 test_a_result_that_nobody_named_need_not_be_kept, test_windows, test_documents_begin_with_empty_memory,
                 test_a_position_table_has_an_end,
                 test_an_evaluation_is_replaced_only_by_itself_or_on_demand, test_learned_text_is_told_of,
                 test_streams_shorter_than_the_memory, test_damage_and_the_best, test_results_in_place_of_losses,
                 test_errors_come_before_warnings,
                 test_refuses):
        test(program)


main()
