"""Reads the pickles in files of torch.save without Python's unpickler: nothing of them is run, whoever wrote them.

A pickle is a program; its opcodes are carried out here as far as they make data. A file that asks for anything but tensors,
containers and the classes of the programs named in convert_torch.py is refused.
"""

import collections
import math
import pickletools
import struct

MOST_DIMENSIONS = 8
MOST_COPIED = 1 << 22  # items that one object has of another: few opcodes ask for many copies of a large one

# By PyTorch's names of storages: as safetensors writes them, and bytes of an element.
STORAGES = {
    "FloatStorage": ("F32", 4), "DoubleStorage": ("F64", 8), "HalfStorage": ("F16", 2), "BFloat16Storage": ("BF16", 2),
    "LongStorage": ("I64", 8), "IntStorage": ("I32", 4), "ShortStorage": ("I16", 2), "CharStorage": ("I8", 1),
    "ByteStorage": ("U8", 1), "BoolStorage": ("BOOL", 1), "UntypedStorage": ("bytes", 1),
    "ComplexFloatStorage": ("torch.complex64", 8), "ComplexDoubleStorage": ("torch.complex128", 16),
    "QInt8Storage": ("torch.qint8", 1), "QUInt8Storage": ("torch.quint8", 1), "QInt32Storage": ("torch.qint32", 4),
    "QUInt4x2Storage": ("torch.quint4x2", 1), "QUInt2x4Storage": ("torch.quint2x4", 1),
}

# The same by PyTorch's names of types; those that safetensors or `segue import` lacks keep their names, for messages.
DTYPES = {
    "float32": ("F32", 4), "float64": ("F64", 8), "float16": ("F16", 2), "bfloat16": ("BF16", 2), "int64": ("I64", 8),
    "int32": ("I32", 4), "int16": ("I16", 2), "int8": ("I8", 1), "uint8": ("U8", 1), "bool": ("BOOL", 1),
    "uint16": ("U16", 2), "uint32": ("U32", 4), "uint64": ("U64", 8), "half": ("F16", 2), "float": ("F32", 4),
    "double": ("F64", 8), "long": ("I64", 8), "complex32": ("torch.complex32", 4),
    **{name: (f"torch.{name}", size) for name, size in (
        ("complex64", 8), ("complex128", 16), ("qint8", 1), ("quint8", 1), ("qint32", 4), ("quint4x2", 1), ("quint2x4", 1),
        ("float8_e4m3fn", 1), ("float8_e5m2", 1), ("float8_e4m3fnuz", 1), ("float8_e5m2fnuz", 1), ("float8_e8m0fnu", 1),
        ("float4_e2m1fn_x2", 1))},
}
PLAIN = set("F64 F32 F16 BF16 I64 I32 I16 I8 U8 U16 U32 U64 BOOL".split())  # what safetensors has

# Classes whose objects are kept as attributes: of PyTorch, of these programs, and of what their checkpoints hold besides.
PACKAGES = ("torch.nn", "torch.optim", "mem_transformer", "proj_adaptive_softmax", "log_uniform_sampler", "data_parallel",
            "vocabulary", "data_utils", "lamb", "pytorch_lightning", "lightning", "lightning_fabric", "omegaconf", "deepspeed",
            "ml_collections", "easydict", "numpy.random", "numpy.dtypes")
NUMBERS_OF_NUMPY = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f2": "e",
                    "f4": "f", "f8": "d"}
CLASSES = {
    ("torch", "Tensor"), ("torch", "Generator"), ("torch.torch_version", "TorchVersion"), ("torch.serialization", "_get_layout"),
    *(("torch", name) for name in (
        "strided", "contiguous_format", "channels_last", "preserve_format", "per_tensor_affine", "per_channel_affine",
        "per_tensor_symmetric", "per_channel_symmetric")),
    ("copyreg", "_reconstructor"), ("copy_reg", "_reconstructor"), ("builtins", "object"), ("__builtin__", "object"),
    ("decimal", "Decimal"), ("uuid", "UUID"), ("_io", "BytesIO"), ("types", "SimpleNamespace"), ("typing", "Any"),
    *(("numpy", name) for name in (
        "bool", "bool_", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "str_", "uint8", "uint16", "uint32",
        "uint64")),
    ("argparse", "Namespace"), ("collections", "Counter"), ("numpy", "dtype"), ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"), ("collections", "deque"),
    *((module, name) for module in ("builtins", "__builtin__") for name in (
        "bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "long", "range", "set", "slice",
        "str", "tuple", "unicode", "xrange")),
    *((module, name) for module in ("pathlib", "pathlib._local") for name in (
        "Path", "PosixPath", "PurePath", "PurePosixPath", "PureWindowsPath", "WindowsPath")),
    *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
}


