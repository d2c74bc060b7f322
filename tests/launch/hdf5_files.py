"""HDF5 files put together by hand, by the format's own rules: what no library would write can be said too."""

import struct

NOWHERE = 2**64 - 1
WORD = 0xFFFFFFFF

FLOAT32 = struct.pack("<B3sIHHBBBBI", 0x11, b"\x20\x1f\x00", 4, 0, 32, 23, 8, 0, 23, 127)
INT32 = struct.pack("<B3sIHH", 0x10, b"\x08\x00\x00", 4, 0, 32)
UINT8 = struct.pack("<B3sIHH", 0x10, b"\x00\x00\x00", 1, 0, 8)


def text_type(length):
    return struct.pack("<B3sI", 0x13, b"\x00\x00\x00", length)


def rotated(value, bits):
    return (value << bits | value >> (32 - bits)) & WORD


def checksum(data):
    """Bob Jenkins' lookup3, which seals structures."""
    a = b = c = (0xDEADBEEF + len(data)) & WORD
    while len(data) > 12:
        x, y, z = struct.unpack("<III", data[:12])
        a, b, c = (a + x) & WORD, (b + y) & WORD, (c + z) & WORD
        data = data[12:]
        for bits_a, bits_b, bits_c in ((4, 6, 8), (16, 19, 4)):
            a = ((a - c) & WORD) ^ rotated(c, bits_a)
            c = (c + b) & WORD
            b = ((b - a) & WORD) ^ rotated(a, bits_b)
            a = (a + c) & WORD
            c = ((c - b) & WORD) ^ rotated(b, bits_c)
            b = (b + a) & WORD
    x, y, z = struct.unpack("<III", data.ljust(12, b"\0"))
    a, b, c = (a + x) & WORD, (b + y) & WORD, (c + z) & WORD
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotated(b, bits)) & WORD
        a, b, c = b, c, a
    return struct.pack("<I", b)


def sealed(data):
    return data + checksum(data)


def message(kind, body):
    return struct.pack("<BHB", kind, len(body), 0) + body


def header(*messages):
    body = b"".join(messages)
    return sealed(b"OHDR" + struct.pack("<BBI", 2, 2, len(body)) + body)


def extent(*lengths):
    return message(0x01, struct.pack("<BBBB", 2, len(lengths), 0, 1) + struct.pack(f"<{len(lengths)}Q", *lengths))


def attribute(name, kind, value, flags=0, extents=struct.pack("<BBBB", 2, 0, 0, 0)):
    name = name.encode() + b"\0"
    return message(0x0C, struct.pack("<BBHHHB", 3, flags, len(name), len(kind), len(extents), 0) + name + kind + extents + value)


NULL_EXTENTS = struct.pack("<BBBB", 2, 0, 0, 2)
SHARED_TYPE = 1  # as attributes have it whose type has a name


def contiguous(address, length):
    return message(0x08, struct.pack("<BBQQ", 3, 1, address, length))


def one_chunk(elements, element_bytes, address, filtered_bytes=None):
    filtered = b"" if filtered_bytes is None else struct.pack("<QI", filtered_bytes, 0)
    return message(0x08, struct.pack("<BBBBBQQB", 4, 2, 0 if filtered_bytes is None else 2, 2, 8, elements, element_bytes, 1) +
                   filtered + struct.pack("<Q", address))


def chunk_tree(elements, element_bytes, address):
    return message(0x08, struct.pack("<BBBQII", 3, 2, 2, address, elements, element_bytes))


def tree_node(level, *entries):
    """Of (bytes of the chunk, first element, address)."""
    node = b"TREE" + struct.pack("<BBHQQ", 1, level, len(entries), NOWHERE, NOWHERE)
    for length, element, address in entries:
        node += struct.pack("<IIQQQ", length, 0, element, 0, address)
    return node + struct.pack("<IIQQ", 0, 0, 0, 0)


def indexed(kind, elements, element_bytes, parameters, address, version=4, ranks=1, flags=0):
    """A layout whose chunks an index finds: 3 a fixed array, 4 an extensible array, 5 the second tree."""
    extents = [elements] + [1] * (ranks - 1) + [element_bytes]
    return message(0x08, struct.pack(f"<BBBBB{len(extents)}QB", version, 2, flags, len(extents), 8, *extents, kind) + parameters +
                   struct.pack("<Q", address))


def array_head(entry_bytes=8, index_bits=32, in_index=4, least=16, pointers=4, page_bits=10, block=NOWHERE, client=0):
    return sealed(b"EAHD" + struct.pack("<8B7Q", 0, client, entry_bytes, index_bits, in_index, least, pointers, page_bits,
                                        0, 0, 0, 0, 0, 0, block))


