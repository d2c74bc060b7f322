"""launch/convert/convert_torch.py: files of torch.save become what `segue import` reads, nothing of a file is run, and whatever
is no such file, or a hostile one, is refused in one line.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import pickle
import resource
import struct
import subprocess
import sys
import zipfile

import fake_torch
from fake_torch import Storage, Tensor, save_archive, save_old, save_zip, without_sums
from foreign_weights import Module, load, model_of_the_authors, module_of, nvidia_config, nvidia_names
from program import Program, check, evaluate

CONVERTER = pathlib.Path(__file__).resolve().parents[2] / "launch" / "convert" / "convert_torch.py"
VOCABULARY = 60
SECONDS = 20
MODEL = {
    "n_layer": 2, "n_head": 2, "d_model": 32, "d_head": 12, "d_inner": 48, "mem_len": 24, "dropout": 0.1, "dropatt": 0.05,
    "head": {"kind": "adaptive", "cutoffs": [10, 30], "div_val": 2, "tie_projs": [False, True, False]},
}


def convert(program, file, output, expect=0):
    done = subprocess.run([sys.executable, "-B", CONVERTER, file, output], cwd=program.directory, capture_output=True,
                          text=True, env=program.environment, timeout=SECONDS)
    check(done.returncode == expect, f"convert_torch {file}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if expect == 0 else done.stderr


def check_same(found, expected, what):
    check(sorted(found) == sorted(expected), f"{what}: tensors {sorted(set(found) ^ set(expected))} on one side only")
    for name, tensor in expected.items():
        same = [(t.shape, t.storage.dtype, t.storage.data) for t in (found[name], tensor)]
        check(same[0] == same[1], f"{what}: {name} differs")


def loss_of(program, checkpoint):
    return evaluate(program, "--checkpoint", checkpoint, "--data", "text", "--split", "train", "--batch-size", 2)["loss"]


def check_imports(program, source, args, directory, expected_loss):
    program.run("import", "--from", source, "--model", f"{directory}/model.safetensors", "--args", args, "--output",
                f"{directory}-imported")
    loss = loss_of(program, f"{directory}-imported")
    check(loss == expected_loss, f"{source}: loss {loss} after the import, {expected_loss} before")


def check_model_of_the_authors(program, name, tensors, args, loss):
    directory = name + "-converted"
    convert(program, name, directory)
    check_same(load(program.path(directory, "model.safetensors")), tensors, name)
    with open(program.path(directory, "args.json")) as file:
        found = json.load(file)
    wrong = {key: value for key, value in found.items() if args[key] != value}
    check(not wrong, f"{name}: arguments {wrong}, expected {args}")
    check_imports(program, "transformer-xl", f"{directory}/args.json", directory, loss)


def test_models_of_the_authors(program, tensors, args, loss):
    save_archive(program.path("model.pt"), model_of_the_authors(tensors, args))
    save_old(program.path("old.pt"), model_of_the_authors(tensors, args))
    parallel = module_of(Module)
    parallel._modules["module"] = model_of_the_authors(tensors, args)
    save_old(program.path("parallel.pt"), parallel)
    for name in ("model.pt", "old.pt", "parallel.pt"):
        check_model_of_the_authors(program, name, tensors, args, loss)


def test_output_of_another_kind(program):
    kept = "a dataset or a checkpoint"
    for directory, what in (("text", kept), ("run", "a run"), ("model.pt-converted-imported", kept)):
        before = sorted(os.listdir(program.path(directory)))
        errors = convert(program, "model.pt", directory, expect=1)
        check(f"{directory}: expected a directory for weights, found that of {what}; name another" in errors, errors)
        check(sorted(os.listdir(program.path(directory))) == before, f"{directory}: something is written there")


def test_checkpoints_of_nvidia(program, tensors, args, loss):
    state = {f"module.{name}": tensor for name, tensor in nvidia_names(tensors, args).items()}
    save_archive(program.path("nvidia.pt"),
                 {"args": argparse.Namespace(work_dir="LM-TFXL"), "model_config": {**nvidia_config(args), "dtype": None},
                  "model_state": state, "epoch": 3})
    check("--from nvidia" in convert(program, "nvidia.pt", "nvidia"), "nvidia.pt: the next command is not told")
    check_imports(program, "nvidia", "nvidia/args.json", "nvidia", loss)


def test_files_of_hugging_face(program):
    program.run("export", "--checkpoint", "run", "--format", "huggingface", "--output", "exported")
    tensors = load(program.path("exported", "model.safetensors"))
    save_archive(program.path("pytorch_model.bin"), tensors, [("byteorder", "little")], root="pytorch_model")
    convert(program, "pytorch_model.bin", "hugging-face")
    check_same(load(program.path("hugging-face", "model.safetensors")), tensors, "pytorch_model.bin")
    program.run("import", "--from", "huggingface", "--model", "hugging-face/model.safetensors", "--args",
                "exported/config.json", "--output", "hugging-face-imported")


def test_layouts(program):
    """Views of storages that are not contiguous, other types, and those of the old format with an offset."""
    numbers = Storage(struct.pack("<24f", *range(24)))
    half = Storage(bytes(range(12)), "F16")
    state = {"word_emb.emb_layers.0.weight": Tensor(numbers, (4, 3), (1, 4), 2),
             "three": Tensor(numbers, (2, 3, 2), (1, 4, 13)), "row": Tensor(numbers, (5,), (4,), 3),
             "half": Tensor(half, (3, 2), (1, 3)), "none": Tensor(numbers, (0, 3)), "one": Tensor(numbers, (), (), 7)}
    expected = {"word_emb.emb_layers.0.weight": [2 + i + 4 * j for i in range(4) for j in range(3)],
                "three": [i + 4 * j + 13 * k for i in range(2) for j in range(3) for k in range(2)],
                "row": [3, 7, 11, 15, 19], "none": [], "one": [7]}
    for save in (save_archive, save_old):
        save(program.path("layouts.pt"), state)
        convert(program, "layouts.pt", "layouts")
        found = load(program.path("layouts", "model.safetensors"))
        for name, values in expected.items():
            check(found[name].storage.data == struct.pack(f"<{len(values)}f", *values), f"{save.__name__}: {name} differs")
        check(found["half"].storage.data == bytes([0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]), "half differs")
    view = Storage(struct.pack("<8f", *range(8)), view=("v", 3, 4))
    save_old(program.path("view.pt"), {"word_emb.emb_layers.0.weight": Tensor(view, (2, 2))})
    convert(program, "view.pt", "view")
    found = load(program.path("view", "model.safetensors"))["word_emb.emb_layers.0.weight"]
    check(found.storage.data == struct.pack("<4f", 3, 4, 5, 6), "a view of the old format differs")


def test_what_lies_beside(program):
    """What checkpoints hold besides weights, of Python's own and of an optimizer, is passed over; so are keys that name nothing."""
    eight = Storage(struct.pack("<8f", *range(8)))
    beside = [collections.deque([1, 2], 5), collections.defaultdict(list, a=[1]), collections.defaultdict(int), datetime.datetime.now(),
              datetime.timedelta(3), {1, 2}, frozenset([3]), range(3), slice(1, 2), 1j, bytearray(b"a"), b"a", int, str,
              pathlib.PurePosixPath("/data"), pathlib.PureWindowsPath("c:/data"), pathlib.Path("data")]
    config = argparse.Namespace(work_dir=pathlib.Path("LM-TFXL"), cutoffs=[1])
    state = {(0, 1): 1, "expanded": Tensor(eight, (3, 8), (0, 1))}
    for save in (save_archive, save_old):
        save(program.path("beside.pt"), {"config": config, "beside": beside, "optimizer": state, "model_config": {"n_layer": 2},
                                         "model_state": weights(eight, (2, 4))})
        convert(program, "beside.pt", "beside")
        found = load(program.path("beside", "model.safetensors"))["word_emb.emb_layers.0.weight"]
        check(found.storage.data == eight.data, f"{save.__name__}: the weights differ")
    save_zip(program.path("newer.pt"), b"\x80\x02}(X\6\0\0\0configcpathlib._local\nPosixPath\nX\1\0\0\0a\x85RX\5\0\0\0state}u.")
    check("found a dictionary with config, state" in convert(program, "newer.pt", "newer", expect=1), "pathlib._local is refused")