class Refusal(Exception):
    pass


Global = collections.namedtuple("Global", "module name")
Storage = collections.namedtuple("Storage", "dtype item_bytes key numel first")  # `first` element within the stored ones
Tensor = collections.namedtuple("Tensor", "storage offset shape stride")
OtherTensor = collections.namedtuple("OtherTensor", "kind advice")  # one that is not elements in a storage
MARK = object()


class Object:
    """Stands for an object of a class: has its attributes, and items if it is a dictionary of sorts, and does nothing."""

    def __init__(self, *arguments):
        self.arguments, self.attributes, self.items = arguments, {}, {}


def require(condition, message):
    if not condition:
        raise Refusal(message)


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 48


def known_global(module, name):
    package = module.removeprefix("utils.")
    is_class = (module, name) in MAKERS or (module, name) in CLASSES or any(
        package == known or package.startswith(known + ".") for known in PACKAGES)
    is_type = module in ("torch", "torch.storage") and (name in STORAGES or name in DTYPES)
    require(is_class or is_type, f"the pickle asks for {one_line(f'{module}.{name}')}, which no weights of a "
            "Transformer-XL need: refused, and nothing of it was run; torch.save(model.state_dict(), ...) saves the weights alone")
    return Global(module, name)


def make_tensor(storage, offset, shape, stride, *_):
    fits = isinstance(storage, Storage) and is_count(offset) and isinstance(shape, tuple) and isinstance(stride, tuple)
    fits = fits and len(shape) == len(stride) <= MOST_DIMENSIONS and all(map(is_count, shape + stride))
    require(fits, "expected a tensor of a storage, an offset, a shape and strides, found others")
    numel = math.prod(shape)
    last = offset + sum((extent - 1) * step for extent, step in zip(shape, stride)) if numel else offset - 1
    require(last < storage.numel, f"a tensor of shape {list(shape)}, strides {list(stride)} and offset {offset} reaches "
            f"element {last} of a storage of {storage.numel}")
    return Tensor(storage, offset, shape, stride)