def array_index(head, entries, blocks, later=()):
    return sealed(b"EAIB" + struct.pack(f"<BBQ{len(entries) + len(blocks) + len(later)}Q", 0, 0, head, *entries, *blocks, *later))


def array_super(head, offset, bitmap, blocks):
    return sealed(b"EASB" + struct.pack("<BBQI", 0, 0, head, offset) + bitmap + struct.pack(f"<{len(blocks)}Q", *blocks))


def array_block(head, offset, entries):
    return sealed(b"EADB" + struct.pack(f"<BBQI{len(entries)}Q", 0, 0, head, offset, *entries))


def second_tree(kind, record_bytes, root, count, total, depth=0, node_bytes=512):
    return sealed(b"BTHD" + struct.pack("<BBIHHBBQHQ", 0, kind, node_bytes, record_bytes, depth, 100, 40, root, count, total))


def second_leaf(kind, *records):
    return sealed(b"BTLF" + struct.pack("<BB", 0, kind) + b"".join(records))


def second_node(kind, records, children):
    """Above leaves whose numbers of records take a byte, of (address, records)."""
    return sealed(b"BTIN" + struct.pack("<BB", 0, kind) + b"".join(records) + b"".join(struct.pack("<QB", *child) for child in children))


def virtual():
    return message(0x08, struct.pack("<BBQI", 4, 3, NOWHERE, 0))


def filters(*kinds):
    return message(0x0B, struct.pack("<BB", 2, len(kinds)) + b"".join(struct.pack("<HHH", k, 0, 0) for k in kinds))


DEFLATE, SHUFFLE, FLETCHER32, SZIP = 1, 2, 3, 4


class Hdf5File:
    """Objects one after the other, and a root group with links to some of them."""

    def __init__(self):
        self.data = bytearray(48)
        self.links = []
        self.more = ()  # messages of every dataset
        self.version, self.flags = 2, 0  # 3 and 1: is said to be written to just now, so that HDF5's own programs leave it alone

    def place(self, content):
        address = len(self.data)
        self.data += content
        return address

    def dataset(self, name, kind, lengths, layout, *more):
        address = self.place(header(extent(*lengths), message(0x03, kind), layout, *more, *self.more))
        self.link(name, 0, struct.pack("<Q", address))

    def row(self, name, kind, letter, values):
        data = struct.pack(f"<{len(values)}{letter}", *values)
        self.dataset(name, kind, [len(values)], contiguous(self.place(data), len(data)))

    def link(self, name, kind, target):
        self.links.append(message(0x06, struct.pack("<BBBB", 1, 8, kind, len(name)) + name.encode() + target))

    def soft_link(self, name, path):
        self.link(name, 1, struct.pack("<H", len(path)) + path.encode())

    def external_link(self, name, file, path):
        target = b"\0" + file.encode() + b"\0" + path.encode() + b"\0"
        self.link(name, 64, struct.pack("<H", len(target)) + target)

    def external_files(self, name, length):
        names = bytes(8) + name.encode() + bytes(8)
        heap = self.place(b"HEAP" + struct.pack("<B3sQQQ", 0, b"", len(names), 1, self.place(names)))
        return message(0x07, struct.pack("<B3sHHQQQQ", 1, b"", 1, 1, heap, 8, 0, length))

    def symbol_table(self, names, entries, nodes):
        """The message of a group whose `nodes` children are one node of entries of (offset in the heap, object)."""
        heap = self.place(b"HEAP" + struct.pack("<B3sQQQ", 0, b"", len(names), NOWHERE, self.place(names)))
        node = self.place(b"SNOD" + struct.pack("<BBH", 1, 0, len(entries)) + b"".join(
            struct.pack("<QQII16s", offset, address, 0, 0, b"") for offset, address in entries))
        tree = self.place(b"TREE" + struct.pack("<BBHQQ", 0, 0, nodes, NOWHERE, NOWHERE) + struct.pack("<QQ", 0, node) * nodes + bytes(8))
        return message(0x11, struct.pack("<QQ", tree, heap))

    def finish(self, *attributes):
        group = message(0x02, struct.pack("<BBQQ", 0, 0, NOWHERE, NOWHERE)) + message(0x0A, b"\0\0")
        return self.finish_with(group, *self.links, *attributes)

    def finish_with(self, *messages):
        root = self.place(header(*messages))
        head = b"\x89HDF\r\n\x1a\n" + struct.pack("<BBBBQQQQ", self.version, 8, 8, self.flags, 0, NOWHERE, len(self.data), root)
        self.data[:48] = sealed(head)
        return bytes(self.data)
