/*
 * fn_info.c: gpu_devices() and gpu_last_run().
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "compute/compute.h"
#include "run/device.h"
#include "run/report.h"
#define MAX_DEVICES 64

PG_FUNCTION_INFO_V1(gr_devices);
PG_FUNCTION_INFO_V1(gr_show_last_run);

/* gpu_devices(): a row a device, none where there is no driver */
Datum
gr_devices(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrDeviceInfo *devices = palloc0(MAX_DEVICES * sizeof(GrDeviceInfo));
	GrError		err = {0};
	int			ndevices;

	InitMaterializedSRF(fcinfo, 0);
	ndevices = gr_list_devices(devices, MAX_DEVICES, &err);
	if (ndevices == 0 && err.detail[0] != '\0')
		ereport(DEBUG1, (errmsg_internal("no GPU: %s", err.detail)));
	for (int k = 0; k < ndevices; k++)
	{
		Datum		values[6];
		bool		nulls[6] = {false};

		values[0] = Int32GetDatum(devices[k].id);
		values[1] = CStringGetTextDatum(devices[k].name);
		values[2] = CStringGetTextDatum(psprintf("%d.%d", devices[k].major, devices[k].minor));
		values[3] = Int64GetDatum(devices[k].memory_total);
		values[4] = Int64GetDatum(devices[k].memory_free);
		values[5] = CStringGetTextDatum(devices[k].driver);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* gpu_last_run(): one row about this session's last run; none before the first */
Datum
gr_show_last_run(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const GrRun *run = &gr_last_run;
	Datum		values[12];
	bool		nulls[12] = {false};

	InitMaterializedSRF(fcinfo, 0);
	if (run->function == NULL)
		return (Datum) 0;
	values[0] = CStringGetTextDatum(run->function);
	values[1] = CStringGetTextDatum(run->device);
	values[2] = CStringGetTextDatum(run->reason);
	values[3] = Int64GetDatum(run->nrows);
	values[4] = Int32GetDatum(run->nfeatures);
	values[5] = Int64GetDatum(run->bytes_to_device);
	values[6] = Float8GetDatum(run->read_s);
	values[7] = Float8GetDatum(run->copy_s);
	values[8] = Float8GetDatum(run->kernel_s);
	values[9] = Float8GetDatum(run->solve_s);
	values[10] = Float8GetDatum(run->total_s);
	values[11] = Int32GetDatum(run->nworkers);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}
