// SPDX-License-Identifier: GPL-2.0
/*
 * How fast random.c could serve a long read: its loop of today, which makes
 * 64 bytes at a time by the portable chacha20_block(), beside chacha20_crypt()
 * in pieces, both compiled from the kernel's own files. Both copy what they
 * make to the reader's buffer. Fails if they do not make the same bytes.
 *
 * "left" are the words of keystream that stay on the stack after a piece.
 *
 * Then, for short reads: the kernel saves the program's vector registers once
 * before it uses them, and restores them on return. That is timed apart. What
 * allocating a piece takes is not measured.
 */
#include <cpuid.h>
#include <crypto/chacha.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { READ = 1 << 20, ROUNDS = 61, CPUS = 4 };

unsigned int harness_features;
unsigned long harness_fpu_sections;
int harness_init(void);

static u8 today[READ], after[READ];

static noinline void make_by_block(struct chacha_state *state, u8 *to,
				   size_t size)
{
	u8 block[CHACHA_BLOCK_SIZE];

	for (size_t done = 0; done < size; done += sizeof(block)) {
		chacha20_block(state, block);
		if (state->x[12] == 0)
			++state->x[13];
		memcpy(to + done, block, sizeof(block));
	}
	memzero_explicit(block, sizeof(block));
}

static noinline void make_by_piece(struct chacha_state *state, u8 *to,
				   size_t size, size_t len)
{
	u8 piece[4096] __aligned(64);

	for (size_t done = 0; done < size; done += len) {
		memset(piece, 0, len);
		chacha20_crypt(state, piece, piece, len);
		memcpy(to + done, piece, len);
	}
	/* All of it, as kfree_sensitive() does. */
	memzero_explicit(piece, sizeof(piece));
}

/*
 * How many of the 32-bit words that are still on the stack after chacha20_crypt()
 * are words of the keystream that it made. Nothing is called between it and the
 * look at the stack.
 */
