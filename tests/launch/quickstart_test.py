"""The quickstart's comparison: what it says of four corners follows from their intervals, and it checks no headline.

Its functions are run as they stand in the script, on figures made up here and on two tiny models.
"""

import math
import os
import re
import subprocess

from program import TINY_MODEL, Program, check
from report_page import read_page

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "launch", "quickstart")


def quickstart(program, commands, **variables):
    given = "".join(f"{name}='{value}'; " for name, value in variables.items())
    done = subprocess.run(["bash", "-c", f"source '{SCRIPT}'; {given}{commands}"], capture_output=True, text=True,
                          env=program.environment)
    return done.returncode, done.stdout + done.stderr


def judged(program, bits, half=0.01):
    """What is said of these bits per byte of the corners a, b, c and d, all differences having one interval."""
    line = "{},{},1000,{},{},{},{}\n".format
    nats = math.log(2)
    text = "first,second,tokens,loss,confidence95,bits_per_token,bits_per_byte\n"
    names = "abcd"
    for name, value in zip(names, bits):
        text += line(name, "", value * nats, 0.2 * nats, value, value)
    for i, first in enumerate(names):
        for j in range(i + 1, 4):
            difference = bits[i] - bits[j]
            text += line(first, names[j], difference * nats, half * nats if half else "", difference, difference)
    return quickstart(program, f"judge '{program.write('corners.csv', text)}'")


def test_what_is_said_follows_from_the_intervals(program):
    code, said = judged(program, (2.30, 2.60, 2.304, 2.40))
    check(code == 0, said)
    for words in ("2.3000 ± 0.2000         2.6000 ± 0.2000", "2.3040 ± 0.2000         2.4000 ± 0.2000",
                  "Trained and evaluated with memory: 4.2 % fewer bits than the baseline (-0.1000 ± 0.0100)",
                  "only at evaluation: 4.0 % fewer bits than the baseline without",
                  "when both have it at evaluation: no difference beyond the interval to the baseline",
                  "That training with it brings more is not shown", "differed by 0.02 bits per byte"):
        check(words in said, f"{words!r} in:\n{said}")
    for bits, words in (((2.20, 2.60, 2.31, 2.40), "training with memory brought more here"),
                        ((2.29, 2.60, 2.301, 2.40), "That training with it brings more is not shown"),
                        ((2.29, 2.60, 2.311, 2.40), "training with memory brought more here"),
                        ((2.39, 2.60, 2.31, 2.40), "when both have it at evaluation: 3.5 % more bits than the baseline"),
                        ((2.50, 2.60, 2.405, 2.40), "no gain from memory is shown"),
                        ((2.50, 2.60, 2.50, 2.40), "only at evaluation: 4.2 % more bits than the baseline without")):
        code, said = judged(program, bits)
        check(code == 0 and words in said, f"{bits}: {words!r} in:\n{said}")


def test_only_the_installation_is_checked(program):
    for bits, half, words in (((2.70, 2.80, 2.31, 2.40), 0.01, "expected fewer than 2.6 bits per byte"),
                              ((2.30, 2.30, 2.31, 2.40), 0.01, "expected the model trained with memory to use it"),
                              ((2.30, 2.20, 2.31, 2.40), 0.01, "expected the model trained with memory to use it"),
                              (("nan", "nan", "nan", "nan"), 0.01, "expected a number of bits per byte, found nan"),
                              ((2.30, 2.60, 2.31, 2.40), None, "expected the model trained with memory to use it")):
        code, said = judged(program, [float(value) for value in bits], half)
        check(code == 1 and words in said, f"{bits}: exit {code}, {said}")
    code, said = quickstart(program, f"judge '{program.write('empty.csv', '')}'")
    check(code == 1 and "expected four evaluations and six pairs" in said, said)


def test_how_far_back(program):
    for bits, words in (((2.5, 2.41, 2.402, 2.4, 2.41), "How far back: 64 tokens of memory save the first model 0.0980 bits per byte, 98 % of what 128 save.\n"),
                        ((2.5, 2.45, 2.44, 2.43, 2.4), "How far back: 256 tokens of memory save the first model 0.1000 bits per byte.\n"),
                        ((2.4, 2.45, 2.44, 2.43, 2.41), "")):
        lines = [f"{name},,1000,1,,{value},{value}\n" for name, value in zip("abcde", bits)]
        text = "first,second,tokens,loss,confidence95,bits_per_token,bits_per_byte\n" + "".join(lines) + "a,b,1000,1,,-9,-9\n"
        code, said = quickstart(program, f"reach '{program.write('lengths.csv', text)}'")
        check(code == 0 and said == words, f"{bits}: exit {code}: {said}")


