/*
 * poison.cu: corrupts the CUDA context of a process of the server, or takes a device's memory; for test/gpu/faults.
 *
 * As a library (LD_PRELOAD for the postmaster): each forked process has a thread that waits for a file
 * $GPUREG_POISON.PID. Then the thread launches a kernel that writes to address 8, an error that no context survives,
 * and removes the file. As a program: takes all of the first device's memory except MB megabytes, prints "taken", and
 * holds the memory until its standard input ends.
 */
#include <cuda_runtime.h>

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static __global__ void
write_nowhere_kernel(uintptr_t address)
{
	*(volatile int *) address = 1;
}

static void *
wait_for_file(void *)
{
	const struct timespec nap = {0, 5000000};
	const char *prefix = getenv("GPUREG_POISON");
	char		path[4096];

	snprintf(path, sizeof(path), "%s.%d", prefix, (int) getpid());
	for (;;)
	{
		(void) nanosleep(&nap, NULL);
		if (access(path, F_OK) != 0)
			continue;
		if (cudaSetDevice(0) == cudaSuccess)
		{
			write_nowhere_kernel<<<1, 1>>>(8);
			(void) cudaDeviceSynchronize();
		}
		(void) unlink(path);
	}
}

/* Starts the thread with all signals blocked, like any thread beside the server's own. */
static void
start_thread()
{
	pthread_t	thread;
	sigset_t	all;
	sigset_t	before;

	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	(void) pthread_create(&thread, NULL, wait_for_file, NULL);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((constructor))
static void
prepare()
{
	if (getenv("GPUREG_POISON") != NULL)
		(void) pthread_atfork(NULL, NULL, start_thread);
}

int
main(int argc, char **argv)
{
	size_t		left = (size_t) (argc > 1 ? atol(argv[1]) : 64) << 20;
	size_t		nbytes = (size_t) 1 << 30;
	size_t		nfree = 0;
	size_t		ntotal;
	void	   *memory;

	while (nbytes >= ((size_t) 2 << 20))
	{
		if (cudaMemGetInfo(&nfree, &ntotal) != cudaSuccess)
			return 1;
		if (nfree < left + nbytes || cudaMalloc(&memory, nbytes) != cudaSuccess)
		{
			(void) cudaGetLastError();
			nbytes /= 2;
		}
	}
	printf("taken\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
