"""The report: one page that needs nothing else, well formed whatever its files hold; bad files are refused."""

import html
import json
import os
import re
import shutil

from program import Program, check, refused
from report_page import check_drawing, read_page

TINY = {"model": {"n_layer": 1, "n_head": 1, "d_model": 8, "d_head": 8, "d_inner": 8, "mem_len": 8},
        "training": {"batch_size": 2, "tgt_len": 8, "max_step": 6, "log_interval": 2, "threads": 1},
        "evaluation": {"interval": 3, "batch_size": 2}, "checkpoint": {"interval": 0}}
HOSTILE = "<script>alert('&\"')</script>"


def metrics(steps, loss=3.0):
    for step in range(10, 10 * steps + 1, 10):
        yield {"step": step, "unit": "byte", "loss": loss / step ** 0.1, "bits_per_byte": 1.44 * loss / step ** 0.1,
               "gradient_norm": 0.5, "learning_rate": 1e-3, "tokens": 100 * step, "tokens_per_second": 900.0 + step,
               "seconds": 0.1 * step}
        if step % 50 == 0:
            yield {"step": step, "evaluation": "valid", "unit": "byte", "loss": 3.1 / step ** 0.1,
                   "bits_per_byte": 4.5 / step ** 0.1, "tokens": 7}


def result(mem_len, loss, **changes):
    places = [{"position": i, "tokens": 9, "loss": loss + 1 / (1 + i), "confidence95": 0.1} for i in range(8)]
    contexts = [{"from": a, "to": b, "tokens": 9, "loss": loss + 1 / (1 + a), "confidence95": 0.1}
                for a, b in ((0, 0), (1, 3), (4, 7))]
    return {"mode": "memory", "mem_len": mem_len, "tgt_len": 8, "clamp_len": -1, "same_length": False,
            "context": mem_len + 8, "tokens": 72, "loss": loss, "confidence95": 0.05, "bits_per_byte": 1.44 * loss,
            "tokens_per_second": 50.0, "by_position": places, "by_context": contexts, **changes}


def evaluation(results):
    tokens = [{"text": text, "nll": [1.0 + i / 9 for _ in results]} for i, text in enumerate(["a", "\n", "\u00e9", HOSTILE])]
    return {"format": "segue-evaluation", "version": 1, "step": 100, "command": "segue eval --checkpoint 'name <b>&' --name again " + HOSTILE, "data": "books", "split": "test " + HOSTILE,
            "unit": "byte", "trained": {"mem_len": 8, "tgt_len": 8}, "baseline": 1, "results": results,
            "sample": {"offset": 3, "tokens": tokens}}


def make_run(program, name, lines, **config):
    os.makedirs(program.path(name))
    program.config(os.path.join(name, "config.json"), data={"path": "books " + HOSTILE, "vocab_size": 99}, **config)
    program.write(os.path.join(name, "metrics.jsonl"), "".join(json.dumps(line) + "\n" for line in lines))


def add_evaluation(program, run, name, document):
    os.makedirs(program.path(run, "evaluations", name), exist_ok=True)
    return program.write(os.path.join(run, "evaluations", name, "evaluation.json"), json.dumps(document))


def check_headline(program):
    """A loss stands beside the tokens it was measured after, not those of the last step."""
    lines = [dict(line, loss=5.0) if line["step"] == 100 and "evaluation" in line else line for line in metrics(10)]
    make_run(program, "overfitted", lines)
    program.run("report", "overfitted", "--output", "overfitted.html")
    page, _, _ = read_page(program.path("overfitted.html"))
    headline = next(line for line in page.text.splitlines() if "best loss" in line)
    check("The best loss on valid is" in headline and " after 5" in headline, headline)
    check("step 50" in page.text and "step 100 of" in page.text, "the rows of the runs")


