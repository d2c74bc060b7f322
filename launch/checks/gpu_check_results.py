"""What gpu_check has found: kept on disk from case to case, merged with that of earlier calls, held against the goals
and shown as a table."""

import csv
import json
import os
import pathlib
import statistics
from collections.abc import Iterable
from typing import NamedTuple

from gpu_check_host import LeftOver


class Shape(NamedTuple):
    """Of attention."""

    batch_size: int
    heads: int
    d_head: int
    tgt_len: int
    mem_len: int

    def name(self) -> str:
        return "B {} N {} H {} T {} M {}".format(*self)

    def peer(self, way: str) -> str:
        """The same in PyTorch, as attention_torch.py is asked for it."""
        return f"{way}:{','.join(map(str, self))}"


# Goals. Flash without positions does two thirds of the arithmetic: at its efficiency, the whole takes 1.5 times as long.
FLASH_FORWARD, FLASH_BOTH, EAGER = 1.6, 1.8, 5.0
LARGEST_LOSS_DIFFERENCE = 0.01
KERNELS_SHOWN = 10
SEGUE = "Segue"


class Mismatch(Exception):
    """Results that cannot be gone on from."""


class Results:
    """Results of one GPU and commit, written whole after every case: whatever ends this program, the files are there as
    of the last case."""

    def __init__(self, path: pathlib.Path, about: dict, parts: list[str]):
        self.path = path
        self.data = {**about, "parts": {name: empty_part() for name in parts}, "goals": []}
        self.goals = lambda parts: []

    def add_earlier(self, path: pathlib.Path) -> None:
        """Cases that are there already stay. Throws Mismatch."""
        try:
            earlier = json.loads(path.read_text())
            for key in ("gpu", "commit"):
                if earlier[key] != self.data[key]:
                    raise Mismatch(f"{path}: expected {key} {self.data[key]}, found {earlier[key]}; move it away")
            for name, part in self.data["parts"].items():
                add_missing(part, {**empty_part(), **earlier["parts"].get(name, {})})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Mismatch(f"{path}: expected results of gpu_check, found: {type(error).__name__}: {error}") from error

    def write(self) -> None:
        self.data["goals"] = self.goals(self.data["parts"])
        write_whole(self.path.with_suffix(".md"), markdown(self.data))
        write_whole(self.path, json.dumps(self.data, indent=1) + "\n")


class Recorder:
    """What the cases of one part found."""

    def __init__(self, results: Results, name: str):
        self.results = results
        self.part = results.data["parts"][name]
        self.name = name

    def keep(self, case: str, value: object) -> None:
        self.part["results"][case] = value
        problem = self.part["problems"].pop(case, None)
        try:
            self.results.write()
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:  # nothing that goals or table can read
            del self.part["results"][case]
            self.fail(case, problem or f"its result is of another form: {type(error).__name__}: {error}")

    def fail(self, case: str, problem: str) -> None:
        self.part["problems"][case] = problem.replace("\n", " ")
        self.results.write()

    def cut(self, case: str, end: LeftOver) -> None:
        """The limit came first. The second time it is the case's fault, or a short limit would never get beyond it."""
        if end.seconds is None:
            return
        if case in self.part["cut"]:
            return self.fail(case, f"twice cut short by --limit, now after {end.seconds:.0f} s")
        self.part["cut"].append(case)
        self.results.write()

    def is_open(self, case: str) -> bool:
        return case not in self.part["results"]


def empty_part() -> dict:
    return {"cases": [], "results": {}, "problems": {}, "cut": [], "commands": []}


def add_missing(part: dict, earlier: dict) -> None:
    part["cases"] = part["cases"] or earlier["cases"]
    part["results"] = {**earlier["results"], **part["results"]}
    problems = {**earlier["problems"], **part["problems"]}
    part["problems"] = {case: problem for case, problem in problems.items() if case not in part["results"]}
    for key in ("commands", "cut"):
        part[key] += [one for one in earlier[key] if one not in part[key]]
    if "skipped" in earlier:
        part.setdefault("skipped", earlier["skipped"])


