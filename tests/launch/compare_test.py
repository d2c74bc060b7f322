"""segue compare: one table whatever stops it on the way, learning rates found on the validation split, and what it refuses."""

import csv
import json
import math
import os
import pathlib
import re
import shutil
import signal
import time

from program import TINY_MODEL, Program, check, refused
from report_page import read_page

USAGE, CONFIG, DATA, STOPPED = 2, 3, 4, 75
CLOCK = ("seconds", "training_tokens_per_second", "evaluation_tokens_per_second", "peak_bytes")
VARIANTS = [{"name": "xl"}, {"name": "alibi", "set": ["model.position.kind=alibi"]},
            {"name": "memoryless", "set": ["model.mem_len=0"]}]

# With these a rate of 1000 multiplies weights by -999 in every step.
DECAYED = ["optimizer.kind=adamw", "optimizer.weight_decay=1"]


def write(program, name="family.json", **changes):
    file = {"base": "base.json", "variants": VARIANTS, "budget": {"amount": 4000}, "seeds": [1, 2],
            "measure": {"max_tokens": 1500}, **changes}
    return program.write(name, json.dumps({key: value for key, value in file.items() if value is not None}))


def result(program, directory):
    """Without what depends on the clock."""
    with open(program.path(directory, "result.json")) as file:
        found = json.load(file)
    for variant in found["variants"]:
        for key in CLOCK:
            del variant["cost"][key]
    return found


def processes(program, directory):
    folder = pathlib.Path(program.path(directory, "processes"))
    return [json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]


def rows_of(program, *names):
    with open(program.path(*names), newline="") as file:
        return list(csv.DictReader(file))


def check_measures(rows, found):
    """Losses as CSV are those of the JSON per byte."""
    for row, variant in zip(rows, found["variants"], strict=True):
        loss = variant["losses"][0]
        check((row["variant"], row["unit"], int(row["mem_len"])) == (variant["name"], "bits/byte", loss["mem_len"]), f"{row}")
        per_byte, difference = loss["per_byte"], loss["per_byte"]["difference"] or {"bits": None, "confidence95": None}
        told = {"value": per_byte["bits"], "confidence95": per_byte["confidence95"], "difference": difference["bits"],
                "difference_confidence95": difference["confidence95"],
                **{f"seed_{seed}": bits for seed, bits in zip(found["seeds"], per_byte["seeds"], strict=True)}}
        check(all(row[key] == "" if value is None else math.isclose(float(row[key]), value) for key, value in told.items()), f"{row}: {told}")
        check((row["difference"] == "") == (variant is found["variants"][0]) and row["diverged_seeds"] == "0", f"{row}")


def check_tables(program, output, page, found):
    """Every table has its title, footnotes fit a terminal, and the numbers are there as CSV."""
    for title in ("Loss in bits/byte, segments of 24", "Costs of one run"):
        check(f"\n\n{title}\nvariant " in output, f"{title!r} above its table in:\n{output}")
        check(f"<caption>{title}</caption>" in page, f"{title!r} on the page")
    check(page.count("<table") == page.count("<caption"), "page: tables without a title")
    check(all(len(line) <= 80 for line in output.splitlines()), f"wider than 80 columns:\n{output}")
    first, *others = [line.split() for line in output.split("\n\n")[1].splitlines()[2:]]
    check(first[4] == "baseline" and not any("baseline" in words for words in others), f"the first variant:\n{output}")
    check("<td>baseline</td>" in page, "page: the first variant")
    notes = output[output.index("\n\u00b1 is half"):output.index("\ncomparisons/")].strip().splitlines()
    check(all(len(line) <= 80 for line in notes), f"footnotes: {notes}")
    check(all(len(line) > 55 for line, after in zip(notes, notes[1:]) if after[0].islower()), f"broken: {notes}")
    check_measures(rows_of(program, "comparisons/family", "measures.csv"), found)
    costs = rows_of(program, "comparisons/family", "costs.csv")
    check([int(row["parameters"]) for row in costs] == [variant["cost"]["parameters"] for variant in found["variants"]], f"{costs}")