def check_pages(program):
    make_run(program, "plain", [])
    make_run(program, "name <b>&", metrics(400), model={"mem_len": 8})
    same = {"above_baseline": {"loss": 0.0, "confidence95": 0.0, "bits_per_byte_confidence95": 0.0}}
    results = [result(0, 2.0), result(8, 1.8, **same), result(64, 1.75), result(0, 1.9, mode="recompute", tgt_len=16, stride=2, context=16)]
    add_evaluation(program, "name <b>&", "memory", evaluation(results))
    context = {"format": "segue-effective-context", "version": 1, "threshold": 0.01, "step": 50, "ratios": [0.1, 1.0],
               "models": [{"name": HOSTILE, "effective_context": {"0.1": 900, "1.0": None},
                           "curves": [{"ratio": 0.1, "points": [{"context": 50, "gain": 0.05}, {"context": 100, "gain": None}]}]}]}
    program.write("context.json", json.dumps(context))

    program.run("report", "plain", "--output", "plain.html")
    page, _, drawings = read_page(program.path("plain.html"))
    check(not drawings and "Nothing is logged yet" in page.text, "a run that has just begun")

    check_headline(program)
    program.run("report", "name <b>&", "plain", "--effective-context", "context.json", "--output", "both.html", "--figures", "figures")
    page, text, drawings = read_page(program.path("both.html"))
    check(page.tags["figure"] == 8 + 1 and len(drawings) >= 8, f"{page.tags} and {len(drawings)} drawings")
    check(HOSTILE in page.text and "<b>&" in page.text, "text of the files is shown as it is")
    check("with which its other lengths are compared<" in text and "\u00b1 0<" not in text, "a length is not compared with itself")
    check("do not compare runs with each other; segue paired-difference does" in page.text, "what the bands are of")
    check("segue eval --checkpoint 'name <b>&-again' --name again " + HOSTILE in page.text, "the run that was made again is evaluated")
    check(page.refresh is None, "a page that is not of a run in progress does not load itself again")
    check("prefers-color-scheme:dark" in text and "@media print" in text, "dark and print")
    files = sorted(os.listdir(program.path("figures")))
    check("loss-by-memory.svg" in files and "learning-curves.svg" in files, files)
    for name in files:
        with open(program.path("figures", name), encoding="utf-8") as file:
            drawing = file.read()
        check(check_drawing(drawing, name).tag == "{http://www.w3.org/2000/svg}svg", name)
        check("var(" not in drawing, f"{name}: colours come from elsewhere")


def of_text(lines, dataset):
    return [dict(line, dataset=dataset) if "evaluation" in line else line for line in lines]


def report_of(program, *runs):
    """The line below the title, the page's text, and the names of its drawings."""
    shutil.rmtree(program.path("drawn"), ignore_errors=True)
    program.run("report", *runs, "--output", "page.html", "--figures", "drawn")
    page, text, _ = read_page(program.path("page.html"))
    summary = html.unescape(re.search(r'<p class="summary">(.*?)</p>', text, re.S).group(1))
    return summary, page.text, set(os.listdir(program.path("drawn")))


def check_different_texts(program):
    """Losses of different texts are neither ranked nor drawn on one axis."""
    first, second = "tokens:xxh3:01", "tokens:xxh3:02"
    results = [result(0, 2.0), result(8, 1.8)]
    make_run(program, "one", of_text(metrics(10), first))
    make_run(program, "same", of_text(metrics(10, 2.0), first), model={"mem_len": 8})
    make_run(program, "other", of_text(metrics(10, 1.0), second))
    for run, dataset in (("one", first), ("same", first), ("other", second)):
        command = f"segue eval --checkpoint {os.path.realpath(program.path(run))}/checkpoints/best --data books"
        add_evaluation(program, run, "memory", {**evaluation(results), "dataset": dataset, "command": command})
    summary, text, drawn = report_of(program, "one", "same")
    check(f"{os.path.realpath(program.path('same'))}-again/checkpoints/best --data" in text, "what is made again, by its absolute path")
    check(re.search(r"There one has a memory of \d+, same has a memory of 8[.]", text), "with what the validation text is read")
    check("On test " not in text and "On valid " not in text, "figures of one text say which")
    check("has the lowest loss" in summary and "different texts" not in text, summary)
    check("learning-curves.svg" in drawn and "loss-by-memory.svg" in drawn and "loss-by-memory-2.svg" not in drawn, drawn)
    summary, text, drawn = report_of(program, "one", "same", "other")
    check(summary.startswith("No loss is ranked lowest, since the losses are of different texts: one, same on valid of books")
          and f"({second})" in summary, summary)
    check({"learning-curves-2.svg", "loss-by-memory-2.svg", "loss-by-context-2.svg", "loss-by-position-2.svg"} <= drawn, drawn)
    check(text.count("Results on different texts do not compare") == 3, "the sections that say so")
    for dataset in (first, second):
        for split, caption in (("test", "Loss against the length of the memory"), ("test", "The same against all tokens"),
                               ("test", "Loss by the position"), ("valid", "Loss ")):
            check(re.search(rf"On {split} .*of books.* \({dataset}\): {caption}", text), f"the text of {caption!r} of {dataset}")
    shorter = [dict(one, tokens=7) for one in results]
    add_evaluation(program, "one", "short", {**evaluation(shorter), "dataset": first})
    summary, text, drawn = report_of(program, "one")
    check("loss-by-memory-2.svg" in drawn and "72 tokens" in text and "7 tokens" in text, f"--max-tokens: {drawn}")