def write_whole(path: pathlib.Path, text: str) -> None:
    """The file holds what it held or all of this, whenever this program is killed."""
    part = path.with_name(path.name + ".part")
    with part.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def kernels_in(output: str) -> list[dict]:
    """What ncu printed with --csv, summed by name, the longest first."""
    sums: dict[str, list[float]] = {}
    for row in csv.DictReader(line for line in output.splitlines() if line.startswith('"')):
        kernel = sums.setdefault(without_arguments(row["Kernel Name"]), [0, 0.0])
        kernel[0] += 1
        kernel[1] += float(row["Metric Value"].replace(",", "")) * second_of(row["Metric Unit"])
    whole = sum(seconds for _, seconds in sums.values())
    return [{"name": kernel, "calls": calls, "seconds": seconds, "share": seconds / whole}
            for kernel, (calls, seconds) in sorted(sums.items(), key=lambda item: -item[1][1])]


def without_arguments(kernel: str) -> str:
    """The list that ends the name: in unnamed namespaces and template arguments there are parentheses, too."""
    name = kernel.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    depth = 0
    for place in reversed(range(len(name))):
        depth += (name[place] == ")") - (name[place] == "(")
        if depth == 0:
            return name[:place] if name[place] == "(" else name
    return name


def second_of(unit: str) -> float:
    return {"n": 1e-9, "u": 1e-6, "m": 1e-3, "s": 1.0}[unit[0]]


def seconds_of(result: dict, part: str) -> float:
    return next(found["seconds"] for found in result["measurements"] if found["name"] == part)


def at_most(what: str, value: float, bound: float) -> dict:
    return {"goal": f"{what} at most {bound:g}", "found": value, "met": value <= bound}


def at_least(what: str, value: float, bound: float) -> dict:
    return {"goal": f"{what} at least {bound:g}", "found": value, "met": value >= bound}


class Turns:
    """Seconds of programs that were timed by turns, over the rounds. A ratio is of two programs in one round."""

    def __init__(self, rounds: Iterable[dict]):
        self.rounds = list(rounds)

    def seconds(self, program: str) -> float | None:
        found = [turn[program] for turn in self.rounds if isinstance(turn.get(program), float)]
        return statistics.median(found) if found else None

    def times_as_fast(self, program: str, as_program: str) -> tuple[float, float, float] | None:
        """Median, lowest and highest."""
        ratios = sorted(turn[as_program] / turn[program] for turn in self.rounds
                        if isinstance(turn.get(program), float) and isinstance(turn.get(as_program), float))
        return (statistics.median(ratios), ratios[0], ratios[-1]) if ratios else None


def attention_turns(parts: dict) -> dict[tuple[str, str], Turns]:
    """By shape and part."""
    by_part: dict[tuple[str, str], list[dict]] = {}
    for turn in parts["attention_turns"]["results"].values():
        for name, found in turn.items():
            for part, seconds in found[SEGUE].items():
                others = {way: said[part]["seconds"] for way, said in found["PyTorch"].items() if part in said}
                by_part.setdefault((name, part), []).append({SEGUE: seconds, **others})
    return {key: Turns(rounds) for key, rounds in by_part.items()}


def step_turns(parts: dict) -> dict[str, Turns]:
    by_model: dict[str, list[dict]] = {}
    for case, found in parts["step_turns"]["results"].items():
        by_model.setdefault(case.partition(", ")[0], []).append(found)
    return {name: Turns(rounds) for name, rounds in by_model.items()}


def attention_goals(parts: dict, shapes: list[Shape]) -> list[dict]:
    goals = []
    turns = attention_turns(parts)
    for shape in shapes:
        for part, bound in (("forward", FLASH_FORWARD), ("forward and backward", FLASH_BOTH)):
            found = turns.get((shape.name(), part))
            if found and (slower := found.times_as_fast("flash", SEGUE)):
                goals.append(at_most(f"{shape.name()}: {part}, time over flash without positions", slower[0], bound))
            if found and (faster := found.times_as_fast(SEGUE, "eager")):
                goals.append(at_least(f"{shape.name()}: {part}, times as fast as eager", faster[0], EAGER))
    return goals