def test_wrapped(program):
    """Weights inside of dictionaries, under prefixes, without checksums."""
    eight = Storage(struct.pack("<8f", *range(8)))
    state = {**weights(eight, (2, 4)), "layers.0.dec_attn.qkv_net.weight": Tensor(eight, (4, 2))}
    moments = {"state": {0: {"exp_avg": Tensor(eight, (8,))}}, "param_groups": [{"lr": 0.1}]}
    sizes = {"n_token": 2, "n_layer": 1, "n_head": 1, "d_model": 4, "d_head": 4, "d_inner": 4, "tgt_len": 8, "mem_len": 8}
    other = {"ema.weight": Tensor(eight, (8,))}

    def prefixed(prefix, middle=""):
        return {prefix + name.replace("layers.0.", "layers.0." + middle): tensor for name, tensor in state.items()}

    files = {
        "loop": {"model_state_dict": state, "optimizer_state_dict": moments, "epoch": 3, "loss": Tensor(eight, ()), "rng": Tensor(eight, (8,))},
        "state_dict": {"epoch": 1, "state_dict": state}, "module": {"module": prefixed("module."), "ds_version": "0.19", "mp_world_size": 1},
        "lightning": {"pytorch-lightning_version": "2.6", "global_step": 9, "state_dict": prefixed("model."), "optimizer_states": [moments],
                      "hyper_parameters": {**sizes, "lr": 0.1, "batch_size": 3}},
        "compiled": prefixed("_orig_mod."), "both": prefixed("module._orig_mod."), "fsdp": prefixed("", "_fsdp_wrapped_module."),
        "averaged": {"n_averaged": Tensor(Storage(bytes(8), "I64", key="9"), ()), **prefixed("module.")},
        "deep": {"checkpoint": {"model": state, "step": 4}}, "average": {"model": state, "ema": dict(state), "other": other},
        "namespace": {"model": state, "args": argparse.Namespace(**sizes, lr=0.1, work_dir=pathlib.Path("a"), cutoffs=[1])},
        "clusters": {"model": state, "args": argparse.Namespace(**sizes, adaptive=True)}, "counter": {**state, "step": 5},
    }
    for name, value in files.items():
        save_archive(program.path(name + ".pt"), value)
        without_sums(program.path(name + ".pt"))
        convert(program, name + ".pt", name)
        found = load(program.path(name, "model.safetensors"))
        check(sorted(found) == sorted(state), f"{name}: {sorted(found)}")
        check(all(tensor.storage.data == eight.data for tensor in found.values()), f"{name}: the weights differ")
        has_arguments = os.path.exists(program.path(name, "args.json"))
        check(has_arguments == (name in ("lightning", "namespace")), f"{name}: arguments {has_arguments}")
    with open(program.path("lightning", "args.json")) as file:
        check(json.load(file) == sizes, "lightning: arguments")
    for value, says in (({"a": state, "b": dict(state)}, "those of a and b"), ({"module": state, "mp_world_size": 2}, "zero_to_fp32.py")):
        save_archive(program.path("several.pt"), value)
        check(says in convert(program, "several.pt", "several", expect=1), says)