def check_texts_of_datasets(program):
    """A text in other tokens is the same text where losses are told per byte; another text is another."""
    program.prepare_text("bytes", 6000, seed=3)
    program.prepare_text("foreign", 6000, seed=4)
    program.run("prepare", "--input", "bytes.txt", "--split", "0.8,0.1,0.1", "--tokenizer", "word", "--output", "words")
    for data in ("bytes", "foreign", "words"):
        program.config("config.json", data={"path": data}, **TINY)
        program.run("train", "config.json", "--run", "on-" + data, "--quiet")
        program.run("eval", "--checkpoint", "on-" + data, "--mem-len", "0,8", "--warm-up", "auto", "--quiet")
    summary, _, drawn = report_of(program, "on-bytes", "on-words")
    check("has the lowest loss" in summary and "bits per byte" in summary and "loss-by-memory-2.svg" not in drawn, f"{summary} {drawn}")
    summary, _, drawn = report_of(program, "on-bytes", "on-foreign")
    check("on-bytes on valid of bytes; on-foreign on valid of foreign" in summary and "loss-by-memory-2.svg" in drawn, f"{summary} {drawn}")


def check_what_is_missing(program):
    """Sections without data name the run, and no figure is drawn of a few points that their bands hold."""
    _, text, _ = report_of(program, "plain")
    for command in ("segue train --run plain --resume", "segue eval --checkpoint plain --mem-len 0,32,64,128 --name memory",
                    "segue effective-context --model plain plain/evaluations/memory/losses-*.h5"):
        check(command in text, f"{command!r} in {text}")
    make_run(program, "vague", metrics(3), model={"mem_len": 8})
    for spread, is_drawn in ((0.5, False), (0.01, True)):
        contexts = [{"from": a, "to": b, "tokens": 600, "loss": 2 - 0.1 * i, "confidence95": spread}
                    for i, (a, b) in enumerate(((0, 9), (10, 99), (100, 999)))]
        add_evaluation(program, "vague", "memory", evaluation([result(8, 1.8, by_context=contexts)]))
        _, text, drawn = report_of(program, "vague")
        check(("loss-by-available-context.svg" in drawn) == is_drawn, f"bands of {spread}: {drawn}")
        check(("Loss by available context: not drawn" in text) != is_drawn, f"bands of {spread}")


def check_verdict(program):
    program.write("verdict.txt", "memory is worth 4.1 % <b>\n" + HOSTILE)
    program.run("report", "plain", "--verdict", "verdict.txt", "--output", "verdict.html")
    page, _, _ = read_page(program.path("verdict.html"))
    check("verdict" in page.ids and "memory is worth 4.1 % <b>\n" + HOSTILE in page.text, "the verdict")
    check("--verdict verdict.txt" in page.text, "the command that makes it again")
    refused(program, 6, "report", "plain", "--verdict", "none.txt", says=["none.txt"])