def make_tensor_of_bytes(storage, offset, shape, stride, _, __, dtype, *___):
    """As PyTorch saves the types that have no storage of their own; `offset` counts elements."""
    fits = isinstance(storage, Storage) and storage.dtype == "bytes" and isinstance(dtype, Global) and dtype.name in DTYPES
    require(fits, "expected a tensor of bytes and a type, found others")
    name, item_bytes = DTYPES[dtype.name]
    require(storage.numel % item_bytes == 0, f"a storage of {storage.numel} bytes, which are no {dtype.name}")
    return make_tensor(storage._replace(dtype=name, item_bytes=item_bytes, numel=storage.numel // item_bytes), offset, shape, stride)


def make_tensor_of_class(function, _, arguments, *__):
    maker = MAKERS.get(tuple(function)) if isinstance(function, Global) else None
    require(maker in (make_tensor, make_tensor_of_bytes, make_parameter) and isinstance(arguments, tuple),
            "expected a tensor of a class of its own, found something else")
    return maker(*arguments)


def make_parameter(tensor, *_):
    return tensor


def other_tensor(kind, advice):
    return lambda *_: OtherTensor(kind, advice)


def make_number(dtype, data=b"", *_):
    """A number of NumPy's; others are objects."""
    code = dtype.arguments[0] if isinstance(dtype, Object) and dtype.arguments else None
    letter = NUMBERS_OF_NUMPY.get(code) if isinstance(code, str) else None
    data = data.encode("latin-1", "replace") if isinstance(data, str) else data
    if letter is None or not isinstance(data, bytes) or len(data) != struct.calcsize("<" + letter):
        return Object()
    return struct.unpack("<" + letter, data)[0]


def require_no_repeats(name, tensor):
    """Of a tensor that is to be written; others, as statistics expanded to a shape, may be what they like."""
    repeats = any(extent > 1 and step == 0 for extent, step in zip(tensor.shape, tensor.stride))
    require(not repeats and math.prod(tensor.shape) <= tensor.storage.numel, f"{one_line(name)}: a tensor of shape "
            f"{list(tensor.shape)} and strides {list(tensor.stride)} repeats elements of its storage")


def make_dict(items=(), *_):
    made = {}
    require(isinstance(items, (list, tuple)), "expected a list of pairs, found something else")
    for item in items:
        require(isinstance(item, (list, tuple)) and len(item) == 2, "expected a list of pairs, found something else")
        set_item(made, *item)
    return made


def set_item(target, key, value):
    if isinstance(target, dict):
        if key is None or isinstance(key, (str, bytes, int, float)):  # others name no tensor, and may hash for ever
            target[key] = value
    else:
        require(isinstance(target, Object), f"expected a dictionary, found {kind_of(target)}")
        if isinstance(key, str):
            target.items[key] = value


# What a file may call while it is read.
MAKERS = {
    ("torch._utils", "_rebuild_tensor"): make_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): make_tensor,
    ("torch._utils", "_rebuild_tensor_v3"): make_tensor_of_bytes,
    ("torch._utils", "_rebuild_parameter"): make_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): make_parameter,
    ("torch._tensor", "_rebuild_from_type_v2"): make_tensor_of_class,
    ("torch._utils", "_rebuild_qtensor"): other_tensor("quantized", "dequantize() it first"),
    ("torch._utils", "_rebuild_sparse_tensor"): other_tensor("sparse", "to_dense() it first"),
    ("torch._utils", "_rebuild_nested_tensor"): other_tensor("nested", "save tensors of one shape each"),
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): other_tensor("on the meta device, without values", "load the weights first"),
    ("torch._utils", "_rebuild_wrapper_subclass"): other_tensor("of a class of its own", "save plain tensors"),
    ("torch._utils", "_rebuild_device_tensor_from_numpy"): other_tensor("of another device", "move it to the CPU first"),
    ("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"): other_tensor("of another device", "move it to the CPU first"),
    **{(f"numpy.{core}.multiarray", "scalar"): make_number for core in ("core", "_core")},
    ("collections", "OrderedDict"): make_dict,
    ("collections", "defaultdict"): lambda *_: {},
    ("torch", "Size"): lambda extents, *_: extents,
    ("torch", "device"): lambda *_: Object(),
    ("_codecs", "encode"): lambda text, *_: text,
}


def one_line(text, longest=100):
    return "".join(c if 0x20 <= ord(c) <= 0x7E else "?" for c in str(text)[:longest])


def kind_of(value):
    if isinstance(value, dict):
        return f"a dictionary with {', '.join(one_line(key) for key in list(value)[:5]) or 'nothing'}"
    return type(value).__name__


