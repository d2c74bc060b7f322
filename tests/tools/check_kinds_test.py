"""Proves that check_kinds.py counts what asks for a kind of memory, and that the numbers only become fewer."""

import pathlib
import tempfile
import unittest

from check_kinds import problems_of, questions_of, questions_under


class CheckKinds(unittest.TestCase):
    def test_names_and_functions_are_counted(self):
        self.assertEqual(questions_of("if (kind == MemoryKind::kTokens || associates(model)) return;\n"), 2)
        self.assertEqual(questions_of("using enum MemoryKind;\nbool hands_on_states(const ModelConfig& model);\n"), 2)

    def test_what_asks_for_no_kind_is_not(self):
        self.assertEqual(questions_of("MemoryKind kind;  // one of MemoryKind::kTokens and others\n"), 0)
        self.assertEqual(questions_of("use.memory_tokens > 0 && states.change_at_ends()\n"), 0)

    def test_sources_of_one_kind_may_ask(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ["core/model/compressor.cc", "core/model/reach.cc", "launch/a.cc", "tests/a.cc", "core/a.txt"]:
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("encoder_layers(model)\n", encoding="utf-8")
            self.assertEqual(questions_under(pathlib.Path(folder)), {"core/model/reach.cc": 1, "launch/a.cc": 1})

    def test_numbers_only_become_fewer(self):
        self.assertEqual(list(problems_of({"a.cc": 2}, {"a.cc": 2})), [])
        self.assertIn("asks 3 times for the kind of memory, expected at most 2",
                      *problems_of({"a.cc": 3}, {"a.cc": 2}))
        self.assertIn("b.cc: asks 1 times for the kind of memory, expected at most 0", *problems_of({"b.cc": 1}, {}))
        self.assertIn("asks 1 times for the kind of memory, no longer 2: lower it",
                      *problems_of({"a.cc": 1}, {"a.cc": 2}))
        self.assertIn("gone.cc: asks 0 times", *problems_of({}, {"gone.cc": 2}))


if __name__ == "__main__":
    unittest.main()
