/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel as the proofs see it: each function may do all that the real one
 * may do, and asserts what a caller must keep to. It is included before
 * squall.c, in place of the headers named there.
 *
 * What is assumed:
 * - The kernel's functions do no more than these.
 * - The assembly of squall_aes.h writes len bytes at out, and nothing else.
 * - A signal that has changed is unlike every earlier one, and so is one of
 *   which a part was read before a clone and a part after. So its parts are
 *   read at one instant here.
 * - Other threads that note a signal do it by catch_up(): they read it, have
 *   the RNG reseeded, count that, and store it, in this order. catch_up() is
 *   proved to do so.
 * - reseeds does not wrap.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define prove(condition, what) __CPROVER_assert(condition, what)
#define suppose(condition) __CPROVER_assume(condition)

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef long ssize_t;
typedef unsigned int gfp_t, umode_t;

bool nondet_bool(void);
int nondet_int(void);
long nondet_long(void);
u32 nondet_u32(void);
u64 nondet_u64(void);
size_t nondet_size(void);

/* Not as macros: the sources ask for some of them by #ifdef, too. */
enum {
	CONFIG_SQUALL_KEY_IS_KERNELS = 0,
	CONFIG_SQUALL_KEY_IS_ZERO = 0,
	CONFIG_UML = 0,
};
#define IS_ENABLED(option)	(option)

#define KERNEL_VERSION(a, b, c)	((a) << 16 | (b) << 8 | (c))
#define THIS_MODULE		NULL
#define __init
#define __exit
#define noinline
#define module_init(function)
#define module_exit(function)
#define MODULE_SOFTDEP(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_AUTHOR(text)
#define MODULE_LICENSE(text)

enum {
	ENXIO = 6,
	EAGAIN = 11,
	ENOMEM = 12,
	EACCES = 13,
	EFAULT = 14,
	EBUSY = 16,
	ENODEV = 19,
	ERESTARTSYS = 512,
};

#define unlikely(x)		(x)
#define min(a, b)		((a) < (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define round_up(n, to)		(((n) + (to) - 1) / (to) * (to))
#define WARN_ON_ONCE(x)		((void)(x))
#define pr_err(...)		((void)0)
#define pr_info(...)		((void)0)
#define barrier()		((void)0)
#define READ_ONCE(x)		(x)

static u32 ror32(u32 word, unsigned int by)
{
	return word >> by | word << (32 - by);
}

/* What the caller of a read asks for. */
static struct {
	bool may_wait;
	size_t wants;
} caller;

/* Bytes that must be erased. */
struct secret {
	const void *at;
	size_t len;
};

/* What the module does not know. */
static struct {
	/* Of the thread: the CPU that it stays on, and vector registers. */
	bool is_pinned, in_section;
	int cpu;

	/* Bytes that the caller has, of this attempt. */
	size_t delivered;

	/* Bytes that were made and not copied, and their buffer. */
	size_t available;
	void *buffer;

	/* The attempt's key, and how many bytes it has made. */
	const struct aes_ctr *key_at;
	bool is_expanded;
	size_t made;

	struct secret key, piece, words, word, registers;

	/*
	 * Whether the RNG has reseeded since the last clone, and reseeds when
	 * it did so first.
	 */
	bool is_own;
	long reseeds_then;

	/* The same since the signal was read, and what has followed. */
	struct {
		u64 signal;
		bool is_own;
		long reseeds_then;
	} look;
	enum { LOOKED, RESEEDED, COUNTED } step;
	bool is_mixed, is_scheduled;

	/*
	 * Whether this attempt has bytes of the RNG, whether a clone may have
	 * them too, and whether that was compared after the last copy.
	 */
	bool has_bytes, is_stale, is_compared, was_stale;
} ghost;

/* Clones and other threads */

enum { CPUS = 2 };
#define DEFINE_PER_CPU(type, name)	type name[CPUS]

typedef struct {
	long counter;
} atomic_long_t;

struct pvclock_vcpu_time_info {
	u32 version;
	u64 tsc_timestamp;
};

struct pvclock_vsyscall_time_info {
	struct pvclock_vcpu_time_info pvti;
};

/* squall.c's, which other threads change. */
static const u64 *vmgenid;
static bool has_records;
static atomic_long_t reseeds;
static DEFINE_PER_CPU(u64, noted);
static struct file *urandom;