class PickleReader:
    """Carries out the opcodes that make data; there is none that runs anything."""

    CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
    LITERALS = {
        "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
        "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
        "BINBYTES8",
    }
    EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple, "EMPTY_SET": Object}

    def __init__(self, find_storage):
        self.find_storage = find_storage
        self.stack = []
        self.memo = {}
        self.copied = 0

    def read(self, file):
        for opcode, argument, _ in pickletools.genops(file):
            self.step(opcode.name, argument)
        require(len(self.stack) == 1, "the pickle leaves more than one object")
        return self.stack.pop()

    def step(self, name, argument):
        push = self.stack.append
        if name in self.LITERALS:
            push(argument)
        elif name in self.CONSTANTS:
            push(self.CONSTANTS[name])
        elif name in self.EMPTY:
            push(self.EMPTY[name]())
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[argument] = self.top()
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = self.top()
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            push(self.memo[argument])
        elif name not in ("PROTO", "FRAME", "STOP"):
            handler = getattr(self, "do_" + name.lower(), None)
            require(handler, f"the pickle has the opcode {name}, which no weights need")
            handler(argument)

    def charge(self, items):
        self.copied += items
        require(self.copied <= MOST_COPIED, f"the pickle copies more than {MOST_COPIED} items from object to object")

    def call(self, function, arguments):
        require(isinstance(function, Global) and isinstance(arguments, tuple), "the pickle calls what is no function")
        self.charge(len(arguments) + sum(len(argument) for argument in arguments if isinstance(argument, (list, tuple))))
        self.stack.append(MAKERS.get(tuple(function), Object)(*arguments))

    def top(self):
        require(self.stack and self.stack[-1] is not MARK, "the pickle takes an object that is not there")
        return self.stack[-1]

    def pop(self):
        self.top()
        return self.stack.pop()

    def pop_marked(self):
        items = []
        while self.stack[-1] is not MARK:
            items.append(self.stack.pop())
        self.stack.pop()
        return items[::-1]

    def do_mark(self, _):
        self.stack.append(MARK)

    def do_pop(self, _):
        self.stack.pop()

    def do_pop_mark(self, _):
        self.pop_marked()

    def do_dup(self, _):
        self.stack.append(self.top())

    def do_list(self, _):
        self.stack.append(self.pop_marked())

    def do_tuple(self, _):
        self.stack.append(tuple(self.pop_marked()))

    def push_tuple(self, size):
        items = [self.pop() for _ in range(size)]
        self.stack.append(tuple(items[::-1]))

    def do_tuple1(self, _):
        self.push_tuple(1)

    def do_tuple2(self, _):
        self.push_tuple(2)

    def do_tuple3(self, _):
        self.push_tuple(3)

    def set_items(self, items):
        for key, value in zip(items[::2], items[1::2]):
            set_item(self.top(), key, value)

    def do_dict(self, _):
        items = self.pop_marked()
        self.stack.append({})
        self.set_items(items)

    def do_setitem(self, _):
        value, key = self.pop(), self.pop()
        self.set_items([key, value])

    def do_setitems(self, _):
        self.set_items(self.pop_marked())

    def append_items(self, items):
        require(isinstance(self.top(), (list, Object)), "the pickle appends to what is no list")
        if isinstance(self.top(), list):
            self.top().extend(items)

    def do_append(self, _):
        self.append_items([self.pop()])

    def do_appends(self, _):
        self.append_items(self.pop_marked())

    def do_additems(self, _):
        self.append_items(self.pop_marked())

    def do_frozenset(self, _):
        self.pop_marked()
        self.stack.append(Object())

    def do_global(self, argument):
        self.stack.append(known_global(*argument.split(" ", 1)))

    def do_stack_global(self, _):
        name, module = self.pop(), self.pop()
        require(isinstance(name, str) and isinstance(module, str), "the pickle names a class by what is no name")
        self.stack.append(known_global(module, name))

    def do_inst(self, argument):
        arguments = tuple(self.pop_marked())
        self.call(known_global(*argument.split(" ", 1)), arguments)

    def do_obj(self, _):
        function, *arguments = self.pop_marked()
        self.call(function, tuple(arguments))

    def do_reduce(self, _):
        arguments, function = self.pop(), self.pop()
        self.call(function, arguments)

    do_newobj = do_reduce

    def do_newobj_ex(self, _):
        self.pop()  # named arguments
        self.do_reduce(None)

    def do_build(self, _):
        state = self.pop()
        target = self.top()
        for part in state if isinstance(state, tuple) and len(state) == 2 else (state,):  # of __dict__ and of slots
            if isinstance(target, Object) and isinstance(part, dict):
                self.charge(len(part))
                target.attributes.update((key, value) for key, value in part.items() if isinstance(key, str))

    def do_binpersid(self, _):
        kind, *rest = self.checked_identity(self.pop())
        if kind == "module":  # a class beside its source, before PyTorch 1.6
            self.stack.append(rest[0])
        else:
            storage_type, key, _, numel, *view = rest
            require(isinstance(storage_type, Global) and storage_type.name in STORAGES and isinstance(key, str)
                    and is_count(numel), "expected a storage with a type, a key and a size, found others")
            self.stack.append(self.find_storage(Storage(*STORAGES[storage_type.name], key, numel, 0), *view))

    @staticmethod
    def checked_identity(identity):
        known = isinstance(identity, tuple) and identity and (
            (identity[0] == "storage" and len(identity) in (5, 6)) or (identity[0] == "module" and len(identity) >= 2))
        require(known, "the pickle names something outside of it that is no storage")
        return identity
