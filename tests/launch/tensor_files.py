"""Weight files, read and written by their formats' own rules: safetensors, and NumPy's .npz."""

import json
import struct
import zipfile

CODES = {"F32": "f", "F64": "d", "I64": "q"}


def read_safetensors(path):
    """{name: (shape, values)}"""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: (entry["shape"], [v for (v,) in struct.iter_unpack("<" + CODES[entry["dtype"]],
                                                                     data[slice(*entry["data_offsets"])])])
            for name, entry in header.items()}


def write_safetensors(path, tensors):
    """Of {name: (shape, values)}, as float32."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_npz(path, tensors, description="<f4"):
    """The same, each as a .npy file of version 1."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (shape, values) in tensors.items():
            extents = "".join(f"{extent}, " for extent in shape)
            header = f"{{'descr': '{description}', 'fortran_order': False, 'shape': ({extents}), }}"
            header += " " * (-(len(header) + 11) % 64) + "\n"
            archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                             struct.pack(f"<{len(values)}f", *values))