def test_every_variant_is_trained_and_told_apart(program):
    output, errors = program.run("compare", "family.json", "--dry-run")
    check("6 runs of 3 variants" in output and not os.path.exists(program.path("comparisons")), f"dry run:\n{output}")
    plan, _ = program.run("compare", "family.json", "--dry-run", "--json")
    runs = json.loads(plan)["runs"]
    check([run["name"] for run in runs] == [f"{name}-{seed}" for seed in (1, 2) for name in ("xl", "alibi", "memoryless")],
          f"dry run as JSON: {plan}")
    check(all(run["steps"] == 41 and run["state"] == "left" and run["kind"] == "compared" for run in runs), plan)
    total = json.loads(plan)["total"]
    check(total["trainings"] == total["left"] == 6 and total["seconds_left"] is None, f"total: {total}")
    check(total["tokens"] == sum(41 * run["tokens_per_step"] for run in runs), f"total: {total}")
    check(math.isclose(total["flops"], sum(run["flops"] for run in runs)), f"total: {total}")
    check(f"6 trainings, {total['tokens']:,.0f} tokens, " in output and "6 are left; how long they take is known once one has ended" in output, output)
    check(all(len(line) <= 80 for line in output.splitlines()), f"wider than 80 columns:\n{output}")
    output, errors = program.run("compare", "family.json")
    check(all(f"run {number} of 6" in errors for number in range(1, 7)) and errors.count("left of the comparison") == 5, f"progress:\n{errors}")
    found = result(program, "comparisons/family")
    names = [variant["name"] for variant in found["variants"]]
    check(names == ["xl", "alibi", "memoryless"] and found["seeds"] == [1, 2], f"variants {names}")
    check(found["tokens"] == 1500 and found["runs"] == found["measured_runs"] == 6, f"{found['tokens']} tokens")
    for variant in found["variants"]:
        loss, cost = variant["losses"][0], variant["cost"]
        check(abs(sum(loss["seeds"]) / 2 - loss["loss"]) < 1e-9, f"{variant['name']}: mean of {loss['seeds']}")
        check(cost["tokens"] == cost["steps"] * 96 <= 4000 < cost["tokens"] + 96, f"{variant['name']}: {cost}")
        check((loss["difference"] is None) == (variant["name"] == "xl"), f"{variant['name']}: {loss['difference']}")
        if loss["difference"]:
            first = found["variants"][0]["losses"][0]["loss"]
            check(abs(loss["loss"] - first - loss["difference"]["loss"]) < 1e-9, f"{variant['name']}: difference")
            check(loss["difference"]["p_adjusted"] >= loss["difference"]["p"], f"{variant['name']}: Holm")
    memory = [variant["cost"]["memory_bytes_per_stream"] for variant in found["variants"]]
    check(memory == [2 * 24 * 32 * 4, 2 * 24 * 32 * 4, 0], f"memory of a stream: {memory}")
    page, text, drawings = read_page(program.path("comparisons/family/index.html"))
    check({"losses", "costs", "curves", "parts", "configs"} <= page.ids and len(drawings) >= 6, f"page: {page.ids}")
    biased = [drawing for drawing in drawings if "Biases by distance" in drawing]
    check(biased and all("alibi: added to scores" in drawing and "head 2" in drawing for drawing in biased), "page: biases")
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td></tr>', text)
    check(rows == [("alibi", "model.position.kind", "&quot;alibi&quot;", "&quot;relative&quot;"),
                   ("memoryless", "model.mem_len", "0", "24")], f"page: what differs: {rows}")
    check_tables(program, output, text, found)
    as_json, _ = program.run("compare", "family.json", "--json", "--quiet")
    check(json.loads(as_json)["tokens"] == 1500, "--json")
    check(len(processes(program, "comparisons/family")) == 12, "what is measured is not run again")


def test_stopped_and_killed_it_ends_as_if_it_had_not_been(program):
    for stop, code in ((signal.SIGINT, STOPPED), (signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, STOPPED)):
        process = program.start("compare", "family.json", "--output", "stopped")
        begun = program.path("stopped", "runs")
        runs = len(os.listdir(begun)) if os.path.exists(begun) else 0
        while process.poll() is None and (not os.path.exists(begun) or len(os.listdir(begun)) <= runs):
            time.sleep(0.005)
        time.sleep(0.05)
        process.send_signal(stop)
        _, errors = process.communicate()
        check(process.returncode == code, f"{stop.name}: ended with {process.returncode}\n{errors}")
        if code == STOPPED:
            check("resume with: segue compare family.json --output stopped" in errors, f"{stop.name}:\n{errors}")
        time.sleep(0.5)  # what a killed one began ends by itself
    program.run("compare", "family.json", "--output", "stopped")
    check(result(program, "stopped") == result(program, "comparisons/family"), "stopped three times: another result")


