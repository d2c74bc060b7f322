#!/usr/bin/env python3
"""Makes the files beside it: small tokenizers in the forms of well-known ones, and the tokens that their libraries gave.

    python3 -m venv VENV && VENV/bin/pip install tokenizers==0.23.3 tiktoken==0.14.0 sentencepiece==0.2.3
    VENV/bin/python make_tokenizers.py .

NAME.json and ranks.tiktoken are tokenizers. A line of texts.jsonl is a text, and the same line of NAME.ids its tokens: with
special tokens taken for text, or found where the name ends in _special.
"""

import base64
import json
import pathlib
import random
import sys
import tempfile

import sentencepiece
import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

SPACE = "\u2581"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
DEEPSEEK = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+")
SENTENCES = """\
The gate keeper counts the ships that enter the harbour, and the ships that never leave it.
Don't ask why it's late; we'll see, they've said, that nobody's clock was right in 1987 or in 2024.
    for (int i = 0; i < 10; ++i) {\n\ttotal += values[i] * 3.14159;\n    }
A memory of twelve segments is longer than a memory of eleven segments, and shorter than one of thirteen.
Naïve cafés in Zürich serve crème brûlée; in Łódź they do not. Ελληνικά, русский текст, 日本語の文, 한국어 글, हिन्दी.
The harbour is closed when the keeper sleeps, the keeper sleeps when the clock is late, and the clock is late.
See http://example.org/a/b?c=1&d=2#e or write to nobody@example.org. Costs: $1,234.50, 99 %, or 3 + 4 = 7!
"""
PARTS = ["The ", "the", " gate", "keeper", " ships", "harbour", " ", "  ", "     ", "\n", "\n\n", "\r\n", "\r", "\t", "\0", "\x01",
         "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\xa0", "\u1680", "\u180e", "\u2028", "\u200b", "\u200d", "\u3000", "\ufeff", "\ufffd",
         "é", "e\u0301", "a\u0323\u0307", "a\u0307\u0323", "ﬁ", "½", "①", "Ａ", "ﾊﾞ", "한국", "\u1112\u1161\u11ab", "\u212b", "ß", "İ", "ς", "ſ", "'ſ",
         "русский", "日本", "漢字", "\u2f800", "مرحبا", "हिन्दी", "க்ஷ", "ไทย", "👍🏽", "👨\u200d👩\u200d👧", "🇩🇪", "\U0001f97a", "\U00010570", "\U00011f04",
         "\U0002ebf0", "\U00010d50", "\U000105c9", "\U00011935\U00011930", "\u0378", "\u088f", "\u1734", "\u08e2", "\u32ff",
         "1", "1234", "٣४", "²", "3.14", "don't", "DON'T", "'LL", "it’s", "''", "``", "foo_bar", "!!!", "?!", "…", "—", "$", "^", "<", ">",
         "<|endoftext|>", "<|begin_of_text|>", "<s>", "</s>", "<unk>", "[CLS]", "[MASK]", "<0x41>", SPACE, SPACE * 2, "##", "##s", "</w>",
         "Ġ", "Ċ", "ń", "\u0301", "\u20dd", "\u3099", "a" * 70, "ab" * 40, "é" * 30, "\u0300" * 9, "=-" * 20, "{\"k\": [1, 2]}",
         "\n\tif x:\n\t\treturn -1\n"]


def texts():
    source = random.Random(7)
    made = ["", " ", "a", *SENTENCES.splitlines(), SENTENCES, *PARTS]
    made += ["".join(source.choice(PARTS) for _ in range(source.randint(2, 14))) for _ in range(60)]
    made += ["".join(chr(source.choice([source.randrange(1, 0x800), source.randrange(0x800, 0xd800), source.randrange(0xe000, 0x20000)]))
                     for _ in range(12)) for _ in range(20)]
    return made


def trained(tokenizer, trainer):
    tokenizer.train_from_iterator(SENTENCES.splitlines() * 4, trainer)
    return tokenizer


def changed(tokenizer, change):
    document = json.loads(tokenizer.to_str())
    change(document)
    return Tokenizer.from_str(json.dumps(document))