def check_differences(program):
    """Keys that one run's kinds read and another's do not, in the order of the config."""
    make_run(program, "sgd", [], optimizer={"kind": "sgd", "momentum": 0.5}, model={"mem_len": 8})
    make_run(program, "adamw", [], optimizer={"kind": "adamw", "weight_decay": 0.1}, model={"mem_len": 8})
    program.run("report", "sgd", "adamw", "--output", "kinds.html")
    _, text, _ = read_page(program.path("kinds.html"))
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", text, re.S)]
    table = {row[0]: tuple(map(html.unescape, row[1:])) for row in rows if row and row[0].startswith(("model.", "optimizer."))}
    check(table == {"optimizer.kind": ('"sgd"', '"adamw"'), "optimizer.beta1": ("not read", "0.9"),
                    "optimizer.beta2": ("not read", "0.999"), "optimizer.epsilon": ("not read", "0.0"),
                    "optimizer.weight_decay": ("not read", "0.1"), "optimizer.momentum": ("0.5", "not read")}, f"{table}")
    check(list(table)[-2:] == ["optimizer.weight_decay", "optimizer.momentum"], f"the order of {list(table)}")


def check_unfinished(program):
    make_run(program, "going", metrics(3))
    with open(program.path("going", "metrics.jsonl"), "a") as file:
        file.write('{"step": 40, "loss"')
    program.run("report", "going", "--output", "going.html")
    page, _, _ = read_page(program.path("going.html"))
    check("step 30 of" in page.text, "the whole lines of a run in progress")


def check_spans(program):
    """How far back heads have learned to look, where they learn it."""
    lines = [dict(line, spans=[[], [line["step"] / 10, 3.0]]) if "tokens_per_second" in line else line for line in metrics(20)]
    make_run(program, "spans", lines)
    program.run("report", "spans", "--output", "spans.html", "--figures", "spans-drawn")
    page, text, _ = read_page(program.path("spans.html"))
    check("Attention spans" in page.text and "20.0, 3.0" in page.text, "the spans of every head")
    check({"spans-1.svg", "spans-of-heads-1.svg"} <= set(os.listdir(program.path("spans-drawn"))), "drawings of spans")


def share(accuracy, answers=40):
    return {"answers": answers, "accuracy": accuracy, "confidence95": 0.05}


def answers(accuracy, **changes):
    examples = [{"tokens": tokens, "traits": {"items": items, HOSTILE: 3}, **share(accuracy)}
                for items, tokens in ((4, 65), (8, 65), (8, 129))]
    hard = {"example": 2, "begin": 130, "answers": 4, "right": 1, "first_wrong": {"offset": 140, "distance": 2},
            "tokens": [7, 8, 9], **changes}
    return {**share(accuracy, 120), "by_examples": examples, "hardest": [hard], "longest_trained": 65,
            "by_distance": [{"from": 1, "to": 1, **share(accuracy)}, {"from": 2, "to": 3, **share(accuracy)}]}


def check_answers(program):
    """Right answers of marked data; text without marks says nothing of them."""
    lines = [dict(line, accuracy=line["step"] / 1000) for line in metrics(20)]
    make_run(program, "marked", lines)
    program.run("report", "marked", "--output", "marked.html")
    page, _, _ = read_page(program.path("marked.html"))
    check("No evaluation tells right answers yet" in page.text, "marked data without an evaluation")
    results = [result(0, 2.0, answers=answers(0.25, texts=["not", "as", "trained"])), result(8, 1.8, answers=answers(0.875))]
    add_evaluation(program, "marked", "memory", evaluation(results))
    program.run("report", "marked", "--output", "marked.html", "--figures", "marked")
    page, text, _ = read_page(program.path("marked.html"))
    files = set(os.listdir(program.path("marked")))
    check({"accuracy-curves.svg", "accuracy-by-trait-1.svg", "accuracy-by-length.svg", "accuracy-by-distance.svg"} <= files, files)
    check("25.00 \u00b1 5.00 %" in page.text and "87.50 \u00b1 5.00 %" in page.text, "accuracy with its interval")
    check(text.count('class="heat"') == 1 and '<td class="q7">87.5 %</td>' in text, "a row for each result")
    check("trained up to 65" in text, "the longest example in training")
    check("Example 2: 1 of 4 answers right. The first wrong one is token 10 of it; what decides it stands 2 tokens back." in page.text
          and '<span class="q5">7</span> 8 <span class="h6">9</span>' in text, "the hardest example")
    results[1]["answers"]["hardest"][0]["texts"] = ["a", HOSTILE, "c"]
    add_evaluation(program, "marked", "memory", evaluation(results))
    program.run("report", "marked", "--output", "marked.html")
    page, text, _ = read_page(program.path("marked.html"))
    check('<span class="q5">a</span>' in text and f"a{HOSTILE}c" in page.text, "the hardest example in words")
    program.run("report", "plain", "--output", "plain.html")
    page, _, _ = read_page(program.path("plain.html"))
    check("answers" not in page.ids, "a run of text")