static struct pvclock_vsyscall_time_info record_of[CPUS];
static u64 id[2];
DEFINE_PER_CPU(struct pvclock_vsyscall_time_info *, hv_clock_per_cpu);

static bool shows_clones(void)
{
	return has_records || vmgenid;
}

static u64 signal_of(int cpu)
{
	return (has_records ? record_of[cpu].pvti.version |
			      record_of[cpu].pvti.tsc_timestamp << 32 : 0) ^
	       (vmgenid ? id[0] ^ id[1] : 0);
}

/* The RNG is reseeded: from now on this clone's bytes are its own. */
static void rng_reseeds(void)
{
	if (!ghost.is_own)
		ghost.reseeds_then = reseeds.counter;
	ghost.is_own = true;
	if (!ghost.look.is_own)
		ghost.look.reseeds_then = reseeds.counter;
	ghost.look.is_own = true;
}

/* What a note means: see is_over(). */
static bool is_note_true(int cpu)
{
	if (!shows_clones())
		return !noted[cpu];
	return !ghost.is_pinned || cpu != ghost.cpu ||
	       noted[cpu] != signal_of(cpu) ||
	       (ghost.look.is_own &&
		reseeds.counter > ghost.look.reseeds_then);
}

/* What happens between two steps of the thread that reads. */
static void others(void)
{
	long number = nondet_long();

	if (nondet_bool()) {	/* The machine is cloned. */
		ghost.is_own = false;
		ghost.is_stale |= ghost.has_bytes;
	}
	if (nondet_bool())
		rng_reseeds();
	suppose(number >= reseeds.counter && number < LONG_MAX / 2);
	reseeds.counter = number;
	noted[0] = nondet_u64();
	noted[1] = nondet_u64();
	suppose(is_note_true(0) && is_note_true(1));
}

static bool is_erased(void)
{
	return !ghost.key.len && !ghost.piece.len && !ghost.words.len &&
	       !ghost.word.len && !ghost.registers.len;
}

static long atomic_long_read(const atomic_long_t *number)
{
	others();
	return number->counter;
}

/* An attempt begins. */
static long atomic_long_read_acquire(const atomic_long_t *number)
{
	others();
	prove(!ghost.delivered, "count: an attempt begins where the read did");
	prove(is_erased() && !ghost.buffer,
	      "erasure: nothing is left for the next attempt");
	ghost.key_at = NULL;
	ghost.available = 0;
	return number->counter;
}

static void atomic_long_inc(atomic_long_t *number)
{
	others();
	number->counter++;
	if (ghost.step == RESEEDED)
		ghost.step = COUNTED;
}

#define smp_load_acquire(place)		({ others(); *(place); })
static void smp_store_release(u64 *place, u64 signal)
{
	others();
	prove(ghost.step == COUNTED && place == &noted[ghost.cpu] &&
	      signal == ghost.look.signal,
	      "clones: a signal is noted once its reseed was counted");
	*place = signal;
}

/* Context */

static void preempt_disable(void)
{
	others();
	prove(!ghost.is_pinned, "context: preemption is disabled once");
	ghost.is_pinned = true;
	ghost.cpu = nondet_bool();
	record_of[ghost.cpu].pvti.version = nondet_u32();
	record_of[ghost.cpu].pvti.tsc_timestamp = nondet_u64();
	id[0] = nondet_u64();
	ghost.look.signal = signal_of(ghost.cpu);
	ghost.look.is_own = ghost.is_own;
	ghost.look.reseeds_then = ghost.reseeds_then;
	ghost.step = LOOKED;
	ghost.is_compared = true;
	ghost.was_stale = ghost.is_stale;
}

static void preempt_enable(void)
{
	prove(ghost.is_pinned, "context: preemption is enabled once");
	ghost.is_pinned = false;
}

static int pinned_cpu(void)
{
	prove(ghost.is_pinned, "context: the CPU stays the same");
	return ghost.cpu;
}

#define raw_cpu_read(name)	\
	((name)[ghost.is_pinned ? ghost.cpu : nondet_bool()])