def vocabulary(words):
    """As a corpus of the authors' code holds it, and Hugging Face's tokenizer keeps it."""
    return {"counter": collections.Counter(words), "special": ["<eos>"], "min_freq": 0, "max_size": None, "lower_case": False, "delimiter": None,
            "vocab_file": None, "idx2sym": words, "sym2idx": collections.OrderedDict((word, i) for i, word in enumerate(words)), "unk_idx": 1}


def test_vocabularies(program):
    words = ["<eos>", "<unk>", "naïve", *(f"w{i}" for i in range(300))]
    vocab, corpus = fake_torch.add_class("vocabulary", "Vocab")(), fake_torch.add_class("data_utils", "Corpus")()
    vocab.__dict__.update(vocabulary(words))
    corpus.vocab, corpus.train = vocab, Tensor(Storage(bytes(32)), (8,))
    for name, save in (("vocab.bin", lambda path: save_old(path, vocabulary(words))), ("new.bin", lambda path: save_archive(path, vocabulary(words))),
                       ("cache.pt", lambda path: save_old(path, corpus)), ("vocab.pt", lambda path: save_archive(path, vocab)),
                       ("vocab.pkl", lambda path: pathlib.Path(path).write_bytes(pickle.dumps(vocabulary(words), protocol=4)))):
        save(program.path(name))
        said = convert(program, name, name + "-words")
        check("303 words" in said and f"--tokenizer {name}-words/vocabulary.txt --eos line" in said, said)
        found = pathlib.Path(program.path(name + "-words", "vocabulary.txt")).read_text(encoding="utf-8")
        check(found == "".join(word + "\n" for word in words), f"{name}: other words")
    for wrong, says in ((["32", "101"], "found 2 symbols: segue prepare --tokenizer enwik8"), ([*words, "a b"], "word 303: expected text without white"),
                        ([*words, "w1"], "word 303: expected another one, found w1"), ([*words, 5], "word 303"), ([*words, ""], "word 303")):
        save_old(program.path("wrong.bin"), {"idx2sym": wrong})
        errors = convert(program, "wrong.bin", "wrong-words", expect=1)
        check(says in errors and len(errors.splitlines()) == 1 and not os.path.exists(program.path("wrong-words")), errors)


