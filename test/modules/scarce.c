/*
 * scarce.c: imitates a machine with little disk for temporary files, a small /dev/shm, and a clock that jumps.
 * test/t/024_surroundings.pl preloads it into a server, whose processes share a file of four numbers with the test,
 * which can change them at any time; GPUREG_SCARCE names the file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static struct
{
	int64_t		disk_left;		/* bytes that temporary files may still get; each write subtracts */
	int64_t		shm_left;		/* bytes of shared memory that are free */
	int64_t		clock_step_ms;	/* time between two jumps of the clock; 0: the clock is right */
	int64_t		nfailed;		/* calls that failed for lack of disk or memory */
} everything = {INT64_MAX / 2, INT64_MAX / 2, 0, 0}, *scarce = &everything;

/* Seconds by which the clock is wrong, one after the other */
static const int64_t offsets[] = {0, 3 * 3600, -5 * 3600, 26 * 3600, 60, -60};

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv("GPUREG_SCARCE");
	int			file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
	void	   *shared;

	if (file < 0)
		return;
	shared = mmap(NULL, sizeof(everything), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared != MAP_FAILED)
		scarce = shared;
	close(file);
}

static void *
real(const char *name)
{
	void	   *function = dlsym(RTLD_NEXT, name);

	if (function == NULL)
		abort();
	return function;
}

#define REAL(name) \
	static __typeof__(name) *function; \
	if (function == NULL) \
		function = (__typeof__(name) *) real(#name)

/* True if the file's path begins with, or contains, part. Sockets and pipes have no path. */
static int
is_file_of(int fd, const char *part, int at_begin)
{
	char		name[64];
	char		path[4096];
	ssize_t		length;
	const char *found;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	length = readlink(name, path, sizeof(path) - 1);
	if (length <= 0)
		return 0;
	path[length] = '\0';
	found = strstr(path, part);
	return found != NULL && (!at_begin || found == path);
}

/* Subtracts nbytes from *left; returns 0, and subtracts nothing, if there are fewer. */
static int
take(int64_t *left, int64_t nbytes)
{
	if (__atomic_sub_fetch(left, nbytes, __ATOMIC_SEQ_CST) >= 0)
		return 1;
	__atomic_add_fetch(left, nbytes, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&scarce->nfailed, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int
takes_disk(int fd, int64_t nbytes)
{
	if (!is_file_of(fd, "/pgsql_tmp", 0) || take(&scarce->disk_left, nbytes))
		return 1;
	errno = ENOSPC;
	return 0;
}

ssize_t
write(int fd, const void *bytes, size_t nbytes)
{
	REAL(write);
	return takes_disk(fd, nbytes) ? function(fd, bytes, nbytes) : -1;
}

ssize_t
pwrite(int fd, const void *bytes, size_t nbytes, off_t offset)
{
	REAL(pwrite);
	return takes_disk(fd, nbytes) ? function(fd, bytes, nbytes, offset) : -1;
}

ssize_t
pwritev(int fd, const struct iovec *parts, int nparts, off_t offset)
{
	int64_t		nbytes = 0;

	REAL(pwritev);
	for (int k = 0; k < nparts; k++)
		nbytes += parts[k].iov_len;
	return takes_disk(fd, nbytes) ? function(fd, parts, nparts, offset) : -1;
}

/* Segments of shared memory get all their pages at once, when they are made. */
int
posix_fallocate(int fd, off_t offset, off_t nbytes)
{
	int64_t		page = sysconf(_SC_PAGESIZE);

	REAL(posix_fallocate);
	if (is_file_of(fd, "/dev/shm/", 1) && !take(&scarce->shm_left, (nbytes + page - 1) / page * page))
		return ENOSPC;
	return function(fd, offset, nbytes);
}

int
shm_unlink(const char *name)
{
	char		path[300];
	struct stat segment;

	REAL(shm_unlink);
	snprintf(path, sizeof(path), "/dev/shm/%s", name + (name[0] == '/'));
	if (stat(path, &segment) == 0)
		__atomic_add_fetch(&scarce->shm_left, (int64_t) segment.st_blocks * 512, __ATOMIC_SEQ_CST);
	return function(name);
}

/* Returns the seconds by which the clock is wrong. */
static int64_t
offset_now(void)
{
	int64_t		step = __atomic_load_n(&scarce->clock_step_ms, __ATOMIC_SEQ_CST);
	struct timespec now;

	if (step <= 0)
		return 0;
	((__typeof__(clock_gettime) *) real("clock_gettime")) (CLOCK_MONOTONIC, &now);
	return offsets[(now.tv_sec * 1000 + now.tv_nsec / 1000000) / step % (int64_t) (sizeof(offsets) / sizeof(*offsets))];
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int			result;

	REAL(clock_gettime);
	result = function(clock, now);
	if (result == 0 && clock == CLOCK_REALTIME)
		now->tv_sec += offset_now();
	return result;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int			result;

	REAL(gettimeofday);
	result = function(now, zone);
	if (result == 0)
		now->tv_sec += offset_now();
	return result;
}

time_t
time(time_t *where)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (where != NULL)
		*where = now.tv_sec;
	return now.tv_sec;
}
