"""Proves that check_includes.py finds what it is there to find, and nothing else."""

import pathlib
import tempfile
import unittest

from check_includes import problems_under


class CheckIncludes(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return problems_under(pathlib.Path(folder))

    def expect_one(self, name, text, words):
        found = self.problems({name: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_arrows_down_are_welcome(self):
        self.assertEqual(self.problems({
            "base/a.h": "#include <vector>\n",
            "kernels/cpu/a.cc": '#include "base/a.h"\n#include "kernels/b.h"\n#include <hdf5.h>\n',
            "core/train/a.cc": '#include "core/model/a.h"\n#include "kernels/a.h"\n',
            "launch/segue/main.cc": '#include "core/train/a.h"\n#include "base/a.h"\n',
            "tests/base/a_test.cc": '#include "launch/segue/a.h"\n#include "tests/oracle/a.h"\n',
        }), [])

    def test_up_is_found(self):
        self.expect_one("base/a.cc", '#include "kernels/a.h"\n', "base/a.cc:1: base must not include kernels")
        self.expect_one("core/model/a.cc", '#include "launch/a.h"\n', "core/model must not include launch")

    def test_sideways_is_found(self):
        self.expect_one("kernels/cpu/a.cc", '\n#include "data_pipeline/a.h"\n', "a.cc:2: kernels must not include data_")
        self.expect_one("data_pipeline/a.h", '#include <kernels/a.h>\n', "data_pipeline must not include kernels")
        self.expect_one("core/convert/a.h", '#include "core/evaluation/a.h"\n', "must not include core/evaluation")
        self.expect_one("core/train/a.h", '#include "core/report/a.h"\n', "core/train must not include core/report")

    def test_order_inside_core_is_kept(self):
        self.expect_one("core/config/a.h", ' # include "core/model/a.h"\n', "core/config must not include core/model")

    def test_nothing_includes_tests(self):
        self.expect_one("launch/a.cc", '#include "tests/a.h"\n', "launch must not include tests")

    def test_includes_start_at_the_root(self):
        self.expect_one("base/a.cc", '#include "a.h"\n', "not from the repository root")

    def test_the_public_headers_lie_lowest(self):
        public = "launch/library/include/segue/a.h"
        self.assertEqual(self.problems({
            public: "#include <segue/b.h>\n#include <vector>\n",
            "base/a.h": "#include <segue/a.h>\n",
            "launch/library/a.cc": '#include <segue/a.h>\n#include "core/generate/a.h"\n',
        }), [])
        self.expect_one(public, '#include "base/a.h"\n', "launch/library/include must not include base")
        self.expect_one(public, "#include <fmt/format.h>\n", "must not include fmt/format.h")

    def test_new_folders_need_a_height(self):
        self.expect_one("core/cellar/a.cc", "", "lies in no listed place")

    def test_large_files_are_found(self):
        self.expect_one("base/a.h", "\n" * 500, "500 lines, expected fewer than 500")
        self.expect_one("base/a.cc", "\n" * 500, "500 lines, expected fewer than 500")


if __name__ == "__main__":
    unittest.main()
