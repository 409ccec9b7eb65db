"""Builds squall-drbg, links its object files in memory, and disassembles functions of them."""

import functools
import json
import os
import pathlib
import struct
import subprocess

import capstone
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

PROOF = pathlib.Path(__file__).resolve().parent
SHF_ALLOC = 2


class Unproved(Exception):
    """Something that could not be proved, in one line."""


class Unsupported(Unproved):
    """Something that the proof does not know, which says nothing of the engine."""


def build(tree, target, triple):
    """The object files of squall-drbg in the checkout `tree` and of `probe.rs`, in release mode, in the folder `target`."""
    def run(*command):
        ran = subprocess.run(command, cwd=tree, capture_output=True, text=True,
                             env={**os.environ, "CARGO_TARGET_DIR": str(target)})
        if ran.returncode != 0:
            error = next((line for line in ran.stderr.splitlines() if line.startswith("error")), "no error was named")
            raise Unsupported(f"{command[0]} {command[1]} failed: {error}")
        return ran.stdout

    folder = pathlib.Path(target, triple, "release")
    messages = run("cargo", "rustc", "--quiet", "--message-format=json", "--release", "--locked", "--package", "squall-drbg",
                   "--lib", "--target", triple, "--", "--emit=obj,link").splitlines()
    artifacts = [file for message in map(json.loads, messages) if message.get("target", {}).get("name") == "squall_drbg"
                 for file in message.get("filenames", [])]
    name = next(pathlib.Path(file).stem for file in artifacts if file.endswith(".rmeta"))
    library = folder / "deps" / f"{name.removeprefix('lib')}.o"
    if not library.exists():
        raise Unsupported(f"cargo made no {library}")
    probe = folder / "probe.o"
    run("rustc", "--edition=2024", "--crate-type=lib", "--target", triple, "-Copt-level=3", "-Ccodegen-units=1",
        "--emit=obj", "--extern", f"squall_drbg={folder}/libsquall_drbg.rlib", "-L", f"dependency={folder}/deps",
        "-o", str(probe), str(PROOF / "probe.rs"))
    return [library, probe]


class Image:
    """Object files at addresses, with relocations applied. What they lack has an address without contents."""

    def __init__(self, paths):
        self.memory, self.symbols, self.names, self.got = {}, {}, {}, {}
        self.next = 0x100000
        files = [ELFFile(open(path, "rb")) for path in paths]
        self.md = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self.md.detail = True
        # Address of each section of each file.
        self.sections = [self.place(file) for file in files]
        for file, sections in zip(files, self.sections):
            for symbol in file.get_section_by_name(".symtab").iter_symbols():
                if symbol["st_shndx"] in sections and symbol.name:
                    self.name(symbol.name, sections[symbol["st_shndx"]] + symbol["st_value"])
        for file, sections in zip(files, self.sections):
            self.relocate(file, sections)

    def reserve(self, size):
        address = self.next
        self.next = (address + size + 63) // 64 * 64
        return address

    def place(self, file):
        sections = {}
        for index, section in enumerate(file.iter_sections()):
            if section["sh_flags"] & SHF_ALLOC and section.name != ".eh_frame":
                sections[index] = self.reserve(section["sh_size"])
                data = section.data() if section["sh_type"] != "SHT_NOBITS" else b""
                self.memory.update(enumerate(data, sections[index]))
        return sections

    def name(self, name, address):
        self.symbols[name] = address
        self.names.setdefault(address, name)

    def relocate(self, file, sections):
        for section in file.iter_sections():
            if isinstance(section, RelocationSection) and section["sh_info"] in sections:
                symbols = file.get_section(section["sh_link"])
                for entry in section.iter_relocations():
                    symbol = symbols.get_symbol(entry["r_info_sym"])
                    place = sections[section["sh_info"]] + entry["r_offset"]
                    self.patch(entry["r_info_type"], place, self.address(symbol, sections), entry["r_addend"])

    def address(self, symbol, sections):
        if symbol["st_shndx"] in sections:
            return sections[symbol["st_shndx"]] + symbol["st_value"]
        if symbol.name not in self.symbols:
            self.name(symbol.name, self.reserve(64))
        return self.symbols[symbol.name]

    def slot(self, address):
        """An entry of the global offset table."""
        if address not in self.got:
            self.got[address] = self.reserve(8)
            self.memory.update(enumerate(struct.pack("<Q", address), self.got[address]))
        return self.got[address]

    def patch(self, kind, place, symbol, addend):
        match kind:
            case 1:  # R_X86_64_64
                value, form = symbol + addend, "<Q"
            case 2 | 4:  # R_X86_64_PC32, R_X86_64_PLT32
                value, form = symbol + addend - place, "<i"
            case 9 | 41 | 42:  # R_X86_64_GOTPCREL, GOTPCRELX, REX_GOTPCRELX
                value, form = self.slot(symbol) + addend - place, "<i"
            case _:
                raise Unsupported(f"relocation {kind} is unknown")
        self.memory.update(enumerate(struct.pack(form, value), place))

    def bytes(self, address, size):
        return bytes(self.memory[address + i] for i in range(size))

    def find(self, *parts):
        """Address of the one function whose mangled name has these parts, one after the other."""
        found = [name for name in self.symbols if "".join(f"{len(part)}{part}" for part in parts) in name]
        if len(found) != 1:
            raise Unsupported(f"{'::'.join(parts)} is there {len(found)} times in place of once")
        return self.symbols[found[0]]

    def jump_targets(self, start):
        """Where the direct jumps of a function lead that is at this address."""
        targets, address = set(), start
        while address == start or address not in self.names and address in self.memory:
            instruction = self.instruction(address)
            address += instruction.size
            for op in instruction.operands:
                if op.type == capstone.CS_OP_IMM and instruction.group(capstone.CS_GRP_JUMP):
                    targets.add(op.imm)
        return targets

    @functools.cache
    def instruction(self, address):
        code = bytes(self.memory.get(address + i, 0) for i in range(15))
        found = next(self.md.disasm(code, address, 1), None)
        if found is None:
            raise Unsupported(f"no instruction at {address:#x}: {code.hex()}")
        return found
