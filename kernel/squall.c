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
 * Two clones of a virtual machine have the same kernel RNG until it reseeds.
 * The kernel learns of a clone from vmgenid's interrupt, milliseconds late, or
 * not at all. But two things change before a CPU of a clone runs: kvm-clock's
 * record of this CPU, which KVM rewrites, and vmgenid's ID, if squall_vmgenid
 * is there. Each read compares them after its bytes were taken. If they have
 * changed, it discards the bytes, has the kernel's RNG reseeded, and starts
 * anew, with its first byte. So no bytes are the same in two clones, but those
 * of a read that was past its last comparison when the machine was cloned. KVM
 * also rewrites records at other times, which costs a reseed each.
 *
 * Where neither is there, short reads are the same in clones as long as those
 * of /dev/urandom are. Keys of long reads differ by the random instruction and
 * by the cycle counter, which is in the nonce. Without the random instruction,
 * two clones that read the same count, of a counter that may move only every
 * 40 ns on arm64, have the same key and nonce; and who has got the same bytes
 * of the kernel's RNG in one clone can try the nonces of another. A read that
 * is being served may go on with its key, for up to 64 KiB.
 *
 * Vector registers are used for at most 4 KiB at a time. Then come the copy,
 * signals, and rescheduling. If the caller's memory faults, or a signal comes,
 * the read returns the bytes so far, like one of /dev/urandom. Before the
 * kernel's RNG is ready, reads wait, or fail with EAGAIN.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/major.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/timex.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <asm/archrandom.h>
#ifdef CONFIG_KVM_GUEST
#include <asm/pvclock.h>
#include <asm/kvmclock.h>
#endif

#include "squall_aes.h"
#include "squall_vmgenid.h"

/* What vector registers are used for at a time. */
#define PIECE 4096

/* What a key makes. */
#define KEY_LIFE (16 * PIECE)

/* Up to here the kernel's RNG is as fast. */
#define SHORT 64

/* Attempts at a read. Then it is cut to a piece, which takes a microsecond. */
#define ATTEMPTS 8

/*
 * Controls of experiments: keys have the kernel's bytes alone; or key and nonce
 * are always 0.
 */
static const bool key_is_kernels = IS_ENABLED(CONFIG_SQUALL_KEY_IS_KERNELS);
static const bool key_is_zero = IS_ENABLED(CONFIG_SQUALL_KEY_IS_ZERO);

/* vmgenid's ID, or NULL. */
static const u64 *vmgenid;

/* Whether the CPUs have records of kvm-clock. */
static bool has_records;

#ifdef CONFIG_KVM_GUEST
/* Each CPU's pointer to its record. */
static typeof(&hv_clock_per_cpu) records;

/* Hosts before Linux 4 may begin the version anew in a clone. */
static u64 record_here(void)
{
	const struct pvclock_vcpu_time_info *record;

	if (!has_records)
		return 0;
	record = &raw_cpu_read(*records)->pvti;
	return READ_ONCE(record->version) | READ_ONCE(record->tsc_timestamp) << 32;
}

static void find_records(void)
{
	/* symbol_get() has a cast that the compiler warns of. */
	records = (typeof(records))(unsigned long)
		  __symbol_get("hv_clock_per_cpu");
	has_records = records && raw_cpu_read(*records);
}
#else
static u64 record_here(void)
{
	return 0;
}

static void find_records(void)
{
}
#endif

/*
 * What changes before this CPU runs in a clone. The CPU stays the same
 * meanwhile.
 */
static u64 signal_here(void)
{
	u64 signal = record_here();

	if (vmgenid)
		signal ^= READ_ONCE(vmgenid[0]) ^ READ_ONCE(vmgenid[1]);
	return signal;
}

/* A CPU's signal, for which the kernel's RNG has reseeded. */
static DEFINE_PER_CPU(u64, noted);

/* How often the kernel's RNG has reseeded because of a signal or a clone. */
static atomic_long_t reseeds;

/*
 * Whether bytes that were taken after this number was read may be a clone's
 * too. The CPU may be another than then: if its signal was noted in the
 * clone, the number has changed. A CPU stops between two instructions, so all
 * that counts is that the bytes come before.
 */
static bool is_over(long number)
{
	u64 signal;
	bool is_noted;

	barrier();
	preempt_disable();
	signal = signal_here();
	/* The number is read after this: see catch_up(). */
	is_noted = smp_load_acquire(this_cpu_ptr(&noted)) == signal;
	preempt_enable();
	return !is_noted || atomic_long_read(&reseeds) != number;
}

/* /dev/urandom, if there is a signal. */
static struct file *urandom;

/* By the kernel's own thread, because the ioctl is for root. */
static void reseed(struct work_struct *work)
{
	long error = urandom->f_op->unlocked_ioctl(urandom, RNDRESEEDCRNG, 0);

	WARN_ON_ONCE(error);
}

