"""Proves that check_docs.py finds what it is there to find, and nothing else."""

import json
import pathlib
import tempfile
import unittest

from check_docs import problems_under

# Stands in for the program: two commands, one of them with a command of its own.
PROGRAM = """#!/bin/sh
case "$*" in
  "train --help") printf '  %s\\n' "--run TEXT    Directory, not --runs" "--set TEXT ..." "-q,--quiet    Less" ;;
  "bench step --help") printf '  %s\\n' "--vocab-size INT=256" "segue bench step --vocab 256    # an example" ;;
  *) echo "unknown" >&2; exit 2 ;;
esac
"""
SCHEMA = {"properties": {"model": {"properties": {"mem_len": {}}}, "seed": {},
                         "stages": {"items": {"properties": {"tgt_len": {}}}}}}


class CheckDocs(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder, "repository")
            for name, text in {"configs/segue.schema.json": json.dumps(SCHEMA), **files}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            program = pathlib.Path(folder, "program")
            program.write_text(PROGRAM, encoding="utf-8")
            program.chmod(0o755)
            return problems_under(root, str(program))

    def expect_one(self, text, words, **files):
        found = self.problems({"README.md": text, **files})
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_what_is_there_is_welcome(self):
        self.assertEqual(self.problems({
            "README.md": "# A title: `code`, twice\n## A title\n## A title\n"
                         "[a](docs/guide.md), [b](docs/guide.md#some-words), [c](#a-title-code-twice)\n[d](#a-title-1)\n"
                         "![e](docs/guide.md) [f](https://nowhere.example/x) `docs/guide.md` `docs` `kernels/a.*`\n"
                         "`docs/NAME.md`, `other/thing.cc`, `runs/book/x`, `a/b` and `configs/quick`.\n",
            "docs/guide.md": "## Some words\n[back](../README.md#a-title)\n",
            "kernels/a.cc": "", "configs/quick.json": "{}",
        }), [])

    def test_commands_that_exist_are_welcome(self):
        self.assertEqual(self.problems({
            "README.md": "```\nsegue=build/segue    # the program: it's here\n"
                         "$segue train configs/quick.json --set model.mem_len=2 --run runs/{a,b}/c -q\n"
                         "segue train CONFIG --set 'stages[0].tgt_len=2' --set stages=[]\n"
                         "mpirun --np 4 segue train CONFIG \\\n  --quiet > log\n"
                         "segue bench step configs/$name.json --vocab-size 3 && other --flag\n"
                         "segue COMMAND --help; launch/run --fast=3 --set x\n"
                         "ctest --test-dir build/release -R '^(a|b)$' --output-on-failure\n```\n",
            "configs/quick.json": "{}", "build/x": "", "launch/run": "--fast) ;; --set)",
        }), [])

    def test_links_to_nowhere(self):
        self.expect_one("[a](docs/none.md)\n", "README.md:1: links to docs/none.md")
        self.expect_one("text\n[a\nb](#none)\n", "README.md:3: links to #none: README.md has no such heading")
        self.expect_one("[a](docs/a.md#b)\n", "docs/a.md has no such heading", **{"docs/a.md": "# A\n```\n# b\n```\n"})

    def test_paths_to_nowhere(self):
        self.expect_one("see `docs/none.md`\n", "names docs/none.md", **{"docs/a.md": ""})
        self.expect_one("`docs/none.py --flag`, `docs/a.md`\n", "names docs/none.py", **{"docs/a.md": ""})
        self.expect_one("`docs/*.cc`\n", "names docs/*.cc", **{"docs/a.md": ""})

    def test_commands_that_are_not(self):
        self.expect_one("```\nsegue train --runs x\n```\n", "README.md:2: segue train has no --runs")
        self.expect_one("words\n\n    segue bench step --vocab 3\n", "README.md:3: segue bench step has no --vocab")
        self.expect_one("say `mpirun -np 4 segue train --runs x`\n", "README.md:1: segue train has no --runs")
        self.expect_one("```\nFOO=1 segue teach --run x\n```\n", "there is no command segue teach")
        self.expect_one("```\nsegue train \\\n  --set model.memlen=3\n```\n",
                        "README.md:2: no key of a config is called model.memlen")
        self.expect_one("```\nsegue train --set stages.tgt_len=3\n```\n", "no key of a config is called stages.tgt_len")
        self.expect_one("```\nsegue train configs/none.json\n```\n", "names configs/none.json")
        self.expect_one("```\nlaunch/run --slow\n```\n", "launch/run has no --slow", **{"launch/run": "--fast"})

    def test_pages_about_kinds(self):
        schema = json.dumps({"properties": {"model": {"properties": {"memory": {"properties": {
            "kind": {"enum": ["rows", "sums"]}}}, "depth": {"properties": {"kind": {"enum": ["fixed"]}}}}}}})
        headings = ("What it is", "When to use it", "Config", "Cost and bytes", "Limits", "Results", "Source")
        page = "".join(f"## {heading}\n" for heading in headings)
        whole = {"configs/segue.schema.json": schema, "docs/kinds/a.md": page,
                 "docs/kinds/README.md": "[a](a.md): `rows`, `sums`\n"}
        self.assertEqual(self.problems(whole), [])
        for name, text, words in (("docs/kinds/README.md", "[a](a.md): `rows`, sums\n", "names no kind sums"),
                                  ("docs/kinds/README.md", "`rows`, `sums`\n", "has no link to docs/kinds/a.md"),
                                  ("docs/kinds/a.md", page.replace("## Limits\n", ""), "docs/kinds/a.md: has the headings")):
            found = self.problems({**whole, name: text})
            self.assertEqual(len(found), 1, found)
            self.assertIn(words, found[0])

    def test_other_documents_are_not_taken_for_commands(self):
        self.assertEqual(self.problems({"launch/notes.md": "```\nsegue train --none\n```\n"}), [])


if __name__ == "__main__":
    unittest.main()
