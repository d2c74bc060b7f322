"""Reads files of torch.save without torch: where a file keeps the pickle that says what was saved, and where the numbers of
its tensors lie.
"""

import itertools
import math
import mmap
import os
import struct
import zipfile
import zlib

from unsupported_files import what_else
from torch_pickle import PickleReader, is_count, one_line, require

MAGIC_NUMBER, PROTOCOL_VERSION = 0x1950A86A20F9469CFC6C, 1001  # of files before PyTorch 1.6, which are no archives
LARGEST_PICKLE = 256 << 20  # tensors lie outside of it
LARGEST_STORAGE = 1 << 48
LOCAL_HEAD, LOCAL_SIGNATURE = struct.Struct("<4s22xHH"), b"PK\x03\x04"  # of a member of a zip
LONGEST_SIGNATURE = 512
LARGEST_LIST = 16 << 20  # of shards


class Archive:
    """A file since PyTorch 1.6: an uncompressed zip of a pickle and of a member for each storage."""

    def __init__(self, file, data):
        self.zip, self.data = zipfile.ZipFile(file), data
        names = self.zip.namelist()
        is_script = any(name.endswith("/constants.pkl") or "/code/" in name for name in names)
        require(not is_script, "a TorchScript archive, which holds a program: save the model's state_dict instead")
        require(not any(name.endswith(".npy") for name in names), "NumPy's archive, which segue import --from transformer-xl-tf reads itself")
        pickles = [name for name in names if name.endswith("/data.pkl") and name.count("/") == 1]
        require(len(pickles) == 1, "expected an archive of torch.save, found none or many data.pkl in it")
        self.root = pickles[0].removesuffix("data.pkl")
        self.has_sums = any(info.CRC != 0 for info in self.zip.infolist() if info.file_size > 0)
        order = self.root + "byteorder"
        require(order not in names or bytes(self.member(order, 16)) == b"little", "expected little-endian numbers")

    def member(self, name, most):
        """Its bytes where they lie. PyTorch leaves checksums out on demand, and then all of them; zipfile would not read such."""
        info = self.zip.getinfo(name)
        is_plain = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        require(is_plain and not info.flag_bits & 1, f"{one_line(name)}: expected an uncompressed member")
        require(info.file_size <= most, f"{one_line(name)}: expected at most {most} bytes, found {info.file_size}")
        head = self.data[info.header_offset:info.header_offset + LOCAL_HEAD.size]
        require(len(head) == LOCAL_HEAD.size, f"{one_line(name)} is cut off")
        signature, name_bytes, more_bytes = LOCAL_HEAD.unpack(head)
        begin = info.header_offset + LOCAL_HEAD.size + name_bytes + more_bytes
        content = memoryview(self.data)[begin:begin + info.file_size]
        require(signature == LOCAL_SIGNATURE and len(content) == info.file_size, f"{one_line(name)} is cut off")
        require(not self.has_sums or zlib.crc32(content) == info.CRC, f"{one_line(name)}: expected the checksum "
                f"{info.CRC:08x}, found {zlib.crc32(content):08x}: the file is a damaged one")
        return content

    def size(self):
        return len(self.data)

    def value(self):
        return PickleReader(self.find).read(bytes(self.member(self.root + "data.pkl", LARGEST_PICKLE)))

    def find(self, storage, view=None):
        name = f"{self.root}data/{storage.key}"
        require(name in self.zip.NameToInfo, f"expected the storage {one_line(name)}, found none")
        found, expected = self.zip.getinfo(name).file_size, storage.numel * storage.item_bytes
        require(found == expected and view is None, f"{one_line(name)}: expected {expected} bytes, found {found}")
        return storage

    def bytes_of(self, storage):
        return self.member(f"{self.root}data/{storage.key}", LARGEST_STORAGE)