#define this_cpu_ptr(name)	(&(*(name))[pinned_cpu()])
#define get_cpu_ptr(name)	({ preempt_disable(); this_cpu_ptr(name); })
#define put_cpu_ptr(place)	preempt_enable()

static void may_sleep(void)
{
	prove(!ghost.is_pinned && !ghost.in_section,
	      "context: nothing sleeps with preemption disabled");
}

static void waits(void)
{
	may_sleep();
	prove(caller.may_wait, "waits: only for a caller that may wait");
}

struct work_struct {
	void (*function)(struct work_struct *work);
};
#define DECLARE_WORK(name, call)	struct work_struct name = { call }
#define schedule_work(work)		(ghost.is_scheduled = true)

static void flush_work(struct work_struct *work)
{
	waits();
	if (ghost.is_scheduled)
		work->function(work);
	ghost.is_scheduled = false;
}

#define cond_resched()		may_sleep()
#define signal_pending(task)	nondet_bool()

/* Memory */

#define __GFP_DIRECT_RECLAIM	0x400u
#define __GFP_NOWARN		0x2000u
#define GFP_KERNEL		(0x8c0u | __GFP_DIRECT_RECLAIM)
#define GFP_NOWAIT		0x800u

void *malloc(size_t size);
void free(void *object);

static void hold(struct secret *secret, const void *at, size_t len)
{
	prove(!secret->len || secret->at == at,
	      "erasure: a secret is erased before the next one");
	secret->at = at;
	secret->len = len;
}

static void forget_in(struct secret *secret, const void *at, size_t len)
{
	if (secret->len && __CPROVER_same_object(secret->at, at) &&
	    (const u8 *)at <= (const u8 *)secret->at &&
	    (const u8 *)secret->at + secret->len <= (const u8 *)at + len)
		secret->len = 0;
}

static void forget(const void *at, size_t len)
{
	forget_in(&ghost.key, at, len);
	forget_in(&ghost.piece, at, len);
	forget_in(&ghost.words, at, len);
	forget_in(&ghost.word, at, len);
	forget_in(&ghost.registers, at, len);
}

static void memzero_explicit(void *at, size_t len)
{
	memset(at, 0, len);
	forget(at, len);
}

static void *kmalloc(size_t size, gfp_t flags)
{
	if (flags & __GFP_DIRECT_RECLAIM)
		waits();
	prove(!ghost.buffer, "memory: one buffer at a time");
	ghost.buffer = nondet_bool() ? malloc(size) : NULL;
	return ghost.buffer;
}

static void kfree(void *object)
{
	prove(!ghost.piece.len, "erasure: freed memory has no keystream");
	free(object);
	ghost.buffer = NULL;
}

static void kfree_sensitive(void *object)
{
	forget(object, __CPROVER_OBJECT_SIZE(object));
	kfree(object);
}

/* AES */

#define boot_cpu_has(feature)		nondet_bool()
#define cpu_has_xfeatures(mask, name)	nondet_bool()
#define cpu_have_named_feature(name)	nondet_bool()

static void kernel_fpu_begin(void)
{
	prove(!ghost.in_section, "context: vector registers are taken once");
	ghost.in_section = true;
}

