/*
 * faults.c: chooses the call that fails; see faults.h.
 */
#include "faults.h"

#include <sys/mman.h>
#include <unistd.h>

#include "miscadmin.h"
#include "utils/guc.h"

/* Calls up to the one that fails; 0: none fails. */
static int	calls_left;
static int	setting;

/* The device service's calls up to the one that fails, which any session sets; NULL unless the library is preloaded. */
static int *service_calls_left;
static int	service_setting;

static bool
is_service(void)
{
	return MyBgworkerEntry != NULL && strcmp(MyBgworkerEntry->bgw_function_name, "gr_service_main") == 0;
}

bool
gr_fault(void)
{
	int		   *left = service_calls_left != NULL && is_service() ? service_calls_left : &calls_left;

	return __atomic_load_n(left, __ATOMIC_SEQ_CST) > 0 && __atomic_sub_fetch(left, 1, __ATOMIC_SEQ_CST) == 0;
}

void
gr_fault_server(void)
{
	/* such a call from another thread would corrupt memory some day */
	if (gettid() != getpid())
		abort();
	if (gr_fault())
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("A fault was asked for.")));
}

static void
assign_fault(int value, void *extra)
{
	__atomic_store_n(&calls_left, value, __ATOMIC_SEQ_CST);
}

/* A worker gets its leader's settings, and must not begin to count again for that. */
static void
assign_service_fault(int value, void *extra)
{
	if (service_calls_left != NULL && IsUnderPostmaster && MyBgworkerEntry == NULL)
		__atomic_store_n(service_calls_left, value, __ATOMIC_SEQ_CST);
}

static const char *
show_calls(const int *left)
{
	static char shown[12];

	snprintf(shown, sizeof(shown), "%d", left == NULL ? 0 : Max(__atomic_load_n(left, __ATOMIC_SEQ_CST), 0));
	return shown;
}

/* Returns the number of calls left: 0 once one has failed. */
static const char *
show_fault(void)
{
	return show_calls(&calls_left);
}

static const char *
show_service_fault(void)
{
	return show_calls(service_calls_left);
}

void
gr_faults_begin(void)
{
	void	   *shared = MAP_FAILED;

	/* shared with the postmaster's children */
	if (process_shared_preload_libraries_in_progress)
		shared = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared != MAP_FAILED)
		service_calls_left = shared;
	DefineCustomIntVariable("gpureg.debug_fault", "Fails the n-th allocation from here on.", NULL, &setting, 0, 0,
							INT_MAX, PGC_SUSET, 0, NULL, assign_fault, show_fault);
	DefineCustomIntVariable("gpureg.debug_service_fault", "The same in the device service.", NULL, &service_setting, 0,
							0, INT_MAX, PGC_SUSET, 0, NULL, assign_service_fault, show_service_fault);
}
