// SPDX-License-Identifier: GPL-2.0-only
/*
 * What run.sh proves of squall.c and squall_aes.h, by CBMC. An assertion's
 * first word says of what kind it is:
 *
 * memory   no access out of bounds or to freed memory; each buffer is freed
 * erasure  no key, keystream or word is left when a read returns or starts
 *          anew
 * count    a read returns how many bytes it has delivered, or an error
 * waits    a caller that must not wait does not
 * key      a key makes at most 64 KiB, of one attempt at one read,
 *          and is expanded as by FIPS 197
 * clones   bytes are returned only if none of them may be a clone's too
 * context  nothing sleeps with preemption disabled or vector registers taken,
 *          and they are taken for at most 4 KiB
 * load     what squall_init() has taken is given back
 *
 * The loops of read_long() and read_random() may run any number of times.
 * run.sh has each begin by ANY_PIECE() or ANY_ATTEMPT() and go on by
 * NEXT_PIECE() or NEXT_ATTEMPT(): the loop's invariant is asserted, all that
 * the loop changes becomes anything that the invariant allows, the body is run
 * once, and the invariant is asserted again. A variable that such a loop
 * changes must be named there.
 */
#include "kernel.h"

static void havoc(void);
static bool is_between_pieces(const struct aes_ctr *state, const u8 *bytes,
			      size_t size, const struct iov_iter *to,
			      size_t done, long number);
static bool is_between_attempts(const struct iov_iter *to);

#define BETWEEN_PIECES	\
	is_between_pieces(&state, bytes, size, to, done, number)
#define ANY_PIECE() ({							\
	prove(BETWEEN_PIECES, "loop: before the first piece");		\
	havoc();							\
	__CPROVER_havoc_object(&state);					\
	__CPROVER_havoc_object(bytes);					\
	to->count = nondet_size();					\
	done = nondet_size();						\
	suppose(BETWEEN_PIECES);					\
})
#define NEXT_PIECE() ({							\
	prove(BETWEEN_PIECES, "loop: between two pieces");		\
	suppose(false);							\
})

/* The kernel defines what comes after the last int. */
#define ANY_ATTEMPT() ({						\
	prove(is_between_attempts(to), "loop: before the first attempt"); \
	havoc();							\
	to->count = nondet_size();					\
	done = nondet_long();						\
	number = nondet_long();						\
	attempt = nondet_int();						\
	suppose(is_between_attempts(to) && attempt < INT_MAX);		\
})
#define NEXT_ATTEMPT() ({						\
	prove(is_between_attempts(to), "loop: between two attempts");	\
	suppose(false);							\
})

#include "squall.c"

static void havoc(void)
{
	__CPROVER_havoc_object(&ghost);
	__CPROVER_havoc_object(&reseeds);
	__CPROVER_havoc_object(noted);
	__CPROVER_havoc_object(record_of);
	__CPROVER_havoc_object(id);
	suppose(reseeds.counter >= 0 && reseeds.counter < LONG_MAX / 2);
}

static bool is_between_steps(void)
{
	return !ghost.is_pinned && !ghost.in_section && !ghost.is_scheduled &&
	       !ghost.words.len && !ghost.word.len && !ghost.registers.len &&
	       is_note_true(0) && is_note_true(1);
}

static bool is_whole(const struct secret *secret, const void *at, size_t len)
{
	return !secret->len || (secret->at == at && secret->len == len);
}