def memory_goals(parts: dict, shapes: list[Shape]) -> list[dict]:
    """Of three shapes that differ in the length of the memory."""
    found = [parts["attention"]["results"].get(shape.name()) for shape in shapes]
    if None in found:
        return []
    sizes = [one["setting"]["tensor_bytes"] + one["setting"]["workspace_bytes"] for one in found]
    lengths = [shape.mem_len for shape in shapes]
    slopes = [(sizes[i + 1] - sizes[i]) / (lengths[i + 1] - lengths[i]) for i in range(2)]
    return [at_most("attention's memory per key, long over short (linear: 1)", slopes[1] / slopes[0], 1.05)]


def step_goals(parts: dict, steps: dict) -> list[dict]:
    goals = []
    for name, goal in steps.items():
        result = parts["step"]["results"].get(name)
        if result:
            found = result["measurements"][0]
            goals += [at_least(f"{name}: {key}", found[key], bound) for key, bound in goal.items() if key in found]
    return goals


def precision_goals(parts: dict, steps: int) -> list[dict]:
    found = parts["precision"]["results"]
    if not {"fp32", "bf16"} <= found.keys():
        return []
    difference = max(abs(b / a - 1) for a, b in zip(found["fp32"], found["bf16"], strict=True))
    return [at_most(f"loss over {steps} steps, bf16 against fp32, largest relative difference", difference,
                    LARGEST_LOSS_DIFFERENCE)]


def state_of(part: dict) -> str:
    if "skipped" in part:
        return part["skipped"]
    if not part["cases"]:
        return "not run"
    done, failed, cases = len(part["results"]), len(part["problems"]), len(part["cases"])
    open_cases = cases - done - failed
    if failed == 0 and open_cases == 0:
        return "passed"
    left = f", {open_cases} left for a later call" if open_cases > 0 else ""
    problems = "; ".join(f"{case}: {problem}" for case, problem in part["problems"].items())
    return f"{done} of {cases} cases{left}" + (f"; FAILED: {problems}" if failed > 0 else "")


def call_rows(part: dict) -> list[str]:
    return [f"| {name} | {found['name']} | {found['seconds'] * 1e3:.3f} | {found['flops_per_second'] / 1e12:.1f} | "
            f"{found['share_of_peak']:.1%} |"
            for name, segue in part["results"].items() for found in segue["measurements"]]


def attention_turn_rows(parts: dict) -> list[str]:
    return [f"| {name} | {part} | {milliseconds(turns, SEGUE)} | " +
            " | ".join(f"{milliseconds(turns, way)} | {ratio(turns, way)}" for way in ("eager", "flex", "flash")) + " |"
            for (name, part), turns in attention_turns(parts).items()]


def milliseconds(turns: Turns, program: str) -> str:
    seconds = turns.seconds(program)
    return "-" if seconds is None else f"{seconds * 1e3:.3f}"


def ratio(turns: Turns, program: str) -> str:
    """How many times as fast as this program Segue is."""
    found = turns.times_as_fast(SEGUE, program)
    return "-" if found is None else f"{found[0]:.2f} ({found[1]:.2f} to {found[2]:.2f})"


def step_rows(parts: dict) -> list[str]:
    rows = []
    for name, segue in parts["step"]["results"].items():
        found = segue["measurements"][0]
        rows.append(f"| {name} | {found['seconds'] * 1e3:.2f} | {found['tokens_per_second']:.0f} | "
                    f"{found['flops_per_second'] / 1e12:.1f} | {found['share_of_peak']:.1%} |")
    return rows


