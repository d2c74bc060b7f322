"""Files as torch.save writes them, in both of its formats, without torch: objects of modules that only look like it.

Python's own pickler writes them, so they hold the opcodes of real files, whatever is put into them.
"""

import collections
import io
import pickle
import struct
import sys
import types
import zipfile

MAGIC_NUMBER, PROTOCOL_VERSION = 0x1950A86A20F9469CFC6C, 1001
STORAGE_TYPES = {"F32": "FloatStorage", "F16": "HalfStorage", "BF16": "BFloat16Storage", "I64": "LongStorage", "I8": "CharStorage"}
ITEM_BYTES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I8": 1, "bytes": 1}


def add_module(name):
    module = sys.modules.setdefault(name, types.ModuleType(name))
    if "." in name:
        parent, _, last = name.rpartition(".")
        setattr(add_module(parent), last, module)
    return module


def add_class(module, name, base=object):
    made = type(name, (base,), {"__module__": module})
    setattr(add_module(module), name, made)
    return made


def add_function(module, name):
    def function(*arguments):
        raise NotImplementedError
    function.__module__, function.__qualname__, function.__name__ = module, name, name
    setattr(add_module(module), name, function)
    return function


for storage_type in STORAGE_TYPES.values():
    add_class("torch", storage_type)
rebuild_tensor = add_function("torch._utils", "_rebuild_tensor_v2")
add_class("torch.storage", "UntypedStorage")
rebuild_tensor_of_bytes = add_function("torch._utils", "_rebuild_tensor_v3")
rebuild_parameter = add_function("torch._utils", "_rebuild_parameter")
rebuild_quantized = add_function("torch._utils", "_rebuild_qtensor")
add_class("torch", "float8_e4m3fn")


class Storage:
    def __init__(self, data, dtype="F32", numel=None, key=None, view=None):
        self.data, self.dtype, self.view = data, dtype, view
        self.numel = len(data) // ITEM_BYTES[dtype] if numel is None else numel
        self.key = key

    def identity(self):
        kind = sys.modules["torch.storage"].UntypedStorage if self.dtype == "bytes" else getattr(sys.modules["torch"], STORAGE_TYPES[self.dtype])
        return "storage", kind, self.key, "cpu", self.numel


class Tensor:
    def __init__(self, storage, shape, stride=None, offset=0):
        self.storage, self.shape, self.offset = storage, tuple(shape), offset
        self.stride = stride
        if stride is None:
            self.stride, step = (), 1
            for extent in reversed(self.shape):
                self.stride, step = (step, *self.stride), step * extent

    def __reduce__(self):
        return rebuild_tensor, (self.storage, self.offset, self.shape, self.stride, False, collections.OrderedDict())


class TensorOfBytes:
    """As PyTorch saves types without a storage of their own."""

    def __init__(self, storage, shape, dtype="float8_e4m3fn"):
        self.arguments = (storage, 0, tuple(shape), tuple([1] * len(shape)), False, collections.OrderedDict(),
                          getattr(sys.modules["torch"], dtype))

    def __reduce__(self):
        return rebuild_tensor_of_bytes, self.arguments


class Quantized:
    def __init__(self, storage, shape):
        self.arguments = storage, 0, tuple(shape), (1,), (), False, collections.OrderedDict()

    def __reduce__(self):
        return rebuild_quantized, self.arguments


class Parameter:
    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        return rebuild_parameter, (self.tensor, True, collections.OrderedDict())


class Pickler(pickle.Pickler):
    """Gives each storage its key when it is met; in the old format, classes of models come with their source."""

    def __init__(self, file, is_old):
        super().__init__(file, protocol=2)
        self.storages, self.is_old, self.named = [], is_old, set()

    def persistent_id(self, value):
        if isinstance(value, Storage):
            if value not in self.storages:
                self.storages.append(value)
                value.key = value.key or str(len(self.storages) - 1)
            return (*value.identity(), value.view) if self.is_old else value.identity()
        if self.is_old and isinstance(value, type) and value.__module__ == "mem_transformer" and value not in self.named:
            self.named.add(value)
            return "module", value, "mem_transformer.py", "class MemTransformerLM: ..."
        return None


def save_archive(path, value, members=(), root="archive", compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    pickler = Pickler(buffer, False)
    pickler.dump(value)
    save_zip(path, buffer.getvalue(), {s.key: s.data for s in pickler.storages}, members, root, compression)


def save_zip(path, data, storages=None, members=(), root="archive", compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(f"{root}/data.pkl", data)
        for key, content in (storages or {}).items():
            archive.writestr(f"{root}/data/{key}", content)
        archive.writestr(f"{root}/version", "3\n")
        for name, content in members:
            archive.writestr(f"{root}/{name}", content)


def without_sums(path):
    """As torch.serialization.set_crc32_options(False) leaves an archive: without checksums."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    for signature, at in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        begin = data.find(signature)
        while begin >= 0:
            data[begin + at:begin + at + 4] = bytes(4)
            begin = data.find(signature, begin + 4)
    with open(path, "wb") as file:
        file.write(data)


def save_old(path, value, little_endian=True):
    buffer = io.BytesIO()
    pickler = Pickler(buffer, True)
    pickler.dump(value)
    sizes = {"short": 2, "int": 4, "long": 4}
    with open(path, "wb") as file:
        for part in (MAGIC_NUMBER, PROTOCOL_VERSION,
                     {"protocol_version": PROTOCOL_VERSION, "little_endian": little_endian, "type_sizes": sizes}):
            pickle.dump(part, file, protocol=2)
        file.write(buffer.getvalue())
        storages = sorted(pickler.storages, key=lambda storage: storage.key)
        pickle.dump([storage.key for storage in storages], file, protocol=2)
        for storage in storages:
            file.write(struct.pack("<q", storage.numel) + storage.data)
