// SPDX-License-Identifier: GPL-2.0
/*
 * The first program of a test's machine: it checks how /dev/urandom is read
 * (faults in the middle, splice, short and long reads), and measures how fast
 * long reads are, how soon a reader is interrupted, and how late another
 * process of high priority runs beside readers. Then it turns the machine off.
 * Its last line says whether all held.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, INTERRUPTS = 300, WAKES = 1000 };

static int failures;
static int urandom;
/* Shared with the reader: when its signal's handler ran. */
static volatile long long *handled;

static void check(int holds, const char *what)
{
	printf("%s: %s\n", holds ? "held" : "FAILED", what);
	failures += !holds;
}

static long long nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

static void print_times(const char *what, long long *times, int count)
{
	qsort(times, count, sizeof(*times), by_value);
	printf("figure: %s: median %.1f, 99 of 100 under %.1f, most %.1f us\n", what,
	       times[count / 2] / 1e3, times[count * 99 / 100] / 1e3,
	       times[count - 1] / 1e3);
}

static void *pages(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

/* A read that meets a hole gives what came before it, or fails. */
static void read_into_holes(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned char *buf = pages(4 * page);
	int exact = 1, fresh = 1;

	munmap(buf + 2 * page, page);
	for (size_t at = 0; at < 2 * page; at += 61) {
		ssize_t got = read(urandom, buf + at, 4 * page - at);

		/* Some architectures copy the last bytes before a hole by words. */
		exact &= got <= (ssize_t)(2 * page - at) && got > (ssize_t)(2 * page - at) - 64;
	}
	check(exact, "a read that meets a hole gives the bytes before it");
	errno = 0;
	check(read(urandom, buf + 2 * page, page) == -1 && errno == EFAULT,
	      "a read of nothing but a hole fails with EFAULT");
	memset(buf, 0, 2 * page);
	for (size_t len = 1; len < 2 * page; len += 7) {
		unsigned char *end = buf + len;
		int touched = 0;

		*end = 0xa5;
		fresh &= getrandom(buf, len, 0) == (ssize_t)len && *end == 0xa5;
		for (size_t i = len > 32 ? len - 32 : 0; i < len; i++)
			touched |= buf[i];
		fresh &= touched || len < 8;
		memset(buf, 0, len);
	}
	check(fresh, "a read of any length fills its buffer and nothing after it");
}

static void read_by_splice(void)
{
	static unsigned char buf[4 * 4096];
	int ends[2], different = 0;
	ssize_t got;

	if (pipe(ends))
		abort();
	got = splice(urandom, NULL, ends[1], NULL, sizeof(buf), 0);
	check(got > 0 && read(ends[0], buf, got) == got, "splice gives bytes");
	for (ssize_t i = 1; i < got; i++)
		different |= buf[i] != buf[0];
	check(different, "bytes of splice differ");
}

/* The two halves of a long read share no block, and each bit is set half the time. */
static void read_long(void)
{
	unsigned char *buf = pages(MIB);
	long set = 0;
	int same = 0;

	check(read(urandom, buf, MIB) == MIB, "a read of a MiB is whole");
	for (int i = 0; i < MIB; i++)
		set += __builtin_popcount(buf[i]);
	for (int i = 0; i + 64 < MIB; i += 64)
		same |= !memcmp(buf + i, buf + i + 64, 16);
	/* Half of 2^23, and seven standard deviations of 1448. */
	check(labs(set - 4L * MIB) < 7 * 1448 && !same, "a long read looks random");
	munmap(buf, MIB);
}

static void measure_speed(size_t len)
{
	unsigned char *buf = pages(len);
	double best = 0;

	for (int round = 0; round < 15; round++) {
		long long start = nanoseconds();
		size_t got = 0;

		while (got < 4 * MIB)
			got += read(urandom, buf, len);
		double speed = got * 1e3 / (nanoseconds() - start);

		best = speed > best ? speed : best;
	}
	printf("figure: reads of %zu bytes: %.0f MB/s\n", len, best);
	munmap(buf, len);
}

static void on_interrupt(int number)
{
	(void)number;
	*handled = nanoseconds();
}

/* A reader of a GiB in single reads of 64 MiB, until it is killed. */
static pid_t start_reader(void)
{
	pid_t reader = fork();

	if (reader == 0) {
		struct sigaction action = { .sa_handler = on_interrupt };
		unsigned char *buf = pages(64 * MIB);

		sigaction(SIGINT, &action, NULL);
		*handled = 1;
		for (;;)
			if (read(urandom, buf, 64 * MIB) <= 0)
				_exit(1);
	}
	while (!*handled)
		usleep(1000);
	return reader;
}

static void measure_interrupts(void)
{
	static long long late[INTERRUPTS];
	pid_t reader;

	*handled = 0;
	reader = start_reader();
	for (int i = 0; i < INTERRUPTS; i++) {
		long long sent;

		usleep(3000 + 37 * i);
		*handled = 0;
		sent = nanoseconds();
		kill(reader, SIGINT);
		while (!*handled)
			usleep(50);
		late[i] = *handled - sent;
	}
	check(kill(reader, SIGKILL) == 0 && waitpid(reader, NULL, 0) == reader,
	      "a reader is killed");
	print_times("from a signal to its handler in a reader", late, INTERRUPTS);
}

static void measure_wakes(const char *what, int readers)
{
	static long long late[WAKES];
	struct sched_param first = { .sched_priority = 50 }, none = {};
	pid_t started[2];

	for (int i = 0; i < readers; i++) {
		*handled = 0;
		started[i] = start_reader();
	}
	check(sched_setscheduler(0, SCHED_FIFO, &first) == 0, "real-time priority");
	for (int i = 0; i < WAKES; i++) {
		long long due = nanoseconds() + 1000000;
		struct timespec until = { due / 1000000000, due % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		late[i] = nanoseconds() - due;
	}
	sched_setscheduler(0, SCHED_OTHER, &none);
	for (int i = 0; i < readers; i++) {
		kill(started[i], SIGKILL);
		waitpid(started[i], NULL, 0);
	}
	print_times(what, late, WAKES);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	urandom = open("/dev/urandom", O_RDONLY);
	check(urandom >= 0, "/dev/urandom opens");
	handled = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	read_into_holes();
	read_by_splice();
	read_long();
	for (size_t len = 512; len <= MIB; len *= len < 4096 ? 2 : 16)
		measure_speed(len);
	measure_interrupts();
	measure_wakes("late wake-ups beside nothing", 0);
	measure_wakes("late wake-ups beside a reader", 1);
	printf("init: %s\n", failures ? "FAILED" : "all held");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