static void kernel_fpu_end(void)
{
	prove(ghost.in_section, "context: vector registers are given back once");
	ghost.in_section = false;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
struct user_fpsimd_state {
	u8 registers[512];
};
#define kernel_neon_begin(saved)	kernel_fpu_begin()

/* Until now, an interrupt may have saved registers. */
static void kernel_neon_end(struct user_fpsimd_state *saved)
{
	hold(&ghost.registers, saved, sizeof(*saved));
	kernel_fpu_end();
}
#else
#define kernel_neon_begin	kernel_fpu_begin
#define kernel_neon_end		kernel_fpu_end
#endif

#include "squall_aes.h"

/* run.sh has one of these called in sub_word()'s place. */
u32 any_word(u32 word)
{
	return nondet_u32();
}

/* SubWord() with any S-box. */
u8 __CPROVER_uninterpreted_s_box(u8 byte);

u32 any_s_box(u32 word)
{
	return __CPROVER_uninterpreted_s_box(word) |
	       __CPROVER_uninterpreted_s_box(word >> 8) << 8 |
	       __CPROVER_uninterpreted_s_box(word >> 16) << 16 |
	       (u32)__CPROVER_uninterpreted_s_box(word >> 24) << 24;
}

/* squall.c calls this in expand_key()'s place. */
static void model_expand_key(u32 *words)
{
	prove(ghost.in_section, "context: AES has the vector registers");
	prove(words == ghost.key_at->keys && !ghost.is_expanded,
	      "key: expanded once");
	expand_key(words);
	ghost.is_expanded = true;
}

/* And this in keystream()'s, whose assembly CBMC leaves out. */
static void model_keystream(struct aes_ctr *state, u8 *out, size_t len)
{
	prove(ghost.in_section, "context: AES has the vector registers");
	prove(len <= 4096, "context: vector registers for at most 4 KiB");
	prove(len && len % AES_STRIDE == 0, "memory: whole strides");
	prove(__CPROVER_w_ok(out, len) && out == ghost.buffer,
	      "memory: the keystream fits into the buffer");
	prove(state == ghost.key_at && ghost.is_expanded,
	      "key: taken in this attempt, and expanded");
	prove(state->block[3] == ghost.made / 16, "key: no block twice");
	ghost.made += len;
	/* 64 KiB, as squall.c's head comment says. */
	prove(ghost.made <= 65536, "key: at most 64 KiB");
	__CPROVER_havoc_slice(out, len);
	keystream(state, out, len);
	hold(&ghost.piece, out, __CPROVER_OBJECT_SIZE(out));
	ghost.available = len;
}

#define expand_key(words)		model_expand_key(words)
#define keystream(state, out, len)	model_keystream(state, out, len)

/* Random bytes */

#define RNDRESEEDCRNG	0x5207

static void take_bytes(void)
{
	ghost.has_bytes = true;
	ghost.is_compared = false;
	ghost.is_stale |= !ghost.is_own;
}

#define rng_is_initialized()	nondet_bool()
#define random_get_entropy()	nondet_u64()

static int wait_for_random_bytes(void)
{
	waits();
	return nondet_bool() ? -ERESTARTSYS : 0;
}

static void get_random_bytes(void *to, size_t len)
{
	others();
	prove(len == 32, "key: 32 bytes of the kernel's RNG");
	prove(__CPROVER_w_ok(to, sizeof(struct aes_ctr)),
	      "memory: the key is a state's");
	__CPROVER_havoc_slice(to, len);
	hold(&ghost.key, to, sizeof(struct aes_ctr));
	take_bytes();
	ghost.key_at = to;
	ghost.is_expanded = false;
	ghost.made = 0;
}

/* An odd number, so that a word that was not drawn may differ. */
static u64 get_random_u64(void)
{
	others();
	take_bytes();
	ghost.available += 8;
	return nondet_u64() | 1;
}

static size_t arch_get_random_longs(unsigned long *words, size_t count)
{
	if (nondet_bool())
		return 0;
	__CPROVER_havoc_slice(words, count * sizeof(*words));
	hold(&ghost.word, words, count * sizeof(*words));
	return count;
}

static void add_device_randomness(const void *data, size_t len)
{
	ghost.is_mixed = *(const u64 *)data == ghost.look.signal &&
			 len == sizeof(u64);
}

static long urandom_ioctl(struct file *file, unsigned int command,
			  unsigned long argument)
{
	others();
	prove(command == RNDRESEEDCRNG && ghost.is_mixed,
	      "clones: the reseed has the new signal");
	rng_reseeds();
	if (ghost.step == LOOKED)
		ghost.step = RESEEDED;
	return 0;
}

/* Files, and the iterator: memory may fault at any byte. */

#define O_RDONLY	0
#define O_NONBLOCK	04000
#define FMODE_WRITE	0x2u
#define FMODE_NOWAIT	0x8000000u
#define IOCB_NOWAIT	8
#define copy_splice_read	NULL
#define noop_llseek		NULL

struct inode {
	unsigned int i_rdev;
};
struct iov_iter {
	size_t count;
};
struct kiocb {
	struct file *ki_filp;
	int ki_flags;
};
struct file_operations {
	void *owner;
	int (*open)(struct inode *inode, struct file *file);
	ssize_t (*read_iter)(struct kiocb *kiocb, struct iov_iter *to);
	void *splice_read, *llseek;
	long (*unlocked_ioctl)(struct file *file, unsigned int command,
			       unsigned long argument);
};
struct file {
	const struct file_operations *f_op;
	unsigned int f_mode, f_flags;
	struct inode *inode;
};

#define iov_iter_count(to)	((to)->count)

static size_t copy_to_iter(const void *from, size_t len, struct iov_iter *to)
{
	size_t copied = nondet_size(), any = nondet_size();

	may_sleep();
	prove(__CPROVER_r_ok(from, len), "memory: what is copied is there");
	prove(len <= ghost.available, "count: bytes that were made, and once");
	ghost.available = 0;
	if (from != ghost.buffer) {
		hold(&ghost.words, from, len);
		prove(any >= len || ((const u64 *)from)[any / 8] & 1,
		      "memory: each word was drawn");
	}
	suppose(copied <= min(len, to->count));
	to->count -= copied;
	ghost.delivered += copied;
	ghost.is_compared = false;
	return copied;
}

static void iov_iter_revert(struct iov_iter *to, size_t by)
{
	prove(by == ghost.delivered, "count: all is reverted");
	to->count += by;
	ghost.delivered -= by;
	ghost.has_bytes = false;
	ghost.is_stale = false;
}

static void iov_iter_truncate(struct iov_iter *to, u64 count)
{
	to->count = min(to->count, count);
}

/* Loading */

static struct {
	int files, notifiers, devices, symbols;
} held;

static bool nothing_is_held(void)
{
	return !held.files && !held.notifiers && !held.devices && !held.symbols;
}

#define IS_ERR(pointer)		((unsigned long)(pointer) >= -4095ul)
#define PTR_ERR(pointer)	((long)(pointer))
#define MEM_MAJOR		1
#define MKDEV(major, minor)	((major) << 20 | (minor))
#define file_inode(file)	((file)->inode)

static const struct file_operations urandom_operations = {
	.unlocked_ioctl = urandom_ioctl
};
static struct inode urandom_inode;
static struct file urandom_file = {
	.f_op = &urandom_operations, .inode = &urandom_inode
};

static struct file *filp_open(const char *name, int flags, umode_t mode)
{
	if (nondet_bool())
		return (void *)-(long)EACCES;
	held.files++;
	urandom_inode.i_rdev = nondet_u32();
	return &urandom_file;
}

static void fput(struct file *file)
{
	prove(file == &urandom_file, "load: the file is given back");
	held.files--;
}

struct notifier_block {
	int (*notifier_call)(struct notifier_block *block, unsigned long action,
			     void *data);
};
#define NOTIFY_DONE	0

static int take(int *count)
{
	if (nondet_bool())
		return -EBUSY;
	++*count;
	return 0;
}

#define register_random_vmfork_notifier(block)		take(&held.notifiers)
#define unregister_random_vmfork_notifier(block)	(held.notifiers--)

struct attribute {
	const char *name;
};
struct device_attribute {
	struct attribute attr;
	ssize_t (*show)(struct device *device, struct device_attribute *attribute,
			char *to);
};
struct miscdevice {
	int minor;
	const char *name;
	const struct file_operations *fops;
	umode_t mode;
	struct attribute ***groups;
};
#define MISC_DYNAMIC_MINOR	255
#define DEVICE_ATTR_RO(name)	\
	struct device_attribute dev_attr_##name = { { #name }, name##_show }
#define ATTRIBUTE_GROUPS(name)	\
	static struct attribute **name##_groups[] = { name##_attrs, NULL }
#define sysfs_emit(to, format, value)	((void)(value), 2)

static int misc_register(struct miscdevice *device)
{
	prove(!shows_clones() || urandom, "load: reads can reseed");
	return take(&held.devices);
}

#define misc_deregister(device)		(held.devices--)

static void *__symbol_get(const char *name)
{
	int cpu;

	if (nondet_bool())
		return NULL;
	if (nondet_bool())
		for (cpu = 0; cpu < CPUS; cpu++)
			hv_clock_per_cpu[cpu] = &record_of[cpu];
	return &hv_clock_per_cpu;
}

const u64 *squall_vmgenid_id(void)
{
	return id;
}

#define symbol_get(function)	(take(&held.symbols) ? NULL : (function))
#define symbol_put(function)	(held.symbols--)
