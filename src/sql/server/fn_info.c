/*
 * fn_info.c: the SQL functions gpu_devices() and gpu_last_run().
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compute/base/compute.h"
#include "run/device.h"
#include "run/report.h"
#include "run/service.h"
#define MAX_DEVICES 64

PG_FUNCTION_INFO_V1(gr_devices);
PG_FUNCTION_INFO_V1(gr_show_last_run);

static void
put_device(ReturnSetInfo *rsinfo, const GrDeviceInfo *device, const GrServiceInfo *service)
{
	Datum		values[10];
	bool		nulls[10] = {false};

	values[0] = Int32GetDatum(device->id);
	values[1] = CStringGetTextDatum(device->name);
	values[2] = CStringGetTextDatum(psprintf("%d.%d", device->major, device->minor));
	values[3] = Int64GetDatum(device->memory_total);
	values[4] = Int64GetDatum(device->memory_free);
	values[5] = CStringGetTextDatum(device->driver);
	for (int k = 6; k < 10; k++)
		nulls[k] = service == NULL;
	if (service != NULL)
	{
		values[6] = Int32GetDatum(service->pid);
		values[7] = Int32GetDatum(service->nsessions);
		values[8] = Int32GetDatum(service->njobs);
		values[9] = Int64GetDatum(service->admitted_nbytes);
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* gpu_devices(): one row per device, with the state of its service, if it has one; no rows without a driver */
Datum
gr_devices(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	GrDeviceInfo *devices = palloc0(MAX_DEVICES * sizeof(GrDeviceInfo));
	GrServiceInfo *services = palloc0(MAX_DEVICES * sizeof(GrServiceInfo));
	int			nservices = gr_list_services(services, MAX_DEVICES);
	GrError		err = {0};
	int			ndevices;

	InitMaterializedSRF(fcinfo, 0);
	ndevices = gr_list_devices(devices, MAX_DEVICES, &err);
	if (ndevices == 0 && err.detail[0] != '\0')
		ereport(DEBUG1, (errmsg_internal("no GPU: %s", err.detail)));
	for (int k = 0; k < ndevices; k++)
	{
		const GrServiceInfo *service = NULL;

		for (int j = 0; j < nservices && service == NULL; j++)
			if (services[j].device.id == devices[k].id)
				service = &services[j];
		put_device(rsinfo, &devices[k], service);
	}
	/* stand-ins for devices (tests) are not among the driver's devices */
	for (int j = 0; j < nservices; j++)
		if (services[j].device.id < 0)
			put_device(rsinfo, &services[j].device, &services[j]);
	return (Datum) 0;
}

/* gpu_last_run(): one row about this session's last run; no row before the first */
Datum
gr_show_last_run(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const GrRun *run = &gr_last_run;
	Datum		values[12];
	bool		nulls[12] = {false};

	InitMaterializedSRF(fcinfo, 0);
	if (run->function[0] == '\0')
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
