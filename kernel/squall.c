// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/squall: what /dev/urandom gives, at the speed of the CPU's AES.
 *
 * A long read is AES-256 in counter mode. The key is 32 bytes of the kernel's
 * RNG, XORed with words of the CPU's random instruction, if there is one; each
 * 64 KiB has a new one. It is on the stack of the thread that
 * reads. The keystream is made in a buffer of at most 4 KiB and copied from
 * there to the caller. Key and buffer are erased before the read returns, so
 * there is no state between reads: nothing that a forked child could inherit,
 * and nothing that a later leak could reveal. While a copy waits for memory,
 * the key is there; it makes bytes of this read alone. A reseed of the
 * kernel's RNG reaches a read with its next key. A short read has words of the
 * kernel's RNG itself.
 *
 * Two clones of a virtual machine have the same kernel RNG until the kernel
 * handles vmgenid's interrupt, milliseconds later. Then it reseeds, and
 * notifies this module; a read that is being served starts anew, with its
 * first byte. Until then, the random instruction and the cycle counter, which
 * is in the nonce, keep the keys and nonces of clones apart:
 *
 * - With squall_vmgenid, the nonce also has vmgenid's ID, which the hypervisor
 *   changes before a clone runs. If it changes during a read, the read starts
 *   anew; and short reads are made like long ones. So no bytes are the same in
 *   two clones, but those of a read that was past its last comparison when the
 *   machine was cloned.
 * - Without it, a read that is being served may go on with its key, for up to
 *   64 KiB, and short reads may be the same, as those of /dev/urandom. Without
 *   the random instruction, two clones that read the same count, of a counter
 *   that may move only every 40 ns on arm64, have the same key and nonce.
 *
 * Without the random instruction, clones have keys in common until the kernel
 * reseeds: who has got the same bytes of the kernel's RNG in one clone can try
 * the nonces of another.
 *
 * Vector registers are used for at most 4 KiB at a time. Then come the copy,
 * signals, and rescheduling. If the caller's memory faults, or a signal comes,
 * the read returns the bytes so far, like one of /dev/urandom. Before the
 * kernel's RNG is ready, reads wait, or fail with EAGAIN.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/timex.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <asm/archrandom.h>

#include "squall_aes.h"
#include "squall_vmgenid.h"

/* What vector registers are used for at a time. */
#define PIECE 4096

/* What a key makes. */
#define KEY_LIFE (16 * PIECE)

/* Up to here the kernel's RNG is as fast. */
#define SHORT 64

/*
 * Controls of experiments: the nonce has vmgenid's ID alone; or key and nonce
 * are always 0.
 */
static const bool nonce_is_id = IS_ENABLED(CONFIG_SQUALL_NONCE_IS_ID);
static const bool key_is_zero = IS_ENABLED(CONFIG_SQUALL_KEY_IS_ZERO);

/* vmgenid's ID, or NULL. */
static const u64 *vmgenid;

/* Clones that the kernel was notified of. */
static atomic_long_t clones;

/* What changes when the machine is cloned, and when the kernel notices. */
struct epoch {
	u64 id[2];
	long clones;
};

static struct epoch current_epoch(void)
{
	struct epoch epoch = { .clones = atomic_long_read(&clones) };

	if (vmgenid) {
		epoch.id[0] = READ_ONCE(vmgenid[0]);
		epoch.id[1] = READ_ONCE(vmgenid[1]);
	}
	return epoch;
}

/*
 * Comes after what was done in the epoch, also in a clone: a CPU stops between
 * two instructions.
 */
static bool is_over(struct epoch epoch)
{
	struct epoch now;

	barrier();
	now = current_epoch();
	return memcmp(&now, &epoch, sizeof(now));
}

/* The kernel calls this when it has reseeded. */
static int notice_clone(struct notifier_block *block, unsigned long action,
			void *data)
{
	atomic_long_inc(&clones);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = notice_clone };

static void take_key(struct aes_ctr *state, struct epoch epoch)
{
	u64 id = epoch.id[0] ^ epoch.id[1];
	unsigned long word;
	size_t i;

	memset(state, 0, sizeof(*state));
	if (key_is_zero)
		return;
	get_random_bytes(state->keys, 32);
	memcpy(state->block, &id, sizeof(id));
	if (nonce_is_id)
		return;
	state->block[2] = random_get_entropy();
	/* User-mode Linux does not export what the instruction needs there. */
	for (i = 0; i < 8 && !IS_ENABLED(CONFIG_UML); i += 2) {
		if (!arch_get_random_longs(&word, 1))
			break;
		state->keys[i] ^= word;
		state->keys[i + 1] ^= word >> 32;
	}
	memzero_explicit(&word, sizeof(word));
}

static void make(struct aes_ctr *state, bool has_new_key, u8 *out, size_t len)
{
	aes_begin();
	if (has_new_key)
		expand_key(state->keys);
	keystream(state, out, round_up(len, AES_STRIDE));
	aes_end();
}

