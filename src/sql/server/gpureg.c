/*
 * gpureg.c: module magic and settings. Nothing here may use CUDA: the postmaster may load this file, and forks
 * afterwards.
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "fmgr.h"
#include "utils/guc.h"

#include "rows/query/query.h"
#include "rows/scan/scan.h"
#include "rows/state/aggregate.h"
#include "rows/sums/effect_rows.h"
#include "run/device.h"
#include "run/progress.h"
#include "run/service.h"
#include "run/service_shared.h"
#include "sql/server/explain.h"
#include "sql/server/predict_plan.h"
#include "sql/server/rewrite.h"

PG_MODULE_MAGIC;

#define MAX_DEBUG_SINKS 8		/* a sink may have a thread of its own */

int			gr_device = GR_DEVICE_AUTO;
int			gr_gpu_id = -1;
int			gr_gpu_memory_limit = 0;
int			gr_ring_size = 32768;
int			gr_absorb_memory = 2 * 1024 * 1024;
int			gr_projection_cache_size = 262144;
double		gr_min_gpu_work = 1e9;
bool		gr_debug_ring = false;
bool		gr_enable_service = true;
int			gr_service_idle = 600;
int			gr_service_memory = 0;
int			gr_service_wait = 30000;
int			gr_kept_sets_per_role = 16;
int			gr_kept_memory_per_role = 50;
bool		gr_debug_service = false;
int			gr_debug_sinks = 0;

static const struct config_enum_entry device_options[] = {
	{"auto", GR_DEVICE_AUTO, false},
	{"cpu", GR_DEVICE_CPU, false},
	{"gpu", GR_DEVICE_GPU, false},
	{NULL, 0, false}
};

static const struct config_enum_entry read_options[] = {
	{"auto", GR_READ_AUTO, false},
	{"spi", GR_READ_SPI, false},
	{NULL, 0, false}
};

static void
define_service_settings(void)
{
	DefineCustomBoolVariable("gpureg.enable_service",
							 "Lets a background worker own the GPU for all sessions.",
							 "Before PostgreSQL 17 this requires gpureg in shared_preload_libraries.",
							 &gr_enable_service, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.service_idle",
							"Sets the time after which an unused device service ends.",
							"-1 keeps it running.",
							&gr_service_idle, 600, -1, INT_MAX / 1000, PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.service_memory",
							"Limits the memory that the rows of all sessions may take in a device service.",
							"0 means nine tenths of the memory that is free when the device is opened.",
							&gr_service_memory, 0, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.service_wait",
							"Limits the time that a computation waits for memory of a device service.",
							"After that the computation fails, or may continue on the CPU if gpureg.device is auto. 0 "
							"means not to wait.",
							&gr_service_wait, 30000, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.kept_sets_per_role",
							"Limits the number of sets of rows that a role may keep.",
							"Superusers are not limited.",
							&gr_kept_sets_per_role, 16, 0, GR_KEPT_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.kept_memory_per_role",
							"Limits the memory that a role's kept rows may take, in percent of a device service's.",
							"Superusers are not limited.",
							&gr_kept_memory_per_role, 50, 0, 100, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpureg.debug_service",
							 "Uses a device service that computes on the CPU in place of a GPU.",
							 "This is for tests on machines without a GPU.",
							 &gr_debug_service, false, PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

void		_PG_init(void);

void
_PG_init(void)
{
	DefineCustomEnumVariable("gpureg.device",
							 "Chooses where to compute.",
							 "auto uses a GPU if there is one and gpureg.min_gpu_work is reached; gpu raises an error "
							 "if there is none.",
							 &gr_device, GR_DEVICE_AUTO, device_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.gpu_id",
							"Chooses the GPU.",
							"-1 chooses the GPU with the most free memory, -2 uses all GPUs.",
							&gr_gpu_id, -1, GR_ALL_DEVICES, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.gpu_memory_limit",
							"Limits the GPU memory that one computation may take.",
							"0 sets no limit.",
							&gr_gpu_memory_limit, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpureg.read",
							 "Chooses how the rows of a query are read.",
							 "auto chooses the fastest way; spi runs the unchanged query through SPI.",
							 &gr_read, GR_READ_AUTO, read_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.ring_size",
							"Sets the size of the buffer that holds the rows of a query for the CPU or GPU.",
							NULL,
							&gr_ring_size, 32768, 1024, 1024 * 1024, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.absorb_memory",
							"Limits the memory for the rows of a fit with absorbed effects.",
							NULL,
							&gr_absorb_memory, 2 * 1024 * 1024, 1024, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, NULL,
							NULL, NULL);
	DefineCustomIntVariable("gpureg.projection_cache_size",
							"Sets the memory for random projection matrices that a session keeps.",
							"A GPU may keep as much again. 0 means that the matrix is drawn again for every vector.",
							&gr_projection_cache_size, 262144, 0, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, NULL, NULL,
							NULL);
	DefineCustomRealVariable("gpureg.min_gpu_work",
							 "Sets the least work for which gpureg.device = auto uses a GPU.",
							 "The unit is products (multiply-adds) in one process: rows times (features + 2)(features "
							 "+ 3) / 2 for linear regression, vectors times the matrix's nonzero entries for random "
							 "projection. Once the session has opened the GPU, a fortieth of this is enough.",
							 &gr_min_gpu_work, 1e9, 0, HUGE_VAL, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpureg.debug_ring",
							 "Reads rows through the ring that feeds a GPU, into the CPU.",
							 "This is for tests on machines without a GPU.",
							 &gr_debug_ring, false, PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	DefineCustomIntVariable("gpureg.debug_sinks",
							"Sets the number of stand-ins for GPUs among which rows are distributed.",
							"This is for tests on machines without several GPUs. 0 turns it off.",
							&gr_debug_sinks, 0, 0, MAX_DEBUG_SINKS, PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpureg.enable_scan",
							 "Enables the planner's use of gpureg's custom scan.",
							 "It scans a table and sums its rows in one node.",
							 &gr_enable_scan, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpureg.enable_rewrite",
							 "Lets the planner turn gpu_ols and gpu_logreg over array_agg into aggregates.",
							 NULL,
							 &gr_enable_rewrite, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpureg.progress_notices",
							 "Reports the progress of a fit to a query or to kept rows once a second.",
							 NULL,
							 &gr_progress_notices, false, PGC_USERSET, 0, NULL, NULL, NULL);
	define_service_settings();
#ifdef GPUREG_FAULTS_H
	gr_faults_begin();
#endif
	MarkGUCPrefixReserved("gpureg");
	gr_service_init();
	gr_scan_init();
	gr_aggregate_init();
	gr_explain_init();
	gr_predict_plan_init();
}
