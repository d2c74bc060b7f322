"""Proves that check_kinds.py finds who names a kind of memory or of block, and lets kinds name themselves."""

import pathlib
import tempfile
import unittest

from check_kinds import names_in, problems_under


class CheckKinds(unittest.TestCase):
    def test_names_are_found(self):
        self.assertEqual(list(names_in("\nif (kind == MemoryKind::kTokens) return;\n")), [(2, "MemoryKind::kTokens")])
        self.assertEqual(list(names_in("using enum MemoryKind;\n")), [(1, "using enum MemoryKind")])
        self.assertEqual(list(names_in("BlockKind::kTransformer\n")), [(1, "BlockKind::kTransformer")])

    def test_what_names_none_is_not(self):
        self.assertEqual(list(names_in("MemoryKind kind;  // one of MemoryKind::kTokens and others\n")), [])
        self.assertEqual(list(names_in("case MemoryKind::k##Name:\n")), [])

    def test_kinds_name_themselves(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ["core/kinds/memory/tokens/options.cc", "core/config/kind_requirements.cc", "core/model/reach.cc",
                         "core/kinds/memory/a.cc", "tests/a.cc", "core/a.txt"]:
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("MemoryKind::kTokens\n", encoding="utf-8")
            self.assertEqual([problem.split(":")[0] for problem in problems_under(pathlib.Path(folder))],
                             ["core/kinds/memory/a.cc", "core/model/reach.cc"])


if __name__ == "__main__":
    unittest.main()