/* Both return how many bytes were copied, or an error. */
static noinline ssize_t read_long(struct iov_iter *to, gfp_t flags, struct epoch epoch)
{
	size_t size = min_t(size_t, iov_iter_count(to), PIECE);
	u8 *bytes = kmalloc(round_up(size, AES_STRIDE), flags);
	struct aes_ctr state;
	size_t done = 0;

	if (!bytes)
		return flags == GFP_KERNEL ? -ENOMEM : -EAGAIN;
	while (iov_iter_count(to)) {
		size_t len = min(iov_iter_count(to), size), copied;
		bool needs_key = done % KEY_LIFE == 0;

		if (needs_key)
			take_key(&state, epoch);
		make(&state, needs_key, bytes, len);
		copied = copy_to_iter(bytes, len, to);
		done += copied;
		if (copied < len || is_over(epoch) || signal_pending(current))
			break;
		cond_resched();
	}
	memzero_explicit(&state, sizeof(state));
	kfree_sensitive(bytes);
	return done ?: -EFAULT;
}

static ssize_t read_short(struct iov_iter *to)
{
	size_t len = iov_iter_count(to), copied;
	u64 words[SHORT / 8];
	size_t i;

	for (i = 0; i * 8 < len; i++)
		words[i] = get_random_u64();
	copied = copy_to_iter(words, len, to);
	memzero_explicit(words, len);
	return copied ?: -EFAULT;
}

static ssize_t read_random(struct kiocb *kiocb, struct iov_iter *to)
{
	bool waits = !(kiocb->ki_flags & IOCB_NOWAIT);
	struct epoch epoch;
	ssize_t done;

	if (!iov_iter_count(to))
		return 0;
	if (unlikely(!rng_is_initialized())) {
		if (!waits || kiocb->ki_filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
		done = wait_for_random_bytes();
		if (done)
			return done;
	}
	for (;;) {
		epoch = current_epoch();
		if (iov_iter_count(to) <= SHORT && !key_is_zero && !vmgenid)
			done = read_short(to);
		else
			done = read_long(to, waits ? GFP_KERNEL :
					 GFP_NOWAIT | __GFP_NOWARN,
					 epoch);
		if (done <= 0 || !is_over(epoch))
			return done;
		iov_iter_revert(to, done);
	}
}

static int open_to_read(struct inode *inode, struct file *file)
{
	if (file->f_mode & FMODE_WRITE)
		return -EACCES;
	/* As /dev/urandom has it: for io_uring, and preadv2 with RWF_NOWAIT. */
	file->f_mode |= FMODE_NOWAIT;
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open_to_read,
	.read_iter = read_random,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	.splice_read = copy_splice_read,
#else
	.splice_read = generic_file_splice_read,
#endif
	.llseek = noop_llseek,
};

/* Whether vmgenid's page is used: 1 or 0. */
static ssize_t vmgenid_page_show(struct device *dev,
				 struct device_attribute *attribute, char *to)
{
	return sysfs_emit(to, "%d\n", !!vmgenid);
}
static DEVICE_ATTR_RO(vmgenid_page);

static struct attribute *squall_attrs[] = {
	&dev_attr_vmgenid_page.attr,
	NULL
};
ATTRIBUTE_GROUPS(squall);

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "squall",
	.fops = &operations,
	.mode = 0444,
	.groups = squall_groups,
};

static int __init squall_init(void)
{
	const u64 *(*id)(void);
	int error;

	if (!aes_is_there()) {
		pr_err("refused: this CPU has no AES instructions\n");
		return -ENODEV;
	}
	/* It stays loaded as long as this module. */
	id = symbol_get(squall_vmgenid_id);
	if (id)
		vmgenid = id();
	error = register_random_vmfork_notifier(&notifier);
	if (error)
		goto put;
	error = misc_register(&device);
	if (error)
		goto unregister;
	pr_info("/dev/squall by %s, %s vmgenid's page%s\n", aes_name(),
		vmgenid ? "with" : "without",
		key_is_zero ? ", keystream of the key 0" :
		nonce_is_id ? ", its ID alone as the nonce" : "");
	return 0;

unregister:
	unregister_random_vmfork_notifier(&notifier);
put:
	if (vmgenid)
		symbol_put(squall_vmgenid_id);
	return error;
}
module_init(squall_init);

static void __exit squall_exit(void)
{
	misc_deregister(&device);
	unregister_random_vmfork_notifier(&notifier);
	if (vmgenid)
		symbol_put(squall_vmgenid_id);
}
module_exit(squall_exit);

/* Before this module, if there is such a device. */
MODULE_SOFTDEP("pre: squall_vmgenid");
MODULE_DESCRIPTION("Random bytes at the speed of the CPU's AES");
MODULE_AUTHOR("the squall authors");
MODULE_LICENSE("GPL");