def byte_level(pre_tokenizer, special, normalizer=None, more=(), **model):
    tokenizer = Tokenizer(models.BPE(**model))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    suffix = model.get("end_of_word_suffix")
    more_trainer = {"end_of_word_suffix": suffix} if suffix else {}
    trained(tokenizer, trainers.BpeTrainer(vocab_size=420, special_tokens=special, initial_alphabet=alphabet, show_progress=False,
                                           **more_trainer))
    tokenizer.add_tokens(list(more))
    return tokenizer


def split_then_bytes(*patterns):
    steps = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def pieces(normalizer, pre_tokenizer, decoder, more=()):
    """BPE whose characters without a token become bytes, as Llama 2, Mistral and Gemma have it."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(SPACE, "merged_with_next")
    trained(tokenizer, trainers.BpeTrainer(vocab_size=480, special_tokens=["<unk>", "<s>", "</s>", *BYTES], limit_alphabet=60, show_progress=False))

    def change(document):
        document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] not in BYTES]
        document["pre_tokenizer"] = None
    tokenizer = changed(tokenizer, change)
    tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    tokenizer.add_tokens(list(more))
    return tokenizer


def charsmap():
    """A small table in place of SentencePiece's own, which has 240 KB."""
    rules = {"ﬁ": "fi", "Ａ": "A", "①": "1", "½": "1/2", "e\u0301": "é", "\u3000": " ", "\t": " ", "\n": " ", "\r": " ", "ﾊﾞ": "バ",
             "\u0001": "", "\ufeff": "", "\u200b": " ", "…": "..."}
    with tempfile.TemporaryDirectory() as directory:
        rule_file, corpus = (pathlib.Path(directory, name) for name in ("rules.tsv", "corpus.txt"))
        rule_file.write_text("".join(f"{' '.join(f'{ord(c):X}' for c in key)}\t{' '.join(f'{ord(c):X}' for c in value)}\n"
                                     for key, value in rules.items()))
        corpus.write_text(SENTENCES * 10)
        model = pathlib.Path(directory, "model")
        sentencepiece.SentencePieceTrainer.train(input=str(corpus), model_prefix=str(model), vocab_size=150, hard_vocab_limit=False,
                                                 normalization_rule_tsv=str(rule_file), minloglevel=2)
        processor = sentencepiece.SentencePieceProcessor(model_file=f"{model}.model")
        proto = processor.serialized_model_proto()
    return table_in(proto)


def table_in(proto):
    """The charsmap of a model: field 2 of field 3 of its message."""
    def fields(data):
        at = 0
        while at < len(data):
            def number():
                nonlocal at
                value = shift = 0
                while True:
                    byte = data[at]
                    at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
                    if byte < 128:
                        return value
            tag = number()
            if tag & 7 == 2:
                length = number()
                yield tag >> 3, data[at:at + length]
                at += length
            elif tag & 7 == 5:
                at += 4
            else:
                number()
    specification = next(data for field, data in fields(proto) if field == 3)
    return next(data for field, data in fields(specification) if field == 2)


def unigram(normalizer, pre_tokenizer, decoder, byte_fallback=False, train_with=None):
    tokenizer = Tokenizer(models.Unigram())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = train_with or pre_tokenizer
    more = BYTES if byte_fallback else []
    trained(tokenizer, trainers.UnigramTrainer(vocab_size=300 + len(more), special_tokens=["<pad>", "</s>", "<unk>", *more], unk_token="<unk>",
                                               show_progress=False))

    def change(document):
        document["model"]["byte_fallback"] = byte_fallback
        document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] not in BYTES]
        document["pre_tokenizer"] = None
    tokenizer = changed(tokenizer, change)
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    return tokenizer


def wordpiece(normalizer, pre_tokenizer):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.WordPiece()
    return trained(tokenizer, trainers.WordPieceTrainer(vocab_size=350, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                                        show_progress=False))


