/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AES-256 in counter mode by the CPU's instructions, on x86-64 and arm64.
 *
 * Block i of a keystream is AES-256(key, nonce of 12 bytes, i as a
 * little-endian u32). sub_word(), expand_key() and keystream() are called
 * between aes_begin() and aes_end(), on whose CPU they may use the vector registers.
 * They have no tables and no branches that depend on secrets. keystream()
 * leaves zeros in the registers that it and sub_word() used.
 *
 * The kernel has the same as skcipher "ctr(aes)". Here a key lives for at
 * most 64 KiB and often for one read, so its object would have to be
 * allocated and keyed for that; and before Linux 6.15, "ctr(aes)" has no
 * VAES, which is twice as fast.
 */

#ifndef SQUALL_AES_H
#define SQUALL_AES_H

#include <linux/types.h>

#define AES_WORDS 60 /* of the 15 round keys */

/* keystream() makes multiples of this. */
#define AES_STRIDE 256

struct aes_ctr {
	u32 keys[AES_WORDS];	/* the key is the first 8 */
	u32 block[4];		/* the nonce, and the next block's number */
};

#if defined(CONFIG_X86_64)
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

#ifdef __SSE__
#error "the compiler uses vector registers: user-mode Linux needs gcc 11"
#endif

static bool has_vaes;

static bool aes_is_there(void)
{
	has_vaes = boot_cpu_has(X86_FEATURE_AVX2) &&
		   boot_cpu_has(X86_FEATURE_VAES);
	if (!boot_cpu_has(X86_FEATURE_AVX) || !boot_cpu_has(X86_FEATURE_AES))
		return false;
#ifdef CONFIG_UML
	return true;
#else
	return cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
#endif
}

static const char *aes_name(void)
{
	return has_vaes ? "VAES" : "AES-NI";
}

#define aes_begin() kernel_fpu_begin()
#define aes_end() kernel_fpu_end()

/* With four equal columns, AES's last round is SubBytes alone. */
static u32 sub_word(u32 word)
{
	asm volatile("vmovd %0, %%xmm0\n\t"
		     "vpshufd $0, %%xmm0, %%xmm0\n\t"
		     "vpxor %%xmm1, %%xmm1, %%xmm1\n\t"
		     "vaesenclast %%xmm1, %%xmm0, %%xmm0\n\t"
		     "vmovd %%xmm0, %0"
		     : "+r"(word));
	return word;
}

#define EACH_REGISTER(code) ".irp r, 0,1,2,3,4,5,6,7\n\t" code "\n\t.endr\n\t"

/* Eight registers at a time, of one block (xmm) or two (ymm). */
#define KEYSTREAM(reg, load, width, start, step)			\
	load " (%[block]), %%" reg "8\n\t"				\
	"vpaddd " start ", %%" reg "8, %%" reg "8\n\t"			\
	"vmovdqu " step ", %%" reg "9\n"				\
	"1:\n\t"							\
	load " (%[keys]), %%" reg "10\n\t"				\
	EACH_REGISTER(							\
	"vpxor %%" reg "8, %%" reg "10, %%" reg "\\r\n\t"		\
	"vpaddd %%" reg "9, %%" reg "8, %%" reg "8")			\
	".irp k, 1,2,3,4,5,6,7,8,9,10,11,12,13\n\t"			\
	load " 16*\\k(%[keys]), %%" reg "10\n\t"			\
	EACH_REGISTER("vaesenc %%" reg "10, %%" reg "\\r, %%" reg "\\r") \
	".endr\n\t"							\
	load " 16*14(%[keys]), %%" reg "10\n\t"				\
	EACH_REGISTER(							\
	"vaesenclast %%" reg "10, %%" reg "\\r, %%" reg "\\r\n\t"	\
	"vmovdqu %%" reg "\\r, " width "*\\r(%[out])")			\
	"add $8*" width ", %[out]\n\t"					\
	"cmp %[end], %[out]\n\t"					\
	"jb 1b\n\t"							\
	"vzeroall"

