/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What lib/crypto's ChaCha20 needs of the kernel, for user space. It is
 * included before every file; the headers that those name are empty.
 */
#pragma once

#define SYM_FUNC_START(name)	.globl name; .balign 16; name:
#define SYM_FUNC_START_LOCAL(name)	.balign 16; name:
#define SYM_FUNC_END(name)	.type name, @function; .size name, . - name
#define RET			ret
#define FRAME_BEGIN
#define FRAME_END

#ifndef __ASSEMBLY__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint32_t __le32;

#define __init
#define __exit
#define __ro_after_init
#define __maybe_unused		__attribute__((unused))
#define __aligned(n)		__attribute__((aligned(n)))
#define asmlinkage
#define at_least		static
#define noinline		__attribute__((noinline))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof(*(a)))
#define WARN_ON_ONCE(c)		((void)(c))
#define EXPORT_SYMBOL(s)	extern int unused
#define EXPORT_SYMBOL_GPL(s)	extern int unused
#define MODULE_DESCRIPTION(s)	extern int unused
#define MODULE_LICENSE(s)	extern int unused
#define module_exit(f)		extern int unused
/* Linked under this name, so that main() can call it again for each CPU. */
#define subsys_initcall(f)	int harness_init(void) { return f(); }

#define SZ_4K			4096
#define min(a, b)		((a) < (b) ? (a) : (b))
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define round_up(n, to)		(((n) + (to) - 1) / (to) * (to))

static inline u32 rol32(u32 word, unsigned int by)
{
	return word << by | word >> (32 - by);
}

static inline u32 get_unaligned_le32(const void *from)
{
	u32 word;

	memcpy(&word, from, sizeof(word));
	return word;
}

static inline void put_unaligned_le32(u32 word, void *to)
{
	memcpy(to, &word, sizeof(word));
}

static inline void memzero_explicit(void *at, size_t len)
{
	memset(at, 0, len);
	__asm__ volatile("" : : "r"(at) : "memory");
}

static inline void crypto_xor_cpy(u8 *dst, const u8 *a, const u8 *b,
				  unsigned int len)
{
	while (len--)
		*dst++ = *a++ ^ *b++;
}

/* The features that main() lets the code see. */
enum {
	X86_FEATURE_SSSE3 = 1,
	X86_FEATURE_AVX = 2,
	X86_FEATURE_AVX2 = 4,
	X86_FEATURE_AVX512VL = 8,
	X86_FEATURE_AVX512BW = 16,
};
extern unsigned int harness_features;
#define boot_cpu_has(feature)		(harness_features & (feature))
#define cpu_has_xfeatures(mask, name)	true

#define DEFINE_STATIC_KEY_FALSE(name)	bool name
#define static_branch_likely(key)	(*(key))
#define static_branch_enable(key)	(*(key) = true)

/* Counted, because user space cannot enter the kernel's sections. */
extern unsigned long harness_fpu_sections;
#define kernel_fpu_begin()		((void)harness_fpu_sections++)
#define kernel_fpu_end()		((void)0)

#endif