def test_runs_of_an_array_make_the_same_table(program):
    for number in (5, 2, 6, 1, 3, 4):
        output, _ = program.run("compare", "family.json", "--output", "array", "--only", number, "--quiet")
        check(("no seed of every variant yet" in output) == (number in (5, 2, 6, 1)), f"run {number}:\n{output}")
    check(result(program, "array") == result(program, "comparisons/family"), "one by one: another result")


def test_a_launcher_that_runs_nothing(program):
    for launcher in ("true", "echo hi"):
        refused(program, USAGE, "compare", "family.json", "--output", "idle", "--launcher", launcher, "--quiet",
                says=[f"--launcher {launcher if ' ' not in launcher else repr(launcher)}: expected", "mpirun", "is not trained"])


def test_tasks_of_an_array_run_at_once(program):
    as_it_is = ("--set", "optimizer.clip=0.25")
    words = ("compare", "family.json", *as_it_is, "--output", "tasks", "--launcher", "nice -n 1", "--only")
    task = program.start(*words, "1", "--quiet")
    while task.poll() is None and not os.path.exists(program.path("tasks", "runs")):
        time.sleep(0.005)
    task.send_signal(signal.SIGTERM)
    _, errors = task.communicate()
    check("resume with: segue compare family.json --set optimizer.clip=0.25 --output tasks --launcher 'nice -n 1' "
          "--only 1" in errors, errors)
    tasks = [program.start(*words, str(number), "--quiet") for number in range(1, 7)]
    for task in tasks:
        _, errors = task.communicate()
        check(task.returncode == 0, f"a task ended with {task.returncode}:\n{errors}")
    output, _ = program.run("compare", "family.json", *as_it_is, "--output", "tasks", "--quiet")
    check(output.startswith("6 of 6 runs are measured; with optimizer.clip=0.25; compared"), f"heading:\n{output}")
    page, _, _ = read_page(program.path("tasks/index.html"))
    check("3 variants, seeds 1, 2, with optimizer.clip=0.25." in page.text, "page: what was set")
    found = result(program, "tasks")
    check(found["set"] == ["optimizer.clip=0.25"], f"set: {found['set']}")
    check({**found, "set": []} == result(program, "comparisons/family"), "at once: another result")
    refused(program, CONFIG, "compare", "family.json", "--set", "optimizer.clip=0.5", "--output", "tasks", "--quiet",
            says=["configs/xl-1.json", "or --set", "optimizer.clip: 0.25 -> 0.5", "another --output"])
    refused(program, USAGE, "compare", "family.json", "--output", "text", "--quiet", says=["text: exists and holds no comparison"])


