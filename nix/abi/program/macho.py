"""Reads of a Mach-O file (macOS) its load commands and its symbols; of a file for several
processors, each part."""

from binary import Bytes, MalformedFileError, checked_count

MAGICS = {b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}
MACHINES = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
SYMBOL_TABLE, VERSION_MIN, BUILD_VERSION, RUN_PATH = 0x2, 0x24, 0x32, 0x8000001C
LOAD_LIBRARIES = {0xC, 0x80000018, 0x8000001F, 0x80000023}
MACOS = 1


def parts(data):
    """The files of one processor each that a file holds."""
    if data[:4] != b"\xca\xfe\xba\xbe":
        return [data]
    whole = Bytes(data, ">")
    count = whole.unpack("I", 4)[0]
    if count > 32:
        raise MalformedFileError("it is no Mach-O file")
    places = [whole.unpack("IIIII", 8 + 20 * number)[2:4] for number in range(count)]
    return [whole.part(at, size) for at, size in places]


class MachOFile:
    """A library for one processor."""

    def __init__(self, data):
        self.bytes = Bytes(data)
        if data[:4] != b"\xcf\xfa\xed\xfe":
            raise MalformedFileError("it is no Mach-O file of 64 bits")
        machine, _, self.kind, count, _, _, _ = self.bytes.unpack("IIIIIII", 4)
        self.machine = MACHINES.get(machine, f"machine {machine}")
        self.needed, self.run_paths, self.minimum, self.undefined = [], [], None, []
        at = 32
        for _ in range(checked_count(count)):
            command, size = self.bytes.unpack("II", at)
            if size < 8:
                raise MalformedFileError("a load command has no size")
            if command in LOAD_LIBRARIES:
                self.needed.append(self.bytes.text(at + self.bytes.unpack("I", at + 8)[0]))
            elif command == RUN_PATH:
                self.run_paths.append(self.bytes.text(at + self.bytes.unpack("I", at + 8)[0]))
            elif command == BUILD_VERSION:
                platform, version = self.bytes.unpack("II", at + 8)
                if platform == MACOS:
                    self.minimum = (version >> 16, version >> 8 & 255)
            elif command == VERSION_MIN:
                version = self.bytes.unpack("I", at + 8)[0]
                self.minimum = (version >> 16, version >> 8 & 255)
            elif command == SYMBOL_TABLE:
                self._read_symbols(*self.bytes.unpack("IIII", at + 8))
            at += size

    def _read_symbols(self, at, count, strings, _):
        for number in range(checked_count(count)):
            name, kind, _, _, value = self.bytes.unpack("IBBHQ", at + 16 * number)
            # An external name without a place, and not a common block.
            if kind & 0xEF == 1 and not kind & 0xE0 and value == 0:
                text = self.bytes.text(strings + name)
                self.undefined.append(text[1:] if text.startswith("_") else text)