def test_shards(program):
    eight = Storage(struct.pack("<8f", *range(8)))
    names = ["word_emb.emb_layers.0.weight", "r_w_bias"]
    os.mkdir(program.path("sharded"))
    for number, name in enumerate(names):
        save_archive(program.path("sharded", f"pytorch_model-{number}.bin"), {name: Tensor(eight, (2, 4))})
    where = {name: f"pytorch_model-{number}.bin" for number, name in enumerate(names)}

    def listed(weight_map):
        program.write("sharded/pytorch_model.bin.index.json", json.dumps({"metadata": {}, "weight_map": weight_map}))

    listed(where)
    for source in ("sharded", "sharded/pytorch_model.bin.index.json"):
        convert(program, source, "joined")
        found = load(program.path("joined", "model.safetensors"))
        check(sorted(found) == sorted(names) and all(t.storage.data == eight.data for t in found.values()), f"{source} differs")
    for wrong, says in (({**where, "r_r_bias": "pytorch_model-1.bin"}, "found none: r_r_bias"), ({names[0]: "pytorch_model-1.bin"}, "pytorch_model-1.bin: "),
                        ({**where, "r_w_bias": "../pytorch_model-1.bin"}, "beside the list"), ({**where, "r_w_bias": "none.bin"}, "no such file"),
                        ({"a": "model-1.safetensors"}, "segue import"), ({}, "weight_map"), ([], "weight_map")):
        listed(wrong)
        errors = convert(program, "sharded", "wrong", expect=1)
        check(says in errors and len(errors.splitlines()) == 1, f"{says}: {errors}")