def tokenizers_made():
    metaspace = pre_tokenizers.Metaspace
    table = normalizers.Precompiled(charsmap())
    llama = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    template = processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 0)])
    made = {
        "gpt2": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"]),
        "roberta": byte_level(pre_tokenizers.ByteLevel(), ["<s>", "</s>", AddedToken("[MASK]", lstrip=True, special=True)]),
        "neox": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"], normalizers.NFC(),
                           [AddedToken(" " * count, special=False) for count in (5, 3, 2)]
                           + [AddedToken("foo", single_word=True, rstrip=True, special=False)]),
        "llama3": byte_level(split_then_bytes(LLAMA3), ["<|begin_of_text|>"], ignore_merges=True),
        "deepseek": byte_level(split_then_bytes(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK), ["<｜end▁of▁sentence｜>"]),
        "clip": byte_level(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
                                                    pre_tokenizers.ByteLevel(add_prefix_space=False)]), ["<|endoftext|>"],
                           normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]),
                           end_of_word_suffix="</w>", unk_token="<|endoftext|>"),
        "bytes_alone": byte_level(pre_tokenizers.ByteLevel(use_regex=False), []),
        "llama2": pieces(normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)]), None, llama),
        "mistral": pieces(normalizers.Sequence([]), metaspace(SPACE, prepend_scheme="first", split=False), llama),
        "gemma": pieces(normalizers.Replace(" ", SPACE), pre_tokenizers.Split(" ", "merged_with_previous"),
                        decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]),
                        [AddedToken("\n\n", normalized=False, special=False), AddedToken(SPACE * 2, normalized=False, special=False)]),
        "t5": unigram(table, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace()]), decoders.Metaspace()),
        "xlnet": unigram(normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
                                               normalizers.StripAccents(), normalizers.Lowercase(), table]),
                         pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace()]), decoders.Metaspace()),
        "xlm_roberta": unigram(normalizers.Sequence([table, normalizers.Strip(False, True), normalizers.Replace(Regex(" {2,}"), SPACE)]),
                               metaspace(), decoders.Metaspace()),
        "unigram_bytes": unigram(normalizers.Nmt(), metaspace(prepend_scheme="never", split=False),
                                 decoders.Metaspace(prepend_scheme="never"), True, metaspace()),
        "bert": wordpiece(normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()),
        "wordpiece": wordpiece(normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()]),
                               pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True),
                                                        pre_tokenizers.Punctuation("merged_with_previous")])),
    }
    made["llama3"].post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    prefixed = Tokenizer(models.BPE(unk_token="<unk>"))
    prefixed.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    prefixed.decoder = decoders.BPEDecoder()
    made["prefixed"] = trained(prefixed, trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>"], limit_alphabet=40, show_progress=False,
                                                             continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    return made


def write(directory, name, encode):
    with open(directory / f"{name}.ids", "w") as file:
        for text in texts():
            file.write(" ".join(map(str, encode(text))) + "\n")


def write_ranks(directory):
    """Merges of the sentences' bytes, as tiktoken's own lesson learns them, under the name of each pattern."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    words = [list(bytes([byte]) for byte in word.encode()) for word in SENTENCES.replace(" ", "\0 ").split("\0")]
    while len(ranks) < 420:
        counts = {}
        for word in words:
            for pair in zip(word, word[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=lambda pair: (counts[pair], pair))
        ranks[best[0] + best[1]] = len(ranks)
        for word in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == best:
                    word[at:at + 2] = [best[0] + best[1]]
                at += 1
    with open(directory / "ranks.tiktoken", "w") as file:
        file.writelines(f"{base64.b64encode(text).decode()} {rank}\n" for text, rank in ranks.items())
    from tiktoken_ext import openai_public
    openai_public.load_tiktoken_bpe = lambda *_, **__: ranks
    openai_public.data_gym_to_mergeable_bpe_ranks = lambda *_, **__: ranks
    for name in ("r50k_base", "cl100k_base", "o200k_base"):
        described = openai_public.ENCODING_CONSTRUCTORS[name]()
        described.pop("explicit_n_vocab", None)
        encoding = tiktoken.Encoding(**described)
        write(directory, name, encoding.encode_ordinary)
        if name == "cl100k_base":
            write(directory, name + "_special", lambda text: encoding.encode(text, allowed_special="all"))


def main(directory):
    with open(directory / "texts.jsonl", "w") as file:
        file.writelines(json.dumps(text) + "\n" for text in texts())
    for name, tokenizer in tokenizers_made().items():
        document = json.loads(tokenizer.to_str())
        if name == "gpt2":  # as early versions write it
            del document["model"]["type"]
            document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
        with open(directory / f"{name}.json", "w") as file:
            json.dump(document, file, separators=(",", ":"))

        def encode(text):
            return tokenizer.encode(text, add_special_tokens=False).ids
        if name in ("roberta", "neox", "bert"):
            write(directory, name + "_special", encode)
        tokenizer.encode_special_tokens = True
        write(directory, name, encode)
    write_ranks(directory)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
