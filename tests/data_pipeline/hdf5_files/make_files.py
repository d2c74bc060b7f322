"""Makes rows.h5 files as h5py writes them: `make_files.py OUTPUT`. Those here were made, in this order, by

  h5py 3.16.0 with HDF5 2.0.0:   python3 make_files.py hdf5-2.0.0.h5
  h5py 3.8.0 with HDF5 1.12.2:   python3 make_files.py hdf5-1.12.2.h5

from the wheels of PyPI. Every row counts: element i is i * i + 3 * i. Beside them lie losses of two tokens and more, and
attributes of every kind that a program may give `context`.
"""

import sys

import h5py
import numpy as np

ELEMENTS = 60
CHUNK = 7


def counted(n):
    return (np.arange(n) * np.arange(n) + 3 * np.arange(n)).astype("<i4")


def rows(group):
    filters = {"": {}, "-gzip": {"compression": "gzip"}, "-all": {"compression": "gzip", "shuffle": True, "fletcher32": True}}
    for end, packed in filters.items():
        values = counted(ELEMENTS)
        group.create_dataset("single" + end, data=values, chunks=(ELEMENTS,), **packed)
        group.create_dataset("fixed" + end, data=values, chunks=(CHUNK,), **packed)
        group.create_dataset("bounded" + end, data=values, chunks=(CHUNK,), maxshape=(500,), **packed)
        appended = group.create_dataset("appended" + end, shape=(0,), dtype="<i4", chunks=(1,), maxshape=(None,), **packed)
        for begin in range(0, ELEMENTS, 25):
            part = values[begin:begin + 25]
            appended.resize((begin + len(part),))
            appended[begin:] = part
        column = group.create_dataset("column" + end, shape=(ELEMENTS, 1), dtype="<i4", chunks=(CHUNK, 1), maxshape=(None, None), **packed)
        column[:, 0] = values
    group.create_dataset("plain", data=counted(ELEMENTS))


def main():
    with h5py.File(sys.argv[1], "w", libver="latest") as file:
        rows(file)
        file.attrs["number"] = np.int64(512)
        file.attrs["byte"] = np.uint8(200)
        file.attrs["float"] = 512.0
        file.attrs["half"] = np.float16(512)
        file.attrs["one of one"] = np.array([512])
        file.attrs["text"] = "512"
        file.attrs["bytes"] = np.bytes_("512")
        file.attrs.create("fixed text", "512", dtype=h5py.string_dtype("utf-8", 8))
        file.attrs.create("texts", ["512"], dtype=h5py.string_dtype())
        file.attrs["part"] = 0.5
        for i in range(20):
            file.attrs[f"more {i}"] = i
    print(h5py.version.info)


main()