def test_unsupported_files(program):
    """What is no file of torch.save is named, with what to do."""
    files = {"a.gguf": (b"GGUF", "GGUF"), "a.onnx": (b"\x08\x07", "ONNX"), "a.h5": (b"\x89HDF\r\n\x1a\n", "Keras"), "a.msgpack": (b"\x81\xa5", "Flax"),
             "model.ckpt-1.index": (b"a", "TensorFlow"), "model.ckpt-1.data-00000-of-00001": (b"a", "TensorFlow"), "__0_0.distcp": (b"PK\3\4", "distributed"),
             ".metadata": (b"\x80\4N.", "distributed"), "a.tar": (bytes(257) + b"ustar", "tar"), "a.safetensors": (bytes(8) + b"{}", "segue import"),
             "a.npy": (b"\x93NUMPY", "NumPy"), "a.gz": (b"\x1f\x8b\x08", "gunzip")}
    for name, (content, says) in files.items():
        pathlib.Path(program.path(name)).write_bytes(content)
        errors = convert(program, name, "named", expect=1)
        check(says in errors and len(errors.splitlines()) == 1, f"{name}: {errors}")
    os.mkdir(program.path("parts"))
    os.rename(program.path("__0_0.distcp"), program.path("parts", "__0_0.distcp"))
    check("dcp_to_torch" in convert(program, "parts", "named", expect=1), "a distributed checkpoint")
    os.mkdir(program.path("nothing"))
    check("found 0 of them" in convert(program, "nothing", "named", expect=1), "an empty directory")