def test_learning_rates_are_found_on_validation(program):
    write(program, "swept.json", learning_rates=[0.0001, 0.003, 0.01], seeds=[1, 2],
          measure={"max_tokens": 1500, "mem_len": [0, 24]})
    refused(program, USAGE, "compare", "swept.json", "--only", "10", "--quiet", says=["--only 10", "learning rates to be found", "runs 1 to 9"])
    output, errors = program.run("compare", "swept.json")
    told = [line for line in errors.splitlines() if line.startswith("run ")]
    check(len(told) == 15 and sum("left of the comparison" in line for line in told) == 14, f"progress:\n{errors}")
    found = result(program, "comparisons/swept")
    at_end = re.sub(r"\s+", " ", output).partition("a better one may lie beyond: ")[2].partition(". ")[0].split(", ")
    for variant in found["variants"]:
        sweep = variant["sweep"]
        losses = {one["learning_rate"]: one["loss"] for one in sweep["tried"]}
        best = min(losses, key=losses.get)
        check(sorted(losses) == [0.0001, 0.003, 0.01] and sweep["learning_rate"] == best, f"{variant['name']}: {sweep}")
        check(sweep["is_at_end"] == (best != 0.003), f"{variant['name']}: {sweep}")
        row = next(line for line in output.splitlines() if line.startswith(variant["name"] + " ") and "0.0001:" in line)
        check((variant["name"] in at_end) == sweep["is_at_end"], f"{variant['name']}: {at_end}")
        check(sweep["flops"] == 3 * variant["cost"]["flops"], f"{variant['name']}: what the sweep took")
        told = re.search(r"0\.0001: ([\d.]+)", row).group(1)
        check(math.isclose(float(told) * math.log(2), losses[0.0001], abs_tol=1e-4), f"{variant['name']}: {told} bits")
        for seed in (1, 2):
            with open(program.path("comparisons/swept/runs", f"{variant['name']}-{best:g}-{seed}", "config.json")) as file:
                check(json.load(file)["optimizer"]["lr"] == best, f"{variant['name']}: rate of seed {seed}")
    check("\nLearning rates, by bits/byte on validation\n" in output, f"rates:\n{output}")
    rows = rows_of(program, "comparisons/swept", "learning_rates.csv")
    check(len(rows) == 9 and sum(row["is_chosen"] == "true" for row in rows) == 3, f"{rows}")
    xl, alibi, memoryless = found["variants"]
    own = memoryless["as_trained"]
    check((own["mem_len"], xl["as_trained"]["mem_len"], alibi["as_trained"]["mem_len"]) == (0, 24, 24), f"as trained: {own}")
    check(abs(own["difference"]["loss"] - (memoryless["losses"][0]["loss"] - xl["losses"][1]["loss"])) < 1e-12
          and own["difference"]["confidence95"] > 0 and xl["as_trained"]["difference"] is None, f"as trained: {own}")
    check(alibi["as_trained"]["difference"]["loss"] == alibi["losses"][1]["difference"]["loss"], "as trained: alibi")
    trainings = [line["run"] for line in processes(program, "comparisons/swept") if line["command"] == "train"]
    measured = [run for run in os.listdir(program.path("comparisons/swept/runs"))
                if os.path.exists(program.path("comparisons/swept/runs", run, "evaluations", "compare"))]
    _, text, _ = read_page(program.path("comparisons/swept/index.html"))
    figures = os.listdir(program.path("comparisons/swept/figures"))
    check("each as it was trained" in text and "differences-as-trained.svg" in figures, f"page: as trained; {figures}")
    check("Loss by length" in text and "loss-by-length.svg" in figures, f"page: a drawing of the lengths; {figures}")
    check(len(set(trainings)) == 12 and len(measured) == 6, f"the test split is read by the chosen alone: {measured}")


def test_tables_of_words_are_per_byte(program):
    """Where tokens are no bytes."""
    program.run("prepare", "--input", "text.txt", "--split", "0.8,0.1,0.1", "--tokenizer", "word", "--output", "words")
    write(program, "words.json", variants=[VARIANTS[0], VARIANTS[2]], budget={"amount": 2000}, learning_rates=[0.003, 0.01])
    output, _ = program.run("compare", "words.json", "--set", "data.path=words", "--output", "of-words", "--quiet")
    found = result(program, "of-words")
    check(found["unit"] == "word" and 0.1 < found["tokens_per_byte"] < 0.5, f"{found['unit']}: {found['tokens_per_byte']}")
    check_measures(rows_of(program, "of-words", "measures.csv"), found)
    rows = rows_of(program, "of-words", "learning_rates.csv")
    check(len(rows) == 4, f"{rows}")
    for row, (variant, tried) in zip(rows, ((variant, one) for variant in found["variants"] for one in variant["sweep"]["tried"])):
        run = f"{variant['name']}-{tried['learning_rate']:g}-1"
        with open(program.path("of-words/runs", run, "evaluations/sweep/evaluation.json")) as file:
            bits = json.load(file)["results"][0]["bits_per_byte"]
        check((row["variant"], float(row["learning_rate"]), row["unit"]) == (variant["name"], tried["learning_rate"], "bits/byte"), f"{row}")
        check(math.isclose(float(row["validation_loss"]), bits) and bits < 0.5 * tried["loss"] / math.log(2), f"{row}: {bits}, {tried}")
        check(f"{tried['learning_rate']:g}: {bits:.4f}" in output, f"{run}: {bits} in:\n{output}")