static bool is_between_pieces(const struct aes_ctr *state, const u8 *bytes,
			      size_t size, const struct iov_iter *to,
			      size_t done, long number)
{
	bool has_key = ghost.key_at == state && ghost.is_expanded &&
		       ghost.made == done % KEY_LIFE &&
		       state->block[3] == ghost.made / 16;
	/* A comparison will show it. */
	bool shows = number <= reseeds.counter &&
		     (!ghost.is_own || number <= ghost.reseeds_then);

	return is_between_steps() && ghost.buffer == bytes &&
	       is_whole(&ghost.key, state, sizeof(*state)) &&
	       is_whole(&ghost.piece, bytes, __CPROVER_OBJECT_SIZE(bytes)) &&
	       done == ghost.delivered && done <= caller.wants &&
	       to->count <= caller.wants - done &&
	       (size == PIECE || !to->count || !done) &&
	       (size == min(to->count, PIECE) || done) &&
	       (!to->count || done % PIECE == 0) &&
	       (!to->count || done % KEY_LIFE == 0 || has_key) &&
	       number <= reseeds.counter && (!ghost.is_stale || shows);
}

static bool is_between_attempts(const struct iov_iter *to)
{
	return is_between_steps() && is_erased() && !ghost.buffer &&
	       !ghost.delivered && !ghost.has_bytes && !ghost.is_stale &&
	       to->count && to->count <= caller.wants;
}

/* Of a module that was loaded on any machine. */
void proof_of_reads(void)
{
	struct file file = { .f_flags = nondet_u32() };
	struct kiocb kiocb = {
		.ki_filp = &file, .ki_flags = nondet_int()
	};
	struct iov_iter to = { .count = nondet_size() };
	ssize_t got;

	if (squall_init()) {
		prove(nothing_is_held(), "load: after a failure nothing is held");
		return;
	}
	/* As read(2) limits it. */
	suppose(to.count <= INT_MAX);
	caller.wants = to.count;
	caller.may_wait = !(kiocb.ki_flags & IOCB_NOWAIT);
	ghost.is_own = nondet_bool();
	got = read_random(&kiocb, &to);

	if (got > 0)
		prove(got == ghost.delivered,
		      "count: as many as were delivered");
	else
		prove(!ghost.delivered, "count: an error delivers nothing");
	prove(got || !caller.wants, "count: the device has no end");
	prove(ghost.delivered + to.count <= caller.wants,
	      "count: no more than the caller wants");
	prove(got >= 0 || got == -EFAULT || got == -EAGAIN ||
	      (caller.may_wait && (got == -ENOMEM || got == -ERESTARTSYS)),
	      "count: only these errors");
	prove(got != -EAGAIN || !caller.may_wait || file.f_flags & O_NONBLOCK,
	      "waits: a caller that may wait is not told to try again");
	prove(is_erased(), "erasure: nothing is left");
	prove(!ghost.buffer, "memory: each buffer is freed");
	prove(!ghost.is_pinned && !ghost.in_section,
	      "context: the thread is as before");
	prove(got <= 0 || !shows_clones() ||
	      (ghost.is_compared && !ghost.was_stale),
	      "clones: no byte may be a clone's too");

	squall_exit();
	prove(nothing_is_held(), "load: after unloading nothing is held");
}

/* KeyExpansion() of FIPS 197, section 5.2, in bytes, with any S-box. */
void proof_of_expand_key(void)
{
	u8 w[4 * AES_WORDS], temp[4], round_constant = 1;
	u32 words[AES_WORDS];
	size_t any = nondet_size();
	int i, j;

	__CPROVER_havoc_object(words);
	memcpy(w, words, 32);
	for (i = 8; i < AES_WORDS; i++) {
		for (j = 0; j < 4; j++) {
			temp[j] = w[4 * (i - 1) + (i % 8 ? j : (j + 1) % 4)];
			if (i % 4 == 0)
				temp[j] = __CPROVER_uninterpreted_s_box(temp[j]);
		}
		if (i % 8 == 0) {
			temp[0] ^= round_constant;
			round_constant <<= 1;
		}
		for (j = 0; j < 4; j++)
			w[4 * i + j] = w[4 * (i - 8) + j] ^ temp[j];
	}
	(expand_key)(words);
	prove(any >= sizeof(w) || ((u8 *)words)[any] == w[any],
	      "key: expanded as by FIPS 197");
}
