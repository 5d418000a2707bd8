"""Reads the parts of an ELF file that its loader reads: program headers and the dynamic section.
Sections, which a strip may remove, are read for objects, and to count symbols."""

import sys
from array import array

from binary import Bytes, MalformedFileError, checked_count

MAGIC = b"\x7fELF"
MACHINES = {3: "i686", 62: "x86_64", 183: "aarch64", 243: "riscv64", 21: "ppc64", 22: "s390x"}
# Files for GPUs, which no loader of the system reads.
DEVICE_MACHINES = {190, 224}

RELOCATABLE, SHARED = 1, 3
LOAD, DYNAMIC, STACK = 1, 2, 0x6474E551
NEEDED, PLT_SIZE, HASH, STRINGS, SYMBOLS, RELA, RELA_SIZE = 1, 2, 4, 5, 6, 7, 8
STRINGS_SIZE, RPATH, TEXTREL, JMPREL, RUNPATH, FLAGS = 10, 15, 22, 23, 29, 30
GNU_HASH, VERSYM, VERNEED, VERNEED_COUNT = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
LOCAL, GLOBAL, WEAK, UNIQUE = 0, 1, 2, 10


class ElfSymbol:
    """A dynamic symbol: its name, its binding, whether the file defines it and others see it, and
    the version that it needs, with the library that has it."""

    __slots__ = ("binding", "defined", "library", "name", "version", "visible")

    def __init__(self, name, binding, defined, visible, version, library):
        self.name, self.binding, self.defined, self.visible = name, binding, defined, visible
        self.version, self.library = version, library


