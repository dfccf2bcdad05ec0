/*
 * driver.c: a stand-in for a GPU's driver, libcuda.so.1: an old one, so that no device is opened, which starts a thread
 * when it is first called, like drivers do. (To be linked with -z nodelete: a caller unloads a driver that is too old,
 * and the thread needs its code.)
 */
#include <poll.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *
wait_for_ever(void *arg)
{
	(void) arg;
	for (;;)
		(void) poll(NULL, 0, -1);
	return NULL;
}

static void
start_thread(void)
{
	pthread_t	thread;

	(void) pthread_create(&thread, NULL, wait_for_ever, NULL);
}

extern int	cuInit(unsigned flags);
extern int	cuDriverGetVersion(int *version);
extern int	cuGetExportTable(const void **table, const void *id);

int
cuInit(unsigned flags)
{
	(void) flags;
	(void) pthread_once(&once, start_thread);
	return 0;
}

/* Returns 9.0, older than any version that gpureg's CUDA accepts. */
int
cuDriverGetVersion(int *version)
{
	(void) pthread_once(&once, start_thread);
	*version = 9000;
	return 0;
}

int
cuGetExportTable(const void **table, const void *id)
{
	(void) table;
	(void) id;
	return 500;
}
