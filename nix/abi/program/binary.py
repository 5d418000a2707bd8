"""Bounded reads for the readers of ELF, Mach-O and PE files, and the error for a file that is cut
short or lies about itself."""

import struct

# More entries than any real file has: a hostile count ends here and not in memory.
LIMIT = 1_000_000


class MalformedFileError(Exception):
    """The file is no library that a loader would take."""


class Bytes:
    """The bytes of a file in one order of bytes; a read outside of them is a `MalformedFileError`."""

    def __init__(self, data, order="<"):
        self.data, self.order = data, order

    def unpack(self, form, at):
        """The numbers at an offset, by a format of `struct` without its order."""
        try:
            return struct.unpack_from(self.order + form, self.data, at)
        except (struct.error, OverflowError):
            raise MalformedFileError(f"it ends before byte {at + struct.calcsize(form)}") from None

    def part(self, at, size):
        """Some bytes."""
        if at < 0 or size < 0 or at + size > len(self.data):
            raise MalformedFileError(f"it ends before byte {at + size}")
        return self.data[at : at + size]

    def text(self, at, end=None):
        """The text from an offset to the next zero byte."""
        if at < 0 or at >= len(self.data):
            raise MalformedFileError(f"a name lies at byte {at}, outside of it")
        stop = self.data.find(b"\0", at, len(self.data) if end is None else end)
        if stop < 0:
            raise MalformedFileError(f"the name at byte {at} has no end")
        return self.data[at:stop].decode("utf-8", "backslashreplace")


def checked_count(count):
    """A number of entries, if a file can have so many."""
    if count > LIMIT:
        raise MalformedFileError(f"it claims to have {count} entries of one kind")
    return count
