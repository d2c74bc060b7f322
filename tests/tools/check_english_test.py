"""Proves that check_english.py finds the sentences of a page, and what is wrong with them."""

import pathlib
import tempfile
import unittest

from check_english import measure, pages_of, problems_of, problems_under, sentences_of

LONG = "one two three four five six seven eight nine ten " * 3 + "and one more. "
SHORT = "This sentence is short. " * 9


class CheckEnglish(unittest.TestCase):
    def expect(self, text, *sentences):
        self.assertEqual(list(sentences_of(text)), list(sentences))

    def test_sentences_end_at_dots(self):
        self.expect("First come three words. Is this\nthe second? Yes, it is! (One has brackets.) The last has none",
                    "First come three words.", "Is this the second?", "Yes, it is!", "(One has brackets.)",
                    "The last has none")

    def test_dots_within_words_end_nothing(self):
        self.expect("Read docs/guide.md, about 1.5 times, e.g. now. See (Dai et al. 2019) in total. "
                    "Count 1, 2, ... to ten.",
                    "Read docs/guide.md, about 1.5 times, e.g. now.", "See (Dai et al. 2019) in total.",
                    "Count 1, 2, ... to ten.")

    def test_items_are_sentences_of_their_own(self):
        self.expect("It does this:\n- the first of them;\n  which goes on,\n- the second of them\n"
                    "1. numbers count too\n\nAt the end.\n",
                    "It does this:", "the first of them; which goes on,", "the second of them", "numbers count too",
                    "At the end.")

    def test_what_is_no_prose(self):
        self.expect("# A heading of many words\n\n| a table of words | here |\n|---|---|\n\n    code by its indent\n\n"
                    "```\ncode in a fence\n\nand its second part\n```\n\n![a picture of something](a.svg)\n"
                    "<!-- not\nshown at all -->\n**A label.** This is prose.\n",
                    "This is prose.")
        self.expect("- an item of words\n\n    its second paragraph here\n\n# Heading\n\n    code after it all\n",
                    "an item of words", "its second paragraph here")

    def test_code_and_links_are_words(self):
        self.expect("Call `segue train; x. Y` as [the long guide](docs/a;b.md#c) says. Then _go_ on **now**, 2 * 3.\n",
                    "Call code as the long guide says.", "Then go on now, 2 3.")

    def test_measures(self):
        self.assertEqual(measure(SHORT + LONG), (10, 0.1, 0))
        self.assertEqual(measure("This one; that one. " * 2), (2, 0, 1))
        self.assertEqual(measure(""), (0, 0, 0))

    def test_limits(self):
        self.assertEqual(list(problems_of("a.md", SHORT + LONG, {})), [])
        long, *sentences = problems_of("a.md", SHORT + LONG + LONG, {})
        self.assertIn("a.md: 18.2% of the sentences", long)
        self.assertIn("33 words: one two", sentences[0])
        found = list(problems_of("a.md", "This one; that one. ", {}))
        self.assertEqual(found, ["a.md: 1.00 semicolons for each sentence; expected at most 0.10"])

    def test_limits_of_a_pending_page(self):
        self.assertEqual(list(problems_of("a.md", "This one; that one. ", {"a.md": (0, 1)})), [])
        self.assertEqual(len(list(problems_of("a.md", "This one; that; one. ", {"a.md": (0, 1)}))), 1)
        self.assertIn("take it out of PENDING", next(problems_of("a.md", SHORT, {"a.md": (0, 1)})))

    def test_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("README.md", "CHANGELOG.md", "docs/guide.md", "docs/kinds/a.md", "docs/reference.md",
                         "launch/package/bundle_files/README.md", "benchmarks/results/a.md"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("This is short.\n", encoding="utf-8")
            self.assertEqual(pages_of(root),
                             ["CHANGELOG.md", "README.md", "docs/guide.md", "docs/kinds/a.md",
                              "launch/package/bundle_files/README.md"])
            self.assertEqual(list(problems_under(root, {"docs/none.md": (1, 1)})),
                             ["docs/none.md: in PENDING, and not there"])


if __name__ == "__main__":
    unittest.main()