static DECLARE_WORK(reseeding, reseed);

/*
 * Has the kernel's RNG reseeded if this CPU's signal has changed, and notes it.
 * If the machine is cloned meanwhile, what is noted here is old there. Returns
 * false if this must not wait.
 */
static bool catch_up(bool waits)
{
	u64 *place = get_cpu_ptr(&noted);
	u64 signal = signal_here();
	bool is_noted = *place == signal;

	put_cpu_ptr(&noted);
	if (is_noted)
		return true;
	if (!waits)
		return false;
	add_device_randomness(&signal, sizeof(signal));
	schedule_work(&reseeding);
	flush_work(&reseeding);
	atomic_long_inc(&reseeds);
	/* Who sees this sees the new number. */
	smp_store_release(place, signal);
	return true;
}

/* The kernel calls this when it has reseeded. */
static int notice_clone(struct notifier_block *block, unsigned long action,
			void *data)
{
	atomic_long_inc(&reseeds);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = notice_clone };

static void take_key(struct aes_ctr *state)
{
	unsigned long word;
	size_t i;

	memset(state, 0, sizeof(*state));
	if (key_is_zero)
		return;
	get_random_bytes(state->keys, 32);
	if (key_is_kernels)
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
static noinline ssize_t read_long(struct iov_iter *to, gfp_t flags, long number)
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
			take_key(&state);
		make(&state, needs_key, bytes, len);
		copied = copy_to_iter(bytes, len, to);
		done += copied;
		if (copied < len || is_over(number) || signal_pending(current))
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
	int attempt;
	ssize_t done;
	long number;

	if (!iov_iter_count(to))
		return 0;
	if (unlikely(!rng_is_initialized())) {
		if (!waits || kiocb->ki_filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
		done = wait_for_random_bytes();
		if (done)
			return done;
	}
	for (attempt = 1;; attempt++) {
		number = atomic_long_read_acquire(&reseeds);
		if (iov_iter_count(to) <= SHORT && !key_is_zero)
			done = read_short(to);
		else
			done = read_long(to, waits ? GFP_KERNEL :
					 GFP_NOWAIT | __GFP_NOWARN,
					 number);
		if (done <= 0 || !is_over(number))
			return done;
		iov_iter_revert(to, done);
		if (!catch_up(waits))
			return -EAGAIN;
		if (attempt == ATTEMPTS)
			iov_iter_truncate(to, PIECE);
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

/* Whether these are used: 1 or 0. */
static ssize_t vmgenid_page_show(struct device *dev,
				 struct device_attribute *attribute, char *to)
{
	return sysfs_emit(to, "%d\n", !!vmgenid);
}
static DEVICE_ATTR_RO(vmgenid_page);

static ssize_t kvm_clock_show(struct device *dev,
			      struct device_attribute *attribute, char *to)
{
	return sysfs_emit(to, "%d\n", has_records);
}
static DEVICE_ATTR_RO(kvm_clock);

static struct attribute *squall_attrs[] = {
	&dev_attr_vmgenid_page.attr,
	&dev_attr_kvm_clock.attr,
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

static int open_urandom(void)
{
	struct file *file = filp_open("/dev/urandom", O_RDONLY, 0);

	if (IS_ERR(file))
		return PTR_ERR(file);
	if (file_inode(file)->i_rdev != MKDEV(MEM_MAJOR, 9)) {
		fput(file);
		return -ENXIO;
	}
	urandom = file;
	return 0;
}

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
	find_records();
	if (vmgenid || has_records) {
		error = open_urandom();
		if (error) {
			pr_err("refused: /dev/urandom is not the kernel's\n");
			goto put;
		}
	}
	error = register_random_vmfork_notifier(&notifier);
	if (error)
		goto close;
	error = misc_register(&device);
	if (error)
		goto unregister;
	pr_info("/dev/squall by %s, %s vmgenid's page, %s kvm-clock%s\n",
		aes_name(), vmgenid ? "with" : "without",
		has_records ? "with" : "without",
		key_is_zero ? ", keystream of the key 0" :
		key_is_kernels ? ", keys of the kernel's bytes alone" : "");
	return 0;

unregister:
	unregister_random_vmfork_notifier(&notifier);
close:
	if (urandom)
		fput(urandom);
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
	if (urandom)
		fput(urandom);
	if (vmgenid)
		symbol_put(squall_vmgenid_id);
}
module_exit(squall_exit);

/* Before this module, if there is such a device. */
MODULE_SOFTDEP("pre: squall_vmgenid");
MODULE_DESCRIPTION("Random bytes at the speed of the CPU's AES");
MODULE_AUTHOR("the squall authors");
MODULE_LICENSE("GPL");