def test_divergence_is_a_result(program):
    hot = {"name": "hot", "set": [*DECAYED, "optimizer.lr=1000"]}
    write(program, "hot.json", variants=VARIANTS + [hot])
    output, errors = program.run("compare", "hot.json")
    check("6 of 8 runs are measured, 2 diverged" in output and "2 of 2 seeds diverged" in output, f"table:\n{output}")
    check("hot-1 diverged" in errors and "run 8 of 8" in errors, f"progress:\n{errors}")
    found = result(program, "comparisons/hot")
    hottest = found["variants"].pop()
    check(hottest["diverged"] == [1, 2] and hottest["losses"] == [] and found["diverged_runs"] == 2, f"{hottest}")
    check(hottest["cost"]["tokens"] is None and hottest["cost"]["parameters"] > 0, f"{hottest['cost']}")
    check(found["variants"] == result(program, "comparisons/family")["variants"], "one that diverged changed others")
    page, _, _ = read_page(program.path("comparisons/hot/index.html"))
    check("hot from seeds 1, 2" in page.text and "2 of 2 seeds diverged" in page.text, "page: who diverged")
    ran = len(processes(program, "comparisons/hot"))
    output, _ = program.run("compare", "hot.json", "--dry-run")
    check(output.count("  diverged") == 2 and output.count("  done") == 6, f"dry run:\n{output}")
    check("; none is left" in output, f"dry run:\n{output}")
    program.write("comparisons/hot/runs/alibi-2/diverged.json", "{}")
    output, _ = program.run("compare", "hot.json", "--quiet")
    check(len(processes(program, "comparisons/hot")) == ran, "what diverged is trained again")
    alibi, memoryless = result(program, "comparisons/hot")["variants"][1:3]
    loss = alibi["losses"][0]
    check("1 of 2 seeds diverged" in output and alibi["diverged"] == [2], f"one of two:\n{output}")
    check(loss["seeds"][1] is None and loss["loss"] == loss["seeds"][0] and loss["difference"]["seeds"] == 1, f"{loss}")
    check(loss["difference"]["confidence95"] is None and "too few seeds to tell" in output, f"one seed of two: {loss}")
    check(memoryless["losses"][0]["difference"]["seeds"] == 2, f"{memoryless}")
    page, _, _ = read_page(program.path("comparisons/hot/index.html"))
    check("alibi has one seed left, and no interval" in page.text
          and "no interval where too few seeds or tokens are left: alibi" in page.text, "page: one seed of two")


def test_rates_that_diverge_lose(program):
    variants = [{"name": variant["name"], "set": [*variant.get("set", []), *DECAYED]} for variant in VARIANTS[:2]]
    write(program, "hot.json", variants=variants, seeds=[1], learning_rates=[0.003, 1000])
    output, _ = program.run("compare", "hot.json", "--output", "hot", "--quiet")
    for variant in result(program, "hot")["variants"]:
        sweep = variant["sweep"]
        check(sweep["learning_rate"] == 0.003 and sweep["tried"][1]["loss"] is None, f"{variant['name']}: {sweep}")
        check(variant["diverged"] == [] and sweep["flops"] < 2 * variant["cost"]["flops"], f"{variant['name']}: {variant}")
    check("1000: diverged" in output, f"rates:\n{output}")
    told = "Of two rates each is an end: better ones may lie beyond."
    check(output.count("beyond") == output.count(told) == 1, f"two rates:\n{output}")
    page, _, _ = read_page(program.path("hot/index.html"))
    check("Diverged: xl at 1000, alibi at 1000" in page.text, "page: rates that diverged")
    check(page.text.count("beyond") == page.text.count(told) == 1, "page: two rates")
    write(program, "hot.json", variants=variants, seeds=[1], learning_rates=[999, 1000])
    output, _ = program.run("compare", "hot.json", "--output", "all", "--quiet")
    check("by bits on validation" in output, f"all:\n{output}")
    check("0 of 2 runs are measured, 2 diverged" in output and "all of which diverged" in " ".join(output.split()), f"all:\n{output}")
    check(result(program, "all")["variants"][0]["sweep"]["learning_rate"] == 999, "the lowest where all diverged")
    read_page(program.path("all/index.html"))


