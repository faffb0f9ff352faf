"""The screen of Xvfb as a file (its option -fbdir), pictures as PNG, and the pixels of a colour."""

import glob
import struct
import zlib


def png(width, height, rows, palette=None):
    """Returns a PNG of RGB, or of one bit for each pixel if there is a palette."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    compressor = zlib.compressobj(9)
    data = b"".join(compressor.compress(b"\0" + row) for row in rows) + compressor.flush()
    head = struct.pack(">IIBBBBB", width, height, *((1, 3) if palette else (8, 2)), 0, 0, 0)
    colours = chunk(b"PLTE", palette) if palette else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + colours + chunk(b"IDAT", data) + chunk(b"IEND", b"")


class Screen:
    def __init__(self, folder):
        [self.path] = glob.glob(f"{folder}/Xvfb_screen*")

    def rows(self, left, top, width, height):
        """The pixels of a part of the screen, row by row, as RGB."""
        with open(self.path, "rb") as file:
            data = file.read()
        # An XWD file: numbers of 32 bits, the colours, and the pixels, here as BGRX.
        head = struct.unpack(">25I", data[:100])
        stride, begin = head[12], head[0] + 12 * head[19]
        rows = []
        for y in range(max(top, 0), min(top + height, head[5])):
            at = begin + y * stride
            row = data[at + 4 * max(left, 0):at + 4 * min(left + width, head[4])]
            rgb = bytearray(len(row) // 4 * 3)
            rgb[0::3], rgb[1::3], rgb[2::3] = row[2::4], row[1::4], row[0::4]
            rows.append(bytes(rgb))
        return rows

    def save(self, path, *box):
        rows = self.rows(*box)
        with open(path, "wb") as file:
            file.write(png(len(rows[0]) // 3, len(rows), rows))

    def count(self, colour, *box):
        """How many pixels of a part of the screen have exactly this colour."""
        return sum(row[at:at + 3] == colour for row in self.rows(*box) for at in range(0, len(row), 3))