def step_turn_rows(parts: dict) -> list[str]:
    return [f"| {name} | {milliseconds(turns, SEGUE)} | " +
            " | ".join(f"{milliseconds(turns, way)} | {ratio(turns, way)}" for way in ("eager", "compiled")) + " |"
            for name, turns in step_turns(parts).items()]


def errors_of_turns(parts: dict) -> list[str]:
    """What PyTorch could not do."""
    found = [(f"{way} on {name}", error) for turn in parts["attention_turns"]["results"].values()
             for name, of_shape in turn.items() for way, said in of_shape["PyTorch"].items()
             if (error := said.get("error"))]
    found += [(f"{way} {case.partition(', ')[0]}", error) for case, turn in parts["step_turns"]["results"].items()
              for way, error in turn.items() if isinstance(error, str)]
    return [f"PyTorch, {what}: {error}" for what, error in dict(found).items()]


def operation_rows(parts: dict) -> list[str]:
    return [f"| {name} | {row['name'].replace('_', ' ')} {row['pass']} | {row['calls']:.0f} | {row['seconds'] * 1e3:.3f} | "
            f"{row['share_of_step']:.1%} | {row['share_of_roof']:.1%} of {row['roof']} |"
            for name, segue in parts["step"]["results"].items() for row in segue["profile"]["parts"][:KERNELS_SHOWN]]


def kernel_rows(parts: dict) -> list[str]:
    return [f"| {name} | {kernel['name']} | {kernel['calls']} | {kernel['seconds'] * 1e3:.3f} | {kernel['share']:.1%} |"
            for name, kernels in parts["kernels"]["results"].items() for kernel in kernels[:KERNELS_SHOWN]]


def section(title: str, head: str, rules: str, rows: list[str]) -> list[str]:
    return ["", title, "", head, rules, *rows] if rows else []


def markdown(data: dict) -> str:
    parts = data["parts"]
    lines = [f"# {data['gpu']}, {data['date']}", "", f"Driver {data['driver']}; commit {data['commit']}.", "",
             "| part | state |", "|---|---|", *(f"| {name} | {state_of(part)} |" for name, part in parts.items()), "",
             "| goal | found | met |", "|---|---:|---|",
             *(f"| {goal['goal']} | {goal['found']:.4g} | {'yes' if goal['met'] else 'no'} |" for goal in data["goals"]),
             *section("Attention in bf16, milliseconds; share of the peak measured with each.",
                      "| shape | | ms | TFLOP/s | of peak |", "|---|---|---:|---:|---:|", call_rows(parts["attention"])),
             *section("Scans of states in bf16, likewise.",
                      "| kind and shape | | ms | TFLOP/s | of peak |", "|---|---|---:|---:|---:|", call_rows(parts["states"])),
             *section("The same by turns with PyTorch, in milliseconds, medians of the rounds; \"times\" is how many times as "
                      "fast Segue is: median, lowest and highest of the rounds. Flash attention knows no positions.",
                      "| shape | | Segue | eager | times | FlexAttention | times | flash | times |",
                      "|---|---|---:|---:|---:|---:|---:|---:|---:|", attention_turn_rows(parts)),
             *section("Training steps in bf16.", "| model | ms | tokens/s | TFLOP/s | of peak |",
                      "|---|---:|---:|---:|---:|", step_rows(parts)),
             *section("The same by turns with PyTorch, as above.",
                      "| model | Segue, ms | eager | times | compiled | times |", "|---|---:|---:|---:|---:|---:|",
                      step_turn_rows(parts)),
             *(line for error in errors_of_turns(parts) for line in ("", error)),
             *section("The operations that take longest, of a step that is no graph.",
                      "| model | operation | calls | ms | of step | of roof |", "|---|---|---:|---:|---:|---:|",
                      operation_rows(parts)),
             *section("The kernels that take longest, of a few steps.",
                      "| model | kernel | launches | ms | of all |", "|---|---|---:|---:|---:|", kernel_rows(parts)),
             "", "Commands:", "", "```"]
    lines += [command for part in parts.values() for command in part["commands"]]
    return "\n".join([*lines, "```", ""])