def test_own_text_has_runs_of_its_own(program):
    tell = 'choose_text "$@"; echo "$data $run $baseline $most_bits ${#own[@]}"'
    names = []
    for text in ("one\n", "another\n"):
        path = program.write("my book.tar.txt", text)
        code, said = quickstart(program, f"set -- '{path}' '{path}'; {tell}")
        check(code == 0 and re.fullmatch(r"data/quickstart-my-book-\w{8} runs/quickstart-my-book-\w{8}/with_memory runs/quickstart-my-book-\w{8}/baseline  2\n",
                                         said), f"exit {code}: {said}")
        names.append(said.split()[0])
    check(names[0] != names[1], f"other text of the same name: {names}")
    code, said = quickstart(program, f"set --; {tell}")
    check(code == 0 and said == "data/quickstart runs/quickstart/with_memory runs/quickstart/baseline 2.6 0\n", f"exit {code}: {said}")
    code, said = quickstart(program, f"set -- nowhere.txt; {tell}")
    check(code == 2 and said == "launch/quickstart: nowhere.txt: expected a file of text that can be read\n", f"exit {code}: {said}")


def test_what_it_says_of_time(program):
    code, said = quickstart(program, "probe() { echo 4; }; nproc() { echo 2; }; forecast", segue="/bin/true")
    check(code == 0 and said == "At the speed of now: about 4 minutes to train and evaluate two models; the program is there.\n", f"exit {code}: {said}")
    code, said = quickstart(program, "probe() { echo 4; }; nproc() { echo 2; }; forecast", segue=program.path("none"))
    check(code == 0 and said == "At the speed of now: about 4 minutes to build, 4 minutes to train and evaluate two models.\n", f"exit {code}: {said}")
    os.makedirs(program.path("data"))
    program.write("data/manifest.json", '{ "splits": [\n{ "name": "valid",\n"tokens": 7,\n},\n{ "name": "test",\n"tokens": 51200,\n"shards": [\n{ "tokens": 3 }]}]}\n')
    config = program.write("share.json", '{ "training": { "batch_size": 2, "tgt_len": 4, "max_step": 100000,\n"stages": [{ "tgt_len": 2 }] } }')
    os.makedirs(program.path("shares"))
    for tokens, words in ((8000000, "Each model reads 0.8 M of the 8.0 M tokens to train on.\n"),
                          (400000, "Each model reads 0.8 M of the 0.4 M tokens to train on, some more than once.\n")):
        program.write("shares/manifest.json", '{ "splits": [\n{ "name": "train",\n"tokens": %d,\n}]}\n' % tokens)
        code, said = quickstart(program, "say_share", data=program.path("shares"), config=config)
        check(code == 0 and said == words, f"exit {code}: {said}")
    rates = "bench_seconds() { case $1$2 in step0) echo 0.01;; step*) echo 0.02;; eval*) echo 0.03;; esac; }"
    code, said = quickstart(program, f"{rates}; forecast_training", data=program.path("data"))
    check(code == 0 and said == "At the speed of now: about 25 s for the model with memory, 20 s for the baseline,\n"
          "30 s to evaluate both at 5 lengths of memory.\n", f"exit {code}: {said}")
    config = program.config("tiny.json", model=TINY_MODEL, training={"batch_size": 1, "tgt_len": 4}, data={"path": "none"})
    code, said = quickstart(program, "bench_seconds step 2; bench_seconds eval 2", segue=program.binary, config=config)
    check(code == 0 and len(said.split()) == 2 and all(0 < float(seconds) < 60 for seconds in said.split()), f"exit {code}: {said}")


def test_two_tiny_models(program):
    program.prepare_text("text", 12000, 1)
    config = program.config("tiny.json", data={"path": "none"}, model=TINY_MODEL,
                            evaluation={"interval": 0}, checkpoint={"interval": 0},
                            training={"batch_size": 4, "tgt_len": 16, "max_step": 30})
    paths = {"segue": program.binary, "config": config, "data": program.path("text"), "run": program.path("runs", "one"),
             "baseline": program.path("runs", "baseline"), "memories": "0,24", "trained": "24", "most_bits": "0.1"}
    code, said = quickstart(program, "train; evaluate; compare", **paths)
    check(code == 1 and "expected fewer than 0.1 bits per byte" in said, f"exit {code}\n{said}")
    code, drawn = quickstart(program, "draw", **paths)
    check(code == 0, drawn)
    page, _, _ = read_page(program.path("runs", "one", "report.html"))
    verdict = next(line for line in said.splitlines() if line.startswith("  Trained and evaluated with memory"))
    conclusion = next(line for line in said.splitlines() if line.startswith("  So "))
    check(verdict in page.text and "\u00b1" in verdict and conclusion in page.text, f"{verdict!r}, {conclusion!r} on the page")
    check("trained without (baseline)" in said and "Trained and evaluated with memory" in said, said)
    code, said = quickstart(program, "train; compare", **dict(paths, most_bits="9"))
    check("== how much memory helps here" in said and "expected fewer" not in said, f"a second time:\n{said}")


def main():
    program = Program()
    test_what_is_said_follows_from_the_intervals(program)
    test_only_the_installation_is_checked(program)
    test_how_far_back(program)
    test_own_text_has_runs_of_its_own(program)
    test_what_it_says_of_time(program)
    test_two_tiny_models(program)


main()
