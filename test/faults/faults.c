/*
 * faults.c: which call is to fail; see faults.h.
 */
#include "faults.h"

#include <unistd.h>

#include "utils/guc.h"

/* Calls up to the one that fails; 0: none does */
static int	calls_left;
static int	setting;

bool
gr_fault(void)
{
	return __atomic_load_n(&calls_left, __ATOMIC_SEQ_CST) > 0 &&
		__atomic_sub_fetch(&calls_left, 1, __ATOMIC_SEQ_CST) == 0;
}

void
gr_fault_server(void)
{
	/* a thread's call would be another's memory corrupted, some time */
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

/* How many calls are left: 0 once one has failed */
static const char *
show_fault(void)
{
	static char shown[12];

	snprintf(shown, sizeof(shown), "%d", Max(__atomic_load_n(&calls_left, __ATOMIC_SEQ_CST), 0));
	return shown;
}

void
gr_faults_begin(void)
{
	DefineCustomIntVariable("gpureg.debug_fault", "Fails the n-th allocation from here on.", NULL, &setting, 0, 0,
							INT_MAX, PGC_SUSET, 0, NULL, assign_fault, show_fault);
}