def test_seconds_are_steps_that_were_timed_once(program):
    write(program, "timed.json", budget={"kind": "seconds", "amount": 0.3}, seeds=[1, 2], variants=VARIANTS[:2])
    refused(program, USAGE, "compare", "timed.json", "--only", "3", "--quiet", says=["steps to be timed", "runs 1 to 2"])
    output, _ = program.run("compare", "timed.json", "--dry-run")
    check("2 short runs to time steps, then 4 runs" in output and output.count("  timed") == 4, f"dry run:\n{output}")
    check("6 trainings\n6 are left, whose steps take 1.2 s by the budget, besides timing and evaluating" in output, f"dry run:\n{output}")
    program.run("compare", "timed.json", "--quiet")
    first = result(program, "comparisons/timed")
    check(all(variant["cost"]["steps"] > 10 for variant in first["variants"]), f"steps of 0.3 s: {first}")
    program.run("compare", "timed.json", "--quiet")
    check(result(program, "comparisons/timed") == first, "another number of steps the second time")
    shutil.rmtree(program.path("comparisons/timed/runs"))
    for config in os.listdir(program.path("comparisons/timed/configs")):
        if "@" not in config:
            os.remove(program.path("comparisons/timed/configs", config))
    wider = [{"name": "xl", "set": ["model.d_inner=96"]}, VARIANTS[1]]
    write(program, "timed.json", budget={"kind": "seconds", "amount": 0.3}, seeds=[1, 2], variants=wider)
    refused(program, CONFIG, "compare", "timed.json", "--quiet", says=["xl@1-", "model.d_inner: 48 -> 96"])