class OldFile:
    """A file before PyTorch 1.6: four pickles, the keys of the storages, and the storages."""

    def __init__(self, data):
        self.data = data
        self.storages = {}

    def size(self):
        return len(self.data)

    def value(self):
        read_plain = PickleReader(lambda *_: require(False, "expected no storage before the model")).read
        first = read_plain(self.data)
        if isinstance(first, dict) and "idx2sym" in first and self.data.tell() == len(self.data):
            return first  # a vocabulary that was pickled without torch
        require(first == MAGIC_NUMBER, "expected a file of torch.save, found another pickle")
        require(read_plain(self.data) == PROTOCOL_VERSION, f"expected protocol version {PROTOCOL_VERSION}")
        system = read_plain(self.data)
        require(isinstance(system, dict) and system.get("little_endian") is True, "expected little-endian numbers")
        value = PickleReader(self.find).read(self.data)
        self.place_storages(read_plain(self.data))
        return value

    def find(self, storage, view=None):
        known = self.storages.setdefault(storage.key, storage)
        require(known == storage, f"storage {one_line(storage.key)}: expected one type and size, found two")
        if view is None:
            return storage
        fits = isinstance(view, tuple) and len(view) == 3 and is_count(view[1]) and is_count(view[2])
        require(fits and view[1] + view[2] <= storage.numel, f"storage {one_line(storage.key)}: a view reaches beyond it")
        return storage._replace(first=view[1], numel=view[2])

    def place_storages(self, keys):
        are_texts = isinstance(keys, list) and all(isinstance(key, str) for key in keys)
        require(are_texts and sorted(keys) == sorted(self.storages), "expected the keys of all storages, found others")
        self.begins = {}
        for key in keys:
            storage = self.storages[key]
            numel = int.from_bytes(self.data.read(8), "little")
            require(numel == storage.numel, f"storage {one_line(key)}: expected {storage.numel} elements, found {numel}")
            self.begins[key] = self.data.tell()
            end = self.begins[key] + numel * storage.item_bytes
            require(end <= len(self.data), f"storage {one_line(key)}: the file ends at byte {len(self.data)}, expected {end}")
            self.data.seek(end)

    def bytes_of(self, storage):
        begin = self.begins[storage.key] + storage.first * storage.item_bytes
        return memoryview(self.data)[begin:begin + storage.numel * storage.item_bytes]


def open_file(path):
    """Archive or OldFile: value() is what was saved, bytes_of(storage) the data of one that its tensors name."""
    require(os.path.isfile(path), "no such file")
    require(os.path.getsize(path) > 0, "expected a file of torch.save, found an empty one")
    file = open(path, "rb")
    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    known = what_else(path, data[:LONGEST_SIGNATURE])
    require(known is None, f"expected a file of torch.save, found {known}")
    if data[:4] == LOCAL_SIGNATURE:
        return Archive(file, data)
    require(data[:1] == b"\x80", "expected a file of torch.save, found something else")
    return OldFile(data)


def is_contiguous(tensor):
    steps = [math.prod(tensor.shape[i + 1:]) for i in range(len(tensor.shape))]
    return all(extent == 1 or step == expected for extent, step, expected in zip(tensor.shape, tensor.stride, steps))


def data_of(tensor, stored):
    """The bytes of its elements in their order, of those of its storage."""
    item_bytes, numel = tensor.storage.item_bytes, math.prod(tensor.shape)
    if numel == 0 or is_contiguous(tensor):
        return stored[tensor.offset * item_bytes:(tensor.offset + numel) * item_bytes]
    code = {1: "B", 2: "H", 4: "I", 8: "Q"}[item_bytes]
    data = bytearray(numel * item_bytes)
    source, target = memoryview(stored).cast(code), memoryview(data).cast(code)
    steps = [math.prod(tensor.shape[i + 1:]) for i in range(len(tensor.shape))]
    dimensions = sorted(zip(tensor.shape, tensor.stride, steps))
    extent, stride, step = dimensions.pop()  # the longest one at once
    for index in itertools.product(*(range(length) for length, _, _ in dimensions)):
        begin = tensor.offset + sum(i * dimension[1] for i, dimension in zip(index, dimensions))
        to = sum(i * dimension[2] for i, dimension in zip(index, dimensions))
        target[to:to + (extent - 1) * step + 1:step] = source[begin:begin + (extent - 1) * stride + 1:stride]
    return data
