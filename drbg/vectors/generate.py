#!/usr/bin/env python3
"""Writes the files of known answers in this folder.

Every byte comes from the tables of a standard or from OpenSSL, by way of the Python package
`cryptography`; nothing here runs squall. Published answers are checked against OpenSSL before
they are written. README.md describes the files.

    generate.py               all files but those of CTR_DRBG
    generate.py evprand.txt   those of CTR_DRBG, from OpenSSL's copy of NIST's answers
"""

import hashlib
import json
import pathlib
import sys

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

HERE = pathlib.Path(__file__).parent

# Plaintext of SP 800-38A appendix F.
F_PLAINTEXT = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
F_COUNTER = bytes(range(0xF0, 0x100))

# name, key, ciphertext
FIPS_197 = [
    ("FIPS 197 C.1", bytes(range(16)), "69c4e0d86a7b0430d8cdb78070b4c55a"),
    ("FIPS 197 C.3", bytes(range(32)), "8ea2b7ca516745bfeafc49904b496089"),
]
FIPS_197_PLAINTEXT = bytes(0x11 * i for i in range(16))

SP_800_38A = [
    (
        "SP 800-38A F.5.1",
        "2b7e151628aed2a6abf7158809cf4f3c",
        "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
        "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    ),
    (
        "SP 800-38A F.5.5",
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
        "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
    ),
]

# usnistgov/ACVP-Server, gen-val/json-files/ACVP-AES-CTR-1.0: key, counter, plaintext XOR ciphertext.
ACVP_AES_CTR = [
    (
        "ACVP-AES-CTR test case 100",
        "4454dd4f54f7777a561cb61800643b93",
        "dbd958ab4babe782785b507200000001",
        "70bc5ae2873f5eb641af0503359727a4e79b8525a05d6fb9ebf5974684b33aabd92a77d55fb6b75b88c6658e33c472f9"
        "1e7cf907aca77d0d23e5ff36c4cf837ade6a0a4711961fc2ecdd1026c8c2eb675f853463e931e3d63a2b865493ba0ded"
        "4732faa3b6316f799657193bccfa5231e589d72c2b8e701fe44cd6d4d031df7f4baee41ae997839f41ef31fa9d92c98d"
        "7347f2e182ad4471e5faf6de92dc8aaf8b1364cfaca05b06115c012ab59d61c6de1dd142a7a5fa8fd06bdb0a74a76d9a"
        "86175658d3f13c965aa670ccea9fd90e7aa341599f50c485543825a8c802815910c7b7e927e1e786e3c73739451d5d76",
    ),
    (
        "ACVP-AES-CTR test case 150",
        "12a02f13a9337e6803d0d05cb0f6290c1bcaaa50140c50a001ac195f5cda735e",
        "9189041578d7b025b0469c6200000001",
        "90c5dce65156be8e82b9596c251a45720b8b41caaa50a84d3e2b88f774fb325887892418729d8bac39f2605e26e395bd"
        "617fed37c197e7e48b8c0047181f2ed29bd7cf2b4f3563cccaff274697520e3e50ec457bfd96ba47032f22291567a819"
        "911a55af27b31a3569502612ca281425042c01a6473f74020aa090f7bafbbcd9d066dfd58bb34fe71e774114ba270843"
        "7623951644c3921fc33fdca26157ca4d5e0916a218ab165a02821eae587c51cc298a833437b81d3195434a4ff2b9f438"
        "dd6ba883269ad457bc24090d90609ced45835a348834420ceaf31f0b8fd77a0de7fb7fe9018b99b4298bf5306f0b5777",
    ),
]

# Blocks before and after which a counter of 32, 64 or 128 bits carries.
EDGES = [1 << 32, 1 << 64, 1 << 128]
BLOCKS_BEFORE_EDGE = 5
BLOCKS_AT_EDGE = 12

END_OF_STREAM = 1 << 64


def label(text, length):
    """`length` bytes that are different for every text and not secret."""
    return hashlib.shake_256(b"squall vectors: " + text.encode()).digest(length)


def aes_ctr(key, counter, length):
    """AES keystream from OpenSSL, counter mode with a 128-bit big-endian counter."""
    iv = (counter % (1 << 128)).to_bytes(16, "big")
    return Cipher(algorithms.AES(key), modes.CTR(iv)).encryptor().update(bytes(length))


def chacha20(key, length):
    """ChaCha20 keystream from OpenSSL, counter and nonce zero."""
    return Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor().update(bytes(length))


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def aes_ctr_answer(source, key, counter, keystream):
    assert keystream == aes_ctr(key, counter, len(keystream)), source
    return {
        "source": source,
        "cipher": f"AES-{8 * len(key)}",
        "key": key.hex(),
        "counter": counter.to_bytes(16, "big").hex(),
        "keystream": keystream.hex(),
    }


def aes_ctr_answers():
    counter = int.from_bytes(FIPS_197_PLAINTEXT, "big")
    for source, key, ciphertext in FIPS_197:
        yield aes_ctr_answer(source, key, counter, bytes.fromhex(ciphertext))
    counter = int.from_bytes(F_COUNTER, "big")
    for source, key, ciphertext in SP_800_38A:
        keystream = xor(bytes.fromhex(ciphertext), F_PLAINTEXT)
        yield aes_ctr_answer(source, bytes.fromhex(key), counter, keystream)
    for source, key, counter, keystream in ACVP_AES_CTR:
        yield aes_ctr_answer(
            source, bytes.fromhex(key), int(counter, 16), bytes.fromhex(keystream)
        )
    for edge in EDGES:
        for key_length in (16, 32):
            key = label(f"aes_ctr {edge} {key_length}", key_length)
            counter = edge - BLOCKS_BEFORE_EDGE
            keystream = aes_ctr(key, counter, 16 * BLOCKS_AT_EDGE)
            source = f"OpenSSL, across block 2^{edge.bit_length() - 1}"
            yield aes_ctr_answer(source, key, counter, keystream)


def stream_bytes(seed, offset, length):
    skipped = offset % 16
    return aes_ctr(seed, offset // 16, skipped + length)[skipped:]


def stream_answers():
    short = [(0, 64), (1, 15), (5, 100), (16, 16), (4095, 2), (1 << 36, 33)]
    short += [((1 << 36) - 7, 40), ((1 << 63) - 3, 21)]
    short += [(END_OF_STREAM - length, length) for length in (1, 16, 17, 100)]
    for offset, length in short:
        seed = label(f"stream {offset}", 32)
        answer = stream_bytes(seed, offset, length)
        yield {"seed": seed.hex(), "offset": str(offset), "bytes": answer.hex()}


def stream_digests():
    for offset, length in [(0, 1 << 20), (3, (16 << 20) + 77)]:
        seed = label(f"stream digest {offset}", 32)
        digest = hashlib.sha256(stream_bytes(seed, offset, length)).hexdigest()
        yield {"seed": seed.hex(), "offset": str(offset), "length": length, "sha256": digest}


def fast_key_erasure_answer(name, steps):
    """Runs steps of ("reseed", entropy) and ("generate", length, additional input)."""
    key = first_key = label(f"fast_key_erasure {name}", 32)
    written = []
    for step in steps:
        if step[0] == "reseed":
            key = xor(chacha20(key, 32), step[1])
            written.append({"reseed": step[1].hex()})
            continue
        _, length, additional = step
        if additional:
            key = xor(chacha20(key, 32), additional.ljust(32, b"\0"))
        keystream = chacha20(key, 32 + length)
        key, output = keystream[:32], keystream[32:]
        written.append(
            {"generate": length, "additional": additional.hex(), "output": output.hex()}
        )
    return {"key": first_key.hex(), "steps": written}


def fast_key_erasure_answers():
    yield fast_key_erasure_answer("plain", [("generate", n, b"") for n in (0, 1, 32, 33, 64, 200)])
    inputs = [label(f"additional {n}", n) for n in (0, 1, 16, 31, 32)]
    yield fast_key_erasure_answer("additional", [("generate", 48, i) for i in inputs])
    yield fast_key_erasure_answer(
        "reseed",
        [
            ("generate", 97, b""),
            ("reseed", label("reseed 1", 32)),
            ("generate", 2048, b""),
            ("reseed", bytes(32)),
            ("reseed", label("reseed 2", 32)),
            ("generate", 65, label("additional", 12)),
        ],
    )


def write(name, answers):
    lines = ",\n".join(json.dumps(answer) for answer in answers)
    (HERE / name).write_text(f"[\n{lines}\n]\n")


# Fields of CTR_DRBG's answers, and their names in OpenSSL's file.
CTR_DRBG_FIELDS = {
    "entropy": "Entropy",
    "nonce": "Nonce",
    "personalization": "PersonalisationString",
    "reseed_entropy": "ReseedEntropy",
    "reseed_additional": "ReseedAdditionalInput",
    "additional_1": "AdditionalInputA",
    "additional_2": "AdditionalInputB",
    "pr_entropy_1": "EntropyPredictionResistanceA",
    "pr_entropy_2": "EntropyPredictionResistanceB",
    "output": "Output",
}
CTR_DRBG_PARAMETERS = {"RAND", "Cipher", "DerivationFunction", "PredictionResistance", "GenerateBits"}


def ctr_drbg_answers(lines, cipher, derivation_function):
    """The answers in the lines of evprand.txt; each paragraph is a group of NIST's file."""
    for paragraph in "\n".join(line.strip() for line in lines).split("\n\n"):
        lines = (line.split(" = ") for line in paragraph.splitlines() if " = " in line)
        group = {line[0]: line[-1] for line in lines}
        if group.get("Cipher") != f"{cipher}-CTR":
            continue
        if ("DerivationFunction" in group) != derivation_function:
            continue
        names = {name.partition(".")[0] for name in group}
        assert names <= {*CTR_DRBG_FIELDS.values()} | CTR_DRBG_PARAMETERS, names
        for i in range(15):
            answer = {
                "cipher": cipher,
                "prediction_resistance": group["PredictionResistance"] == "1",
                "returned_bits": int(group["GenerateBits"]),
            }
            for field, name in CTR_DRBG_FIELDS.items():
                if f"{name}.{i}" in group:
                    answer[field] = group[f"{name}.{i}"].lower()
            yield answer


def ctr_drbg(path):
    lines = pathlib.Path(path).read_text().splitlines()
    for name, derivation_function in [("no_df", False), ("df", True)]:
        answers = []
        for cipher in ("AES-128", "AES-256"):
            answers += ctr_drbg_answers(lines, cipher, derivation_function)
        write(f"ctr_drbg_{name}.json", answers)


if len(sys.argv) > 1:
    ctr_drbg(sys.argv[1])
else:
    write("aes_ctr.json", aes_ctr_answers())
    write("stream.json", stream_answers())
    write("stream_digests.json", stream_digests())
    write("fast_key_erasure.json", fast_key_erasure_answers())