def test_every_config_can_be_timed(program):
    """With a schedule that needs evaluations, evaluations longer than a stage, a memory longer than a timing's steps."""
    plateau = ["schedule.kind=plateau", "schedule.patience=1"]
    stages = ["evaluation.tgt_len=20", "evaluation.mem_len=24", 'training.stages=[{"until_step": 4, "tgt_len": 8, "mem_len": 0}]']
    long = ["model.mem_len=1200", "model.position.kind=alibi"]
    variants = [{"name": "a", "set": plateau}, {"name": "a-1", "set": stages}, {"name": "long", "set": long}]
    write(program, "timed.json", budget={"kind": "seconds", "amount": 0.3}, seeds=[1], variants=variants,
          may_differ=["evaluation.tgt_len", "evaluation.mem_len"])
    program.run("compare", "timed.json", "--output", "any", "--quiet")
    timings = sorted(os.listdir(program.path("any/timing")))
    check([name.rsplit("-", 1)[0] for name in timings] == ["a-1@1", "a-1@2", "a@1", "long@1"], f"timings: {timings}")
    timing = next(name for name in timings if name.startswith("long@1-"))
    with open(program.path("any/timing", timing, "config.json")) as file:
        check(json.load(file)["training"]["max_step"] >= 1200 // 24 + 40, "steps are timed once the memory is full")


def answers_of(program, directory, run):
    """What segue eval told of a run of a comparison."""
    with open(program.path(directory, "runs", run, "evaluations", "compare", "evaluation.json")) as file:
        return json.load(file)["results"][0]["answers"]


def test_right_answers_are_compared(program):
    """Pairs by segments, which only a memory knows in the last one; learning rates by right answers on validation."""
    one, three = {"length": 8, "items": 1}, {"length": 16, "items": 3}
    program.write("spec.json", json.dumps({
        "kind": "rewrite", "seed": 3, "vocabulary": 11, "segment": 4, "key_tokens": 1, "splits": [
            {"name": "train", "parts": [{"examples": 400, **one}]}, {"name": "valid", "parts": [{"examples": 60, **one}]},
            {"name": "test", "parts": [{"examples": 80, **one}, {"examples": 90, **three}, {"examples": 40, "length": 24, "items": 3},
                                       {"examples": 30, "length": 16, "items": 1}]}]}))
    program.run("tasks", "spec.json", "--output", "task", "--quiet")
    program.config("task_base.json", data={"path": "task"}, model={**TINY_MODEL, "dropout": 0, "dropatt": 0}, optimizer={"lr": 0.01},
                   training={"batch_size": 10, "tgt_len": 4, "log_interval": 20, "device": "cpu", "threads": 1},
                   evaluation={"interval": 40, "batch_size": 10}, checkpoint={"interval": 0})
    write(program, "recalled.json", base="task_base.json", variants=[VARIANTS[0], VARIANTS[2]], budget={"amount": 40000},
          seeds=[1, 2, 3], learning_rates=[0.001, 0.01], measure={"batch_size": 7})
    output, _ = program.run("compare", "recalled.json", "--quiet")
    found = result(program, "comparisons/recalled")
    check(found["answers"] == found["tokens"] == 240, f"an answer for each example: {found['answers']} of {found['tokens']}")
    by_seed = {}
    for variant in found["variants"]:
        name, sweep, accuracy = variant["name"], variant["sweep"], variant["losses"][0]["accuracy"]
        check(sweep["chosen_by"] == "accuracy", f"{name}: {sweep}")
        best = max(sweep["tried"], key=lambda one: (one["accuracy"], -one["loss"]))
        check(sweep["learning_rate"] == best["learning_rate"], f"{name}: {sweep}")
        told = [answers_of(program, "comparisons/recalled", f"{name}-{sweep['learning_rate']:g}-{seed}") for seed in (1, 2, 3)]
        by_seed[name] = accuracy["seeds"]
        check(all(abs(a - b["accuracy"]) < 1e-9 for a, b in zip(accuracy["seeds"], told)), f"{name}: {accuracy['seeds']}")
        check(abs(accuracy["accuracy"] - sum(accuracy["seeds"]) / 3) < 1e-9 and accuracy["answers"] == 240, f"{name}: {accuracy}")
        check([(run["tokens"], run["traits"], run["answers"]) for run in accuracy["by_examples"]]
              == [(9, {"items": 1}, 80), (17, {"items": 3}, 90), (25, {"items": 3}, 40), (17, {"items": 1}, 30)], f"{name}: {accuracy['by_examples']}")
        for key in ("by_examples", "by_distance"):
            for i, part in enumerate(accuracy[key]):
                shares = [of[key][i]["accuracy"] for of in told]
                check(part["seeds"] == shares and abs(part["accuracy"] - sum(shares) / 3) < 1e-9, f"{name}: {key}: {part}")
    difference = found["variants"][1]["losses"][0]["accuracy"]["difference"]
    apart = [b - a for a, b in zip(*by_seed.values())]
    mean = sum(apart) / 3
    error = math.sqrt(sum((x - mean) ** 2 for x in apart) / 2 / 3)
    check(abs(difference["accuracy"] - mean) < 1e-9 and abs(difference["error_of_seeds"] - error) < 1e-9, f"{difference}")
    check(difference["p_adjusted"] >= difference["p"] and difference["seeds"] == 3, f"{difference}")
    table = output.split("bits/token")[0]
    check(mean < -0.2 and difference["is_significant"] and "worse" in table and "better" not in table, f"{mean}:\n{output}")
    check("% right" in output and "Learning rates, by right answers in % on validation" in output, f"tables:\n{output}")
    page, text, drawings = read_page(program.path("comparisons/recalled/index.html"))
    figures = os.listdir(program.path("comparisons/recalled/figures"))
    check({"answers", "losses"} <= page.ids and "None is above xl at" in page.text, f"page: {page.ids}")
    check({"accuracy-by-state.svg", "accuracy-by-trait-1.svg", "accuracy-by-length.svg", "accuracy-by-distance.svg",
           "accuracy-differences.svg", "differences.svg"} <= set(figures), f"figures: {figures}")
    check("higher is better" in text and "trained up to 9" in text and text.count('class="heat"') == 1, "page: drawings of answers")
    check("most right answers (of as many, the lower loss)" in page.text, "page: how rates are chosen")
    ran = len(processes(program, "comparisons/recalled"))
    program.write("comparisons/recalled/runs/xl-{:g}-2/diverged.json".format(found["variants"][0]["sweep"]["learning_rate"]), "{}")
    output, _ = program.run("compare", "recalled.json", "--quiet")
    check(len(processes(program, "comparisons/recalled")) == ran, "what diverged is trained again")
    xl, memoryless = (variant["losses"][0]["accuracy"] for variant in result(program, "comparisons/recalled")["variants"])
    check(xl["seeds"] == [by_seed["xl"][0], None, by_seed["xl"][2]] and xl["by_examples"][0]["seeds"][1] is None, f"{xl}")
    check(memoryless["difference"]["seeds"] == 2 and "1 of 3 seeds diverged" in output, f"{memoryless}")
    read_page(program.path("comparisons/recalled/index.html"))


def test_what_cannot_be_compared_is_refused(program):
    quiet = ["--output", "refused", "--quiet"]
    for changes, words in (({"variants": VARIANTS[:1]}, ["variants", "at least 2", "found 1"]),
                           ({"variants": [VARIANTS[0], VARIANTS[0]]}, ["variants", '"xl" twice']),
                           ({"variants": [VARIANTS[0], {"name": "b", "set": ["model.men_len=3"]}]}, ['"b"', "mem_len"]),
                           ({"variants": [VARIANTS[0], {"name": "b", "set": ["data.read_ahead=9"]}]},
                            ['"b"', "data.read_ahead", "may_differ"]),
                           ({"variants": [VARIANTS[0], {"name": "it", "set": ["model.visibility.kind=window",
                                                                             "model.visibility.window=99"]}]},
                            ['"it"', "model.visibility.window", "model.mem_len"]),
                           ({"variants": [VARIANTS[0], {"name": "shaw", "set": ["model.position.kind=shaw"]}],
                             "measure": {"mem_len": [24, 99]}}, ['"shaw"', "max_positions", "123", "mem_len = 99"]),
                           ({"budget": {"amount": 95}}, ["budget.amount", '"xl"', "96 tokens", "95"]),
                           ({"budget": None}, ["budget"]),
                           ({"learning_rates": [0.1]}, ["learning_rates", "found 1"]),
                           ({"learning_rates": [0.1, 0.2], "variants": [VARIANTS[0], {"name": "xl-0.2"}]},
                            ["variants", '"xl-0.2"', '"xl"']),
                           ({"variants": [VARIANTS[0], {"name": "b", "set": [
                               'training.stages=[{"until_step": 50, "tgt_len": 24, "mem_len": 0}]']}]},
                            ['"b"', "of the 41 steps that budget.amount pays for", "until_step"]),
                           ({"base": "nowhere.json"}, ["nowhere.json"])):
        write(program, "wrong.json", **changes)
        code = 6 if "nowhere.json" in words else CONFIG
        refused(program, code, "compare", "wrong.json", *quiet, says=words, leaves_nothing_at="refused")
    write(program, "wrong.json", measure={"split": "exam"})
    refused(program, DATA, "compare", "wrong.json", *quiet, says=["exam"], leaves_nothing_at="refused")
    refused(program, USAGE, "compare", "family.json", "--only", "7", *quiet, says=["1 to 6", "7"])
    refused(program, CONFIG, "compare", "family.json", "--set", "model.mem=12", *quiet, says=["--set model.mem=12", "unknown key"])
    refused(program, CONFIG, "compare", "family.json", "--set", "model.mem_len=12", "--quiet",
            says=["configs/xl-1.json", "another base", "model.mem_len: 24 -> 12"])
    write(program, "family.json", budget={"amount": 8000})
    refused(program, CONFIG, "compare", "family.json", "--quiet",
            says=["configs/xl-1.json", "another base", "training.max_step: 41 -> 83", "--output"])
    write(program, "family.json", measure={"max_tokens": 1400})
    refused(program, CONFIG, "compare", "family.json", "--quiet", says=["measure.json", "1400", "1500"])
    write(program, "family.json", variants=VARIANTS + [{"name": "rope", "set": ["model.position.kind=rope"]}])
    program.run("compare", "family.json", "--quiet")
    check(len(result(program, "comparisons/family")["variants"]) == 4, "a variant that comes later")


def main():
    program = Program()
    program.prepare_text("text", 20000, seed=3)
    program.config("base.json", data={"path": "text"}, model=TINY_MODEL, optimizer={"lr": 0.002},
                   training={"batch_size": 4, "tgt_len": 24, "log_interval": 10, "device": "cpu", "threads": 1},
                   evaluation={"interval": 20, "max_tokens": 500}, checkpoint={"interval": 10, "keep_last": 1})
    write(program)
    test_every_variant_is_trained_and_told_apart(program)
    test_stopped_and_killed_it_ends_as_if_it_had_not_been(program)
    test_runs_of_an_array_make_the_same_table(program)
    test_a_launcher_that_runs_nothing(program)
    test_tasks_of_an_array_run_at_once(program)
    test_learning_rates_are_found_on_validation(program)
    test_tables_of_words_are_per_byte(program)
    test_divergence_is_a_result(program)
    test_rates_that_diverge_lose(program)
    test_seconds_are_steps_that_were_timed_once(program)
    test_every_config_can_be_timed(program)
    test_right_answers_are_compared(program)
    test_what_cannot_be_compared_is_refused(program)


if __name__ == "__main__":
    main()