class ElfFile:
    """A library, a program or an object."""

    def __init__(self, data):
        self.data = data
        if data[:4] != MAGIC or len(data) < 52:
            raise MalformedFileError("it is no ELF file")
        self.wide = data[4] == 2
        if data[4] not in (1, 2) or data[5] not in (1, 2):
            raise MalformedFileError("its header has an unknown class or order of bytes")
        self.bytes = Bytes(data, "<" if data[5] == 1 else ">")
        self.kind, machine = self.bytes.unpack("HH", 16)
        self.is_device_code = machine in DEVICE_MACHINES
        self.machine = MACHINES.get(machine, f"machine {machine}")
        form, at = ("QQ", 32) if self.wide else ("II", 28)
        self.headers_at, self.sections_at = self.bytes.unpack(form, at)
        sizes_at = 54 if self.wide else 42
        self.header_size, self.header_count = self.bytes.unpack("HH", sizes_at)
        self.section_size, self.section_count = self.bytes.unpack("HH", sizes_at + 4)
        self.segments = self._read_segments()
        self.dynamic = self._read_dynamic()

    def _read_segments(self):
        """(type, flags, offset, address, size in the file) of each program header."""
        found = []
        for number in range(self.header_count):
            at = self.headers_at + number * self.header_size
            if self.wide:
                kind, flags, offset, address, _, size = self.bytes.unpack("IIQQQQ", at)
            else:
                kind, offset, address, _, size, _, flags = self.bytes.unpack("IIIIIII", at)
            found.append((kind, flags, offset, address, size))
        return found

    def _read_dynamic(self):
        """(tag, value) of each entry of the dynamic section, empty for a file without one."""
        part = next((part for part in self.segments if part[0] == DYNAMIC), None)
        if part is None:
            return []
        form, step = ("QQ", 16) if self.wide else ("II", 8)
        found = []
        for number in range(checked_count(part[4] // step)):
            tag, value = self.bytes.unpack(form, part[2] + number * step)
            if tag == 0:
                break
            found.append((tag, value))
        return found

    def _tag(self, tag):
        return next((value for known, value in self.dynamic if known == tag), None)

    def _offset(self, address):
        """The place in the file of an address in memory."""
        for kind, _, offset, start, size in self.segments:
            if kind == LOAD and start <= address < start + size:
                return offset + address - start
        raise MalformedFileError(f"no part of it is loaded at {address:#x}")

    @property
    def is_library(self):
        return self.kind == SHARED

    def _string(self, offset):
        return self.bytes.text(self._strings_at + offset)

    @property
    def _strings_at(self):
        address = self._tag(STRINGS)
        if address is None:
            raise MalformedFileError("its dynamic section names no strings")
        return self._offset(address)

    def _texts(self, tag):
        return [self._string(value) for known, value in self.dynamic if known == tag]

    @property
    def needed(self):
        """The names of the libraries that it is linked with."""
        return self._texts(NEEDED)

    @property
    def run_paths(self):
        """The paths in which its loader would look for libraries."""
        return self._texts(RPATH) + self._texts(RUNPATH)

    @property
    def has_text_relocations(self):
        return self._tag(TEXTREL) is not None or bool((self._tag(FLAGS) or 0) & 4)

    @property
    def stack(self):
        """`"executable"`, `"plain"`, or `"unsaid"` for a file that leaves it to the system."""
        part = next((part for part in self.segments if part[0] == STACK), None)
        if part is None:
            return "unsaid"
        return "executable" if part[1] & 1 else "plain"

    def needed_versions(self):
        """(library, version) by index of version, for each version that the file needs."""
        at, found = self._tag(VERNEED), {}
        if at is None:
            return found
        at = self._offset(at)
        for _ in range(checked_count(self._tag(VERNEED_COUNT) or 0)):
            _, count, file, first, following = self.bytes.unpack("HHIII", at)
            library, entry = self._string(file), at + first
            for _ in range(count):
                _, _, index, name, step = self.bytes.unpack("IHHII", entry)
                found[index & 0x7FFF] = (library, self._string(name))
                if step == 0:
                    break
                entry += step
            if following == 0:
                break
            at += following
        return found

    def symbols(self):
        """The dynamic symbols, without the empty first one."""
        address = self._tag(SYMBOLS)
        if address is None:
            return []
        at, versions = self._offset(address), self.needed_versions()
        table = self._tag(VERSYM)
        table = None if table is None else self._offset(table)
        form, step = ("IBBHQQ", 24) if self.wide else ("IIIBBH", 16)
        strings, found, length = self._strings_at, [], 0
        for number in range(1, self._count_symbols()):
            entry = self.bytes.unpack(form, at + number * step)
            name, info, other, section = entry[:4] if self.wide else (entry[0], *entry[3:])
            index = self.bytes.unpack("H", table + 2 * number)[0] & 0x7FFF if table else 0
            defined = section != 0
            library, version = ("", "") if defined else versions.get(index, ("", ""))
            visible = defined and info >> 4 != LOCAL and other & 3 in (0, 3)
            text = self.bytes.text(strings + name)
            length += len(text)
            if length > 4 * len(self.data):
                raise MalformedFileError("its names are longer than itself")
            found.append(ElfSymbol(text, info >> 4, defined, visible, version, library))
        return found

    def _count_symbols(self):
        """The number of dynamic symbols. No entry says it: it follows from the tables that refer to
        them, of which the last symbol is in one at least."""
        counts = [1, self._count_by_hash(), self._count_by_gnu_hash(), self._count_by_relocations()]
        counts.append(self._count_by_sections())
        return checked_count(max(counts))

    def _count_by_hash(self):
        address = self._tag(HASH)
        return 0 if address is None else self.bytes.unpack("II", self._offset(address))[1]

    def _count_by_gnu_hash(self):
        address = self._tag(GNU_HASH)
        if address is None:
            return 0
        at = self._offset(address)
        buckets, first, bloom, _ = self.bytes.unpack("IIII", at)
        at += 16 + bloom * (8 if self.wide else 4)
        heads = array("I", self.bytes.part(at, 4 * checked_count(buckets)))
        if (self.bytes.order == "<") != (sys.byteorder == "little"):
            heads.byteswap()
        last = max(heads, default=0)
        if last < first:
            return first
        at += 4 * buckets
        while not self.bytes.unpack("I", at + 4 * (last - first))[0] & 1:
            last += 1
        return last + 1

    def _count_by_relocations(self):
        if not self.wide:
            return 0
        highest = 0
        for table, size in ((RELA, RELA_SIZE), (JMPREL, PLT_SIZE)):
            address = self._tag(table)
            if address is None:
                continue
            at, count = self._offset(address), checked_count((self._tag(size) or 0) // 24)
            for number in range(count):
                highest = max(highest, self.bytes.unpack("QQ", at + 24 * number)[1] >> 32)
        return highest + 1

    def _sections(self):
        """(type, offset, size, link) of each section."""
        if not self.sections_at or not self.wide:
            return []
        found = []
        for number in range(self.section_count):
            at = self.sections_at + number * self.section_size
            _, kind, _, _, offset, size, link = self.bytes.unpack("IIQQQQI", at)
            found.append((kind, offset, size, link))
        return found

    def _count_by_sections(self):
        """From the section .dynsym. NB: a library that a hash table does not tell, since it defines
        nothing, may have names that no relocation uses."""
        try:
            sections = self._sections()
        except MalformedFileError:
            return 0
        return max((size // 24 for kind, _, size, _ in sections if kind == 11), default=0)

    def undefined_in_object(self):
        """The names that an object leaves undefined."""
        sections = self._sections()
        found = set()
        for kind, offset, size, link in sections:
            if kind != 2 or link >= len(sections):
                continue
            strings = sections[link][1]
            for number in range(1, checked_count(size // 24)):
                name, _, _, section = self.bytes.unpack("IBBH", offset + 24 * number)
                if section == 0 and name:
                    found.add(self.bytes.text(strings + name))
        return found
