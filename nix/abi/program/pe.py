"""Reads of a PE file (Windows: .pyd, .dll) which libraries it needs and which names of them."""

from binary import Bytes, MalformedFileError, checked_count

MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64", 0x14C: "i686"}


class PeFile:
    """A library of 64 bits."""

    def __init__(self, data):
        self.bytes = Bytes(data)
        header = self.bytes.unpack("I", 60)[0]
        if data[:2] != b"MZ" or self.bytes.part(header, 4) != b"PE\0\0":
            raise MalformedFileError("it is no PE file")
        machine, sections, _, _, _, size, _ = self.bytes.unpack("HHIIIHH", header + 4)
        self.machine = MACHINES.get(machine, f"machine {machine:#x}")
        optional = header + 24
        if self.bytes.unpack("H", optional)[0] != 0x20B:
            raise MalformedFileError("it is no PE file of 64 bits")
        self.sections = []
        for number in range(sections):
            at = optional + size + 40 * number
            virtual_size, address, raw_size, raw = self.bytes.unpack("IIII", at + 8)
            self.sections.append((address, max(virtual_size, raw_size), raw))
        # The second of the data directories.
        imports = self.bytes.unpack("I", optional + 120)[0]
        self.imports = self._read_imports(imports) if imports else {}

    def _offset(self, address):
        for start, size, raw in self.sections:
            if start <= address < start + size:
                return raw + address - start
        raise MalformedFileError(f"no section of it has the address {address:#x}")

    def _read_imports(self, address):
        """The imported names by library."""
        at, found = self._offset(address), {}
        for number in range(checked_count(len(self.bytes.data) // 20)):
            names, _, _, library, table = self.bytes.unpack("IIIII", at + 20 * number)
            if library == 0:
                break
            imported = found.setdefault(self.bytes.text(self._offset(library)), [])
            entry = self._offset(names or table)
            while True:
                value = self.bytes.unpack("Q", entry)[0]
                if value == 0:
                    break
                # Others are imported by number.
                if not value >> 63:
                    imported.append(self.bytes.text(self._offset(value) + 2))
                entry += 8
        return found
