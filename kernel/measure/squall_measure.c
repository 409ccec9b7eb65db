// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading this module measures /dev/squall beside /dev/urandom, and logs the
 * best of several turns: reads by the kernel itself, without the system call,
 * which takes microseconds in user-mode Linux; and what one request to the
 * kernel's skcipher costs beside its AES. It then refuses to be loaded. Only
 * for measuring: it keeps a CPU busy for seconds.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <crypto/skcipher.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#define TURNS 7
#define MAX_LEN (1 << 20)

static u8 *buffer;

/* Picoseconds of one of count calls, in the best turn. */
#define BEST(count, call) ({						\
	u64 best = U64_MAX;						\
	int turn, n;							\
	for (turn = 0; turn < TURNS; turn++) {				\
		u64 start = ktime_get_ns();				\
		for (n = 0; n < (count); n++)				\
			call;						\
		best = min(best, ktime_get_ns() - start);		\
		cond_resched();						\
	}								\
	best * 1000 / (count);						\
})

static void measure_reads(const char *path)
{
	static const size_t lens[] = { 16, 64, 128, 256, 512, 1024, 4096,
				       65536, MAX_LEN };
	struct file *file = filp_open(path, O_RDONLY, 0);
	int i;

	if (IS_ERR(file)) {
		pr_err("%s: %ld\n", path, PTR_ERR(file));
		return;
	}
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		int count = (4 << 20) / max_t(size_t, lens[i], 512);
		loff_t position = 0;
		u64 best = BEST(count, kernel_read(file, buffer, lens[i],
						   &position));

		pr_info("%s %zu bytes: %llu.%03llu ns, %llu MB/s\n", path,
			lens[i], best / 1000, best % 1000,
			lens[i] * 1000000 / max(best, 1ULL));
	}
	filp_close(file, NULL);
}

static void key_once(void)
{
	struct crypto_skcipher *cipher =
		crypto_alloc_skcipher("ctr(aes)", 0, CRYPTO_ALG_ASYNC);

	if (IS_ERR(cipher))
		return;
	crypto_skcipher_setkey(cipher, buffer, 32);
	crypto_free_skcipher(cipher);
}

/* The null cipher copies, so what it takes beside a copy is the interface. */
static void measure_skcipher(const char *name, int keylen, size_t len)
{
	struct crypto_skcipher *cipher =
		crypto_alloc_skcipher(name, 0, CRYPTO_ALG_ASYNC);
	struct skcipher_request *request;
	struct scatterlist in, out;
	u8 iv[16] = {};
	u64 best;

	if (IS_ERR(cipher)) {
		pr_err("%s: %ld\n", name, PTR_ERR(cipher));
		return;
	}
	crypto_skcipher_setkey(cipher, buffer, keylen);
	request = skcipher_request_alloc(cipher, GFP_KERNEL);
	if (!request)
		goto free;
	sg_init_one(&in, page_address(ZERO_PAGE(0)), len);
	sg_init_one(&out, buffer, len);
	skcipher_request_set_callback(request, 0, NULL, NULL);
	best = BEST(1000, ({
		skcipher_request_set_crypt(request, &in, &out, len, iv);
		(void)crypto_skcipher_encrypt(request);
	}));
	pr_info("skcipher %s (%s) %zu bytes: %llu.%03llu ns\n", name,
		crypto_tfm_alg_driver_name(crypto_skcipher_tfm(cipher)), len,
		best / 1000, best % 1000);
	skcipher_request_free(request);
free:
	crypto_free_skcipher(cipher);
}

static int __init squall_measure_init(void)
{
	u64 best;

	buffer = kvmalloc(MAX_LEN, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	measure_reads("/dev/squall");
	measure_reads("/dev/urandom");
	measure_skcipher("ecb(cipher_null)", 0, 4096);
	measure_skcipher("ctr(aes)", 32, 4096);
	measure_skcipher("ctr(aes)", 32, 16);
	best = BEST(1000, memcpy(buffer, page_address(ZERO_PAGE(0)), 4096));
	pr_info("memcpy 4096 bytes: %llu.%03llu ns\n", best / 1000,
		best % 1000);
	best = BEST(1000, key_once());
	pr_info("skcipher ctr(aes) allocated, keyed and freed: %llu.%03llu ns\n",
		best / 1000, best % 1000);
	kvfree(buffer);
	return -EAGAIN;
}
module_init(squall_measure_init);

MODULE_DESCRIPTION("Measures /dev/squall");
MODULE_AUTHOR("the squall authors");
MODULE_LICENSE("GPL");