static noinline int words_left(struct chacha_state *state, u8 *piece, size_t len)
{
	enum { WORDS = 1024 };
	static u32 stack[WORDS];
	volatile u32 *below;
	int left = 0;

	memset(piece, 0, len);
	__asm__ volatile("lea -4096(%%rsp), %0" : "=r"(below));
	for (int i = 0; i < WORDS; i++)
		below[i] = 0;
	chacha20_crypt(state, piece, piece, len);
	for (int i = 0; i < WORDS; i++)
		stack[i] = below[i];
	for (int i = 0; i < WORDS; i++)
		for (size_t at = 0; stack[i] && at < len; at += 4)
			left += get_unaligned_le32(piece + at) == stack[i];
	return left;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

static void start(struct chacha_state *state)
{
	chacha_init_consts(state);
	for (int i = 4; i < 12; i++)
		state->x[i] = 0x9e3779b9u * i;
	memset(&state->x[12], 0, 16);
	state->x[12] = 1;
}

/* Nanoseconds to save the registers in use and to restore them. */
static double save_and_restore(void)
{
	static u8 area[16384] __aligned(64);
	unsigned int a, b, c, d;
	double times[ROUNDS];
	enum { REPEATS = 1000 };

	if (!__builtin_cpu_supports("avx") || !__get_cpuid_count(0xd, 1, &a, &b, &c, &d) ||
	    !(a & 2))
		return 0;
	for (int r = 0; r < ROUNDS; r++) {
		double t0 = seconds();

		for (int i = 0; i < REPEATS; i++) {
			/* The upper halves are in use, as after a program's memcpy. */
			__asm__ volatile("vpcmpeqd %%ymm1, %%ymm1, %%ymm1" : : : "xmm1");
			__asm__ volatile("xsavec64 %0" : "=m"(area) : "a"(-1), "d"(-1));
			__asm__ volatile("xrstor64 %0" : : "m"(area), "a"(-1), "d"(-1));
		}
		times[r] = (seconds() - t0) / REPEATS * 1e9;
	}
	__asm__ volatile("vzeroupper");
	return median(times);
}

static const size_t short_lens[] = { 128, 256, 512, 1024, 2048, 4096 };

/* Nanoseconds by single blocks, and in a piece. */
struct short_read {
	double today, piece;
};

static void measure_short_reads(struct short_read *reads)
{
	enum { REPEATS = 200 };

	for (size_t l = 0; l < ARRAY_SIZE(short_lens); l++) {
		double one[ROUNDS], other[ROUNDS];

		for (int r = 0; r < ROUNDS; r++) {
			struct chacha_state state;
			double t0, t1;

			start(&state);
			t0 = seconds();
			for (int i = 0; i < REPEATS; i++)
				make_by_block(&state, today, short_lens[l]);
			t1 = seconds();
			for (int i = 0; i < REPEATS; i++)
				make_by_piece(&state, after, short_lens[l], short_lens[l]);
			one[r] = (t1 - t0) / REPEATS * 1e9;
			other[r] = (seconds() - t1) / REPEATS * 1e9;
		}
		reads[l] = (struct short_read){ median(one), median(other) };
	}
}

int main(void)
{
	static const size_t pieces[] = { 256, 512, 1024, 4096 };
	static const struct {
		const char *name;
		unsigned int features;
	} cpus[CPUS] = {
		{ "portable", 0 },
		{ "SSSE3", X86_FEATURE_SSSE3 },
		{ "AVX2", X86_FEATURE_SSSE3 | X86_FEATURE_AVX | X86_FEATURE_AVX2 },
		{ "AVX-512VL", X86_FEATURE_SSSE3 | X86_FEATURE_AVX | X86_FEATURE_AVX2 |
			       X86_FEATURE_AVX512VL | X86_FEATURE_AVX512BW },
	};
	struct short_read reads[CPUS][ARRAY_SIZE(short_lens)];
	bool able[CPUS] = { true, __builtin_cpu_supports("ssse3"),
			__builtin_cpu_supports("avx2"),
			__builtin_cpu_supports("avx512vl") &&
			__builtin_cpu_supports("avx512bw") };

	printf("%-10s %6s %12s %12s %6s %6s\n", "CPU", "piece", "today, MB/s",
	       "pieces, MB/s", "times", "left");
	for (size_t c = 0; c < CPUS; c++) {
		if (!able[c]) {
			printf("%-10s ignored: this CPU does not have it\n", cpus[c].name);
			continue;
		}
		/* The keys are only ever set, so from few features to many. */
		harness_features = cpus[c].features;
		harness_init();
		for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
			double one[ROUNDS], other[ROUNDS], ratio[ROUNDS];

			for (int r = 0; r < ROUNDS; r++) {
				struct chacha_state a, b;
				double t0, t1, t2;

				start(&a);
				start(&b);
				t0 = seconds();
				make_by_block(&a, today, READ);
				t1 = seconds();
				make_by_piece(&b, after, READ, pieces[p]);
				t2 = seconds();
				if (memcmp(today, after, READ) || memcmp(&a, &b, sizeof(a))) {
					fprintf(stderr, "%s: pieces of %zu: other bytes\n",
						cpus[c].name, pieces[p]);
					return 1;
				}
				one[r] = READ / (t1 - t0) / 1e6;
				other[r] = READ / (t2 - t1) / 1e6;
				ratio[r] = other[r] / one[r];
			}
			struct chacha_state state;

			start(&state);
			printf("%-10s %6zu %12.0f %12.0f %6.2f %6d\n", cpus[c].name,
			       pieces[p], median(one), median(other), median(ratio),
			       words_left(&state, after, pieces[p]));
		}
		measure_short_reads(reads[c]);
	}

	printf("\n%-30s", "bytes: today's and a piece's ns");
	for (size_t l = 0; l < ARRAY_SIZE(short_lens); l++)
		printf(" %10zu", short_lens[l]);
	for (size_t c = 0; c < CPUS; c++) {
		if (!able[c])
			continue;
		printf("\n%-30s", cpus[c].name);
		for (size_t l = 0; l < ARRAY_SIZE(short_lens); l++)
			printf(" %5.0f %4.0f", reads[c][l].today, reads[c][l].piece);
	}
	printf("\nregisters saved and restored, once a read: %.0f ns\n",
	       save_and_restore());
	return 0;
}