def test_failed_writing(program):
    """Neither file is replaced where one of them cannot be, and the error is that of the writing."""
    save_archive(program.path("sound.pt"), {"model_state": weights(Storage(bytes(32)), (2, 4)), "model_config": {"n_layer": 2}})
    os.makedirs(program.path("taken", "args.json"))
    errors = convert(program, "sound.pt", "taken", expect=1)
    check("args.json" in errors and "directory" in errors and len(errors.splitlines()) == 1, errors)
    check(os.listdir(program.path("taken")) == ["args.json"], f"half of it was written: {os.listdir(program.path('taken'))}")
    full = [sys.executable, "-B", CONVERTER, "sound.pt", "full"]
    done = subprocess.run(full, cwd=program.directory, capture_output=True, text=True, env=program.environment, timeout=SECONDS,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    check(done.returncode == 1 and "File too large" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
    check(not os.path.exists(program.path("full")), "a directory was left behind")


class Harmful:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def weights(storage, *layout):
    return {"word_emb.emb_layers.0.weight": Tensor(storage, *layout)}


def nested_lists(levels):
    """A list of two that are the same list of two, and so on: small in the file, endless for who walks through it."""
    value = []
    for _ in range(levels):
        value = [value, value]
    return value


def shared_modules(levels):
    module = module_of(Module)
    for _ in range(levels):
        outer = module_of(Module)
        outer._modules.update(a=module, b=module)
        module = outer
    return module


def hostile_files(program):
    """Name, who writes it, and words of the refusal."""
    path, eight = program.path, Storage(bytes(32))

    def pickled(data):
        return lambda file: save_zip(file, data)

    def written(data):
        return lambda file: pathlib.Path(file).write_bytes(data)

    def archived(value, *arguments, **keywords):
        return lambda file: save_archive(file, value, *arguments, **keywords)

    def old(value, *arguments):
        return lambda file: save_old(file, value, *arguments)

    def cut(save, value, bytes_kept):
        def save_cut(file):
            save(file, value)
            data = pathlib.Path(file).read_bytes()
            pathlib.Path(file).write_bytes(data[:bytes_kept])
        return save_cut

    touch = f"touch {path('harmed')}"
    key = b"\x8c\x1cword_emb.emb_layers.0.weight"
    tuples = b"\x80\x04)\x940" + b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86\x940" for i in range(10))
    def linear(name, tensor):
        return archived({**weights(eight, (2, 4)), "layers.0.dec_attn.qkv_net." + name: tensor})

    def changed(at):
        def save(file):
            save_archive(file, weights(eight, (2, 4)))
            data = bytearray(pathlib.Path(file).read_bytes())
            data[data.index(eight.data if at == "data" else key[2:])] ^= 1
            pathlib.Path(file).write_bytes(data)
        return save

    yield "changed-data", changed("data"), "expected the checksum"
    yield "changed-pickle", changed("pickle"), "expected the checksum"
    yield "float8", linear("weight", fake_torch.TensorOfBytes(Storage(bytes(8), "bytes"), (8,))), "torch.float8_e4m3fn"
    yield "int8", linear("weight", Tensor(Storage(bytes(8), "I8"), (8,))), "quantized"
    yield "quantized", linear("weight", fake_torch.Quantized(eight, (8,))), "dequantize()"
    yield "weight-norm", linear("weight_g", Tensor(eight, (8,))), "remove_weight_norm"
    yield "flat", linear("_flat_param", Tensor(eight, (8,))), "FULL_STATE_DICT"
    yield "beyond-bytes", linear("weight", fake_torch.TensorOfBytes(Storage(bytes(8), "bytes"), (9,))), "reaches element 8"
    yield "system", archived({"model_state": Harmful(os.system, touch)}), "asks for posix.system"
    yield "system-old", old({"model_state": Harmful(os.system, touch)}), "asks for posix.system"
    yield "exec", archived(Harmful(exec, f"open({path('harmed')!r}, 'w')")), "asks for __builtin__.exec"
    yield "getattr", archived(Harmful(getattr, "a", "upper")), "asks for __builtin__.getattr"
    yield "protocol0", written(b"cos\nsystem\n(S'" + touch.encode() + b"'\ntR."), "expected a file of torch.save"
    yield "plain-pickle", written(pickle.dumps(Harmful(os.system, touch))), "asks for posix.system"
    yield "inst", pickled(b"(S'" + touch.encode() + b"'\nios\nsystem\n."), "asks for os.system"
    yield "stack-global", pickled(b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x01a\x85R."), "asks for os.system"
    yield "hub", pickled(b"\x80\x02ctorch.hub\nload\nU\x01a\x85R."), "asks for torch.hub.load"
    yield "terminal", pickled(b"\x80\x02c\x1b[31mos\nsystem\n."), "asks for ?[31mos.system"
    yield "extension", pickled(b"\x80\x02\x82\x01."), "opcode EXT1"
    yield "buffers", pickled(b"\x80\x05\x97."), "opcode NEXT_BUFFER"
    yield "state-of-a-function", pickled(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}U\x04codeK\x01sb."), "found Global"
    yield "script", archived(weights(eight, (2, 4)), [("constants.pkl", b""), ("code/__torch__.py", b"")]), "TorchScript"
    yield "compressed", archived(weights(Storage(bytes(1 << 22)), (1 << 20,)), compression=zipfile.ZIP_DEFLATED), "uncompressed"
    yield "big-endian", archived(weights(eight, (2, 4)), [("byteorder", "big")]), "little-endian"
    yield "big-endian-old", old(weights(eight, (2, 4)), False), "little-endian"
    yield "beyond", archived(weights(eight, (3, 3))), "reaches element 8 of a storage of 8"
    yield "offset", archived(weights(eight, (2, 2), (2, 1), 5)), "reaches element 8 of a storage of 8"
    yield "strides", archived(weights(eight, (2, 2), (7, 1))), "reaches element 8 of a storage of 8"
    yield "expanded", archived(weights(eight, (1 << 40, 1), (0, 0))), "repeats elements"
    yield "negative", archived(weights(eight, (2, 2), (-1, 1))), "expected a tensor of"
    yield "huge", archived(weights(eight, (1 << 70,))), "expected a tensor of"
    large = Tensor(Storage(bytes(1 << 16)), (1 << 14,))
    yield "copies", archived(weights(eight, (8,)) | {f"copy{i}": large for i in range(500)}), "views"
    yield "size", archived(weights(Storage(bytes(32), numel=9), (3, 3))), "expected 36 bytes, found 32"
    yield "size-old", cut(save_old, weights(eight, (2, 4)), -4), "the file ends at byte"
    yield "member", archived(weights(Storage(bytes(32), key="../../0"), (3, 4))), "reaches element"
    yield "cut-archive", cut(save_archive, weights(eight, (2, 4)), 200), "a damaged one"
    yield "cut-old", cut(save_old, weights(eight, (2, 4)), 150), "a damaged one"
    yield "no-pickle", lambda file: zipfile.ZipFile(file, "w").writestr("a", "b"), "data.pkl"
    yield "memo", pickled(b"\x80\x02Nr\xff\xff\0\0."), "found NoneType"
    yield "long-text", pickled(b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b"a."), "a damaged one"
    yield "deep", pickled(b"\x80\x04" + b"(" * 1000000 + b"l" * 1000000 + b"."), "found list"
    yield "number", pickled(b"I" + b"9" * 1000000 + b"\n."), "a damaged one"
    # A key whose hash takes twice as long with every level of tuples: few levels, as many would keep Python's unpickler (3.11) for ever.
    yield "hash", pickled(tuples + b"}" + b"h\x0aK\x01s."), "found a dictionary with nothing"
    yield "copies-of-a-list", pickled(b"\x80\x02ccollections\nOrderedDict\nq\0](" + b"K\0N\x86" * 20000 + b"e\x85q\1" +
                                      b"h\0h\1R" * 300 + b"."), "copies more than"
    yield "copies-of-a-state", pickled(b"\x80\x04}\x94(" + b"".join(b"\x8c\x05%05dN" % i for i in range(20000)) + b"u" +
                                       b"cargparse\nNamespace\n)Rh\0b" * 300 + b"."), "copies more than"
    yield "keys-old", written(b"".join(pickle.dumps(part, protocol=2) for part in (
        fake_torch.MAGIC_NUMBER, fake_torch.PROTOCOL_VERSION, {"little_endian": True}, {}, [nested_lists(60)]))), "the keys of all storages"
    yield "lists", archived({"model_state": weights(eight, (2, 4)), "model_config": {"n_layer": nested_lists(60)}}), None
    yield "modules", archived(shared_modules(40)), "too many modules"
    yield "text-key", pickled(b"\x80\x04}" + key + b"K\x01s."), "expected a model"
    yield "underflow", pickled(b"\x80\x04R."), "an object that is not there"
    yield "empty", written(b""), "found an empty one"
    yield "text", written(b"no file of torch.save"), "expected a file of torch.save"
    yield "list", archived([1, 2]), "found list"
    yield "other", archived({"weight": Tensor(eight, (8,))}), "expected the tensors of a Transformer-XL"


def test_refusals(program):
    count = 0
    for name, save, says in hostile_files(program):
        save(program.path(name + ".pt"))
        errors = convert(program, name + ".pt", "refused", expect=1 if says else 0)
        if says:
            check(len(errors.splitlines()) == 1 and says in errors and name + ".pt: " in errors, f"{name}: {errors}")
            check(not os.path.exists(program.path("refused")), f"{name}: something was written")
        else:
            subprocess.run(["rm", "-r", program.path("refused")], check=True)
        check(not os.path.exists(program.path("harmed")), f"{name} was run")
        count += 1
    check("no such file" in convert(program, "none.pt", "refused", expect=1), "none.pt")
    program.write("pointer.pt", f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 1234567\n")
    check("git lfs pull" in convert(program, "pointer.pt", "refused", expect=1), "a pointer of Git LFS")
    print(f"{count} hostile files")


def main():
    program = Program()
    program.prepare_tokens("text", VOCABULARY, train=[(i * i + i // 7) % VOCABULARY for i in range(2000)])
    config = program.config("config.json", data={"path": "text"}, model=MODEL, evaluation={"interval": 0},
                            training={"batch_size": 2, "tgt_len": 16, "max_step": 3}, checkpoint={"interval": 0})
    program.run("train", config, "--run", "run")
    program.run("export", "--checkpoint", "run", "--output", "model.safetensors", "--args", "args.json")
    tensors = load(program.path("model.safetensors"))
    with open(program.path("args.json")) as file:
        args = json.load(file)
    loss = loss_of(program, "run")
    test_models_of_the_authors(program, tensors, args, loss)
    test_output_of_another_kind(program)
    test_checkpoints_of_nvidia(program, tensors, args, loss)
    test_files_of_hugging_face(program)
    test_layouts(program)
    test_what_lies_beside(program)
    test_wrapped(program)
    test_vocabularies(program)
    test_shards(program)
    test_unsupported_files(program)
    test_failed_writing(program)
    test_refusals(program)


main()