def attention(*layers):
    return [{"memory": sum(shares), "by_age": [{"from": 2 ** i // 2 + 1, "to": 2 ** i, "share": share} for i, share in enumerate(shares)]}
            for shares in layers]


def check_attention(program):
    """What layers attend to, where an evaluation tells it."""
    make_run(program, "attending", metrics(3))
    results = [result(0, 2.0), result(8, 1.8, attention=attention([0.125, 0.25, 0.125], [0.0, 0.0625, 0.5]))]
    add_evaluation(program, "attending", "attention", evaluation(results))
    program.run("report", "attending", "--output", "attending.html", "--figures", "attending")
    page, _, _ = read_page(program.path("attending.html"))
    check("attention" in page.ids and "50.00" in page.text and "56.25" in page.text, "the shares of memory")
    check(os.path.exists(program.path("attending", "attention-by-age-1.svg")), "its figure")
    results[1]["attention"][1]["by_age"][2]["share"] = 1.5
    add_evaluation(program, "attending", "attention", evaluation(results))
    refused(program, 4, "report", "attending", says=("results[1].attention[1].by_age[2].share", "from 0 to 1"))
    results[1]["attention"][1]["by_age"].pop()
    add_evaluation(program, "attending", "attention", evaluation(results))
    refused(program, 4, "report", "attending", says=("results[1].attention[1].by_age", "3 ages"))
    program.run("report", "plain", "--output", "plain.html")
    check("attention" not in read_page(program.path("plain.html"))[0].ids, "a run of which it is not told")


def check_refusals(program):
    refused(program, 4, "report", "nowhere", says=("nowhere: expected the directory of a run, found nothing; beside it: ",), leaves_nothing_at="report.html")
    make_run(program, "broken", metrics(3))
    with open(program.path("broken", "metrics.jsonl"), "a") as file:
        file.write("{\n{}\n")
    refused(program, 4, "report", "broken", says=("broken/metrics.jsonl, line 4",), leaves_nothing_at="report.html")
    make_run(program, "newer", metrics(3))
    document = evaluation([result(0, 2.0)])
    add_evaluation(program, "newer", "memory", {**document, "version": 2})
    refused(program, 4, "report", "newer", says=("evaluation.json", "version", "expected 1", "found 2"))
    add_evaluation(program, "newer", "memory", {**document, "results": [{**document["results"][0], "loss": None}]})
    refused(program, 4, "report", "newer", says=("evaluation.json", "results[0].loss", "expected a number"))


def check_training(program):
    """A run that keeps its own report; the last page does not load itself again."""
    program.prepare_text("text", 6000, seed=3)
    program.config("config.json", data={"path": "text"},
                   model={"n_layer": 1, "n_head": 1, "d_model": 8, "d_head": 8, "d_inner": 8, "mem_len": 8},
                   training={"batch_size": 2, "tgt_len": 8, "max_step": 6, "log_interval": 2, "threads": 1, "report": True},
                   evaluation={"interval": 3, "max_tokens": 64}, checkpoint={"interval": 0})
    program.run("train", "config.json", "--run", "trained")
    page, _, _ = read_page(program.path("trained", "report.html"))
    check(page.refresh is None and "step 6 of 6" in page.text and "best loss on valid" in page.text, "the report of a run that is over")


def main():
    program = Program()
    check_pages(program)
    check_differences(program)
    check_unfinished(program)
    check_different_texts(program)
    check_texts_of_datasets(program)
    check_what_is_missing(program)
    check_verdict(program)
    check_spans(program)
    check_answers(program)
    check_attention(program)
    check_refusals(program)
    check_training(program)
    print("pages are whole, files are refused")


if __name__ == "__main__":
    main()
