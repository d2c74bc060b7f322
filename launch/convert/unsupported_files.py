"""What files of weights are that torch.save has not written, by their first bytes and their names, and what to do with each."""

import os

LFS_POINTER = b"version https://git-lfs.github.com/spec/"  # what Git leaves in place of a file that was not fetched

# First bytes, what such a file is, and what to do.
SIGNATURES = (
    (LFS_POINTER, "Git LFS's pointer to the file; git lfs pull fetches it"),
    (b"GGUF", "GGUF of llama.cpp, whose weights are quantized; take the weights that it was made of"),
    (b"\x89HDF\r\n\x1a\n", "HDF5, as Keras writes it; save the variables as .npz with numpy.savez, which segue import reads"),
    (b"\x93NUMPY", "one array of NumPy; save all of them as .npz with numpy.savez, which segue import reads"),
    (b"\x1f\x8b", "gzip; gunzip it first"), (b"BZh", "bzip2; bunzip2 it first"), (b"\xfd7zXZ\0", "xz; unxz it first"),
    (b"\x28\xb5\x2f\xfd", "Zstandard; unzstd it first"),
)

# Ends of names.
NAMES = (
    (".gguf", SIGNATURES[1][1]), (".ggml", "GGML of llama.cpp, whose weights are quantized; take the weights that it was made of"),
    (".onnx", "ONNX, a graph; take the weights that it was exported from"),
    (".msgpack", "Flax; save its parameters as .npz with numpy.savez, by the names of segue import --help"),
    (".h5", SIGNATURES[2][1]), (".keras", "Keras; save the variables as .npz with numpy.savez, which segue import reads"),
    (".safetensors", "safetensors, which segue import reads itself"),
    (".npz", "NumPy's archive, which segue import --from transformer-xl-tf reads itself"),
    (".distcp", "a part of a distributed checkpoint; python -m torch.distributed.checkpoint.format_utils dcp_to_torch DIRECTORY "
                "model.pt makes one file of it"),
    *((end, "a checkpoint of TensorFlow; read its variables with tf.train.load_checkpoint and save them with numpy.savez as .npz, "
            "which segue import reads") for end in (".ckpt.index", ".ckpt.meta", ".index", ".meta", ".pb")),
    (".metadata", "the list of a distributed checkpoint; python -m torch.distributed.checkpoint.format_utils dcp_to_torch DIRECTORY "
                  "model.pt makes one file of it"),
    (".params", "MXNet; save its arrays as .npz with numpy.savez, by the names of segue import --help"),
)
TAR_AT, TAR = 257, b"ustar"
TAR_IS = "a tar archive, as PyTorch before 0.1.10 or NeMo writes it; load it there and save the state_dict again"
DATA_OF_TENSORFLOW = ".data-0000"


def what_else(path, begin):
    """What the file at `path`, which begins with `begin`, is known to be; None for what may be a file of torch.save. Names count
    where bytes do not tell: a distributed checkpoint is made of files of torch.save."""
    for signature, known in SIGNATURES:
        if begin.startswith(signature):
            return known
    if begin[TAR_AT:TAR_AT + len(TAR)] == TAR:
        return TAR_IS
    name = os.path.basename(path)
    if begin.startswith((b"PK", b"\x80")) and not name.endswith((".distcp", ".metadata")):
        return None
    if DATA_OF_TENSORFLOW in name and "-of-" in name:
        return dict(NAMES)[".ckpt.index"]
    return next((known for end, known in NAMES if name.endswith(end)), None)


def what_directory(path):
    """The same of a directory that has no weights of torch.save."""
    names = os.listdir(path)
    for ends in (".distcp", ".metadata", ".safetensors", ".index", ".pb", ".h5", ".keras", ".msgpack", ".onnx", ".gguf"):
        if any(name.endswith(ends) for name in names):
            return dict(NAMES)[ends]
    return None