/* Makes len bytes: a multiple of AES_STRIDE, and not 0. */
static void keystream(struct aes_ctr *state, u8 *out, size_t len)
{
	/* Added to the blocks of a register: at first, and from then on. */
	static const u32 steps[] = {
		0, 0, 0, 0, 0, 0, 0, 1, /* xmm: 0, then 1 */
		0, 0, 0, 2, 0, 0, 0, 2, /* ymm: 0 and 1, then 2 and 2 */
	};
	const u8 *end = out + len;

	/* The compiler, which must not use the registers, is not told. */
	if (has_vaes)
		asm volatile(KEYSTREAM("ymm", "vbroadcasti128", "32",
				       "(%[steps])", "32(%[steps])")
			     : [out] "+r"(out)
			     : [end] "r"(end), [keys] "r"(state->keys),
			       [block] "r"(state->block), [steps] "r"(steps)
			     : "memory", "cc");
	else
		asm volatile(KEYSTREAM("xmm", "vmovdqu", "16",
				       "(%[steps])", "16(%[steps])")
			     : [out] "+r"(out)
			     : [end] "r"(end), [keys] "r"(state->keys),
			       [block] "r"(state->block), [steps] "r"(steps)
			     : "memory", "cc");
	state->block[3] += len / 16;
}

#elif defined(CONFIG_ARM64) && !defined(CONFIG_CPU_BIG_ENDIAN)
#include <linux/string.h>
#include <linux/version.h>
#include <asm/cpufeature.h>
#include <asm/hwcap.h>
#include <asm/neon.h>

static bool aes_is_there(void)
{
	return cpu_have_named_feature(AES);
}

static const char *aes_name(void)
{
	return "ARMv8's AES";
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
/* The registers of a section that is interrupted are saved in place. */
#define aes_begin() struct user_fpsimd_state saved; kernel_neon_begin(&saved)
#define aes_end() do {					\
	kernel_neon_end(&saved);			\
	memzero_explicit(&saved, sizeof(saved));	\
} while (0)
#else
#define aes_begin() kernel_neon_begin()
#define aes_end() kernel_neon_end()
#endif

/* With four equal columns, AES's round without a key is SubBytes alone. */
static u32 sub_word(u32 word)
{
	asm volatile(".arch_extension crypto\n\t"
		     "dup v0.4s, %w0\n\t"
		     "movi v1.16b, #0\n\t"
		     "aese v0.16b, v1.16b\n\t"
		     "umov %w0, v0.s[0]"
		     : "+r"(word));
	return word;
}

#define EACH_REGISTER(code) ".irp r, 0,1,2,3,4,5,6,7\n\t" code "\n\t.endr\n\t"

/* Makes len bytes: a multiple of AES_STRIDE, and not 0. */
static void keystream(struct aes_ctr *state, u8 *out, size_t len)
{
	static const u32 step[] = { 0, 0, 0, 1 };
	const u32 *key;

	asm volatile(".arch_extension crypto\n\t"
		"ld1 {v16.4s}, [%[block]]\n\t"
		"ld1 {v17.4s}, [%[step]]\n"
		"1:\n\t"
		EACH_REGISTER("mov v\\r\\().16b, v16.16b\n\t"
			      "add v16.4s, v16.4s, v17.4s")
		"mov %[key], %[keys]\n\t"
		".rept 13\n\t"
		"ld1 {v18.16b}, [%[key]], #16\n\t"
		EACH_REGISTER("aese v\\r\\().16b, v18.16b\n\t"
			      "aesmc v\\r\\().16b, v\\r\\().16b")
		".endr\n\t"
		"ld1 {v18.16b, v19.16b}, [%[key]]\n\t"
		EACH_REGISTER("aese v\\r\\().16b, v18.16b\n\t"
			      "eor v\\r\\().16b, v\\r\\().16b, v19.16b")
		"st1 {v0.16b-v3.16b}, [%[out]], #64\n\t"
		"st1 {v4.16b-v7.16b}, [%[out]], #64\n\t"
		"cmp %[out], %[end]\n\t"
		"b.lo 1b\n\t"
		EACH_REGISTER("movi v\\r\\().16b, #0")
		"movi v18.16b, #0\n\t"
		"movi v19.16b, #0"
		: [out] "+r"(out), [key] "=&r"(key)
		: [end] "r"(out + len), [keys] "r"(state->keys),
		  [block] "r"(state->block), [step] "r"(step)
		: "memory", "cc");
	state->block[3] += len / 16;
}

#else
#error "squall needs the AES instructions of x86-64 or arm64"
#endif

/* FIPS 197's key expansion. */
static void expand_key(u32 *words)
{
	u32 round_constant = 1;
	int i;

	for (i = 8; i < AES_WORDS; i++) {
		u32 word = words[i - 1];

		if (i % 8 == 0) {
			word = ror32(sub_word(word), 8) ^ round_constant;
			round_constant <<= 1;
		} else if (i % 8 == 4) {
			word = sub_word(word);
		}
		words[i] = words[i - 8] ^ word;
	}
}

#endif
