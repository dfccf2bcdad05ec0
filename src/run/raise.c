/*
 * raise.c: raises errors of the compute layer as errors of PostgreSQL, and polls for cancel; see raise.h.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compute/base/compute.h"
#include "compute/glm/glm.h"
#include "compute/linalg/basis.h"
#include "run/device.h"
#include "run/raise.h"
#include "run/service.h"

/* The error that cancel_pending() caught, which raise_other() rethrows. */
static ErrorData *pending_error;

/*
 * Handles all interrupts as CHECK_FOR_INTERRUPTS() does, but catches an ERROR, which is raised when the compute layer
 * has returned. A termination does not return; the frames it leaves own nothing outside the process. Called only while
 * InterruptPending is set.
 */
static bool
cancel_pending(void *arg)
{
	MemoryContext context = CurrentMemoryContext;

	(void) arg;
	pending_error = NULL;
	if (!INTERRUPTS_PENDING_CONDITION())
		return false;
	PG_TRY();
	{
		CHECK_FOR_INTERRUPTS();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		pending_error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	return pending_error != NULL;
}

const GrHost gr_host = {.canceled = cancel_pending,.pending = &InterruptPending};

const char *
gr_column_name(int64 column, GrRowShape shape, const char *const *names)
{
	if (column < 0 || column >= gr_row_ncols(shape))
		return NULL;
	if (names != NULL)
		return names[column];
	if (column < shape.nfeatures)
		return psprintf("x%d", (int) column + 1);
	if (column == gr_response_at(shape))
		return "y";
	if (shape.weight && column == gr_weight_at(shape))
		return "weight";
	if (shape.offset && column == gr_offset_at(shape))
		return "offset";
	return column == gr_key_at(shape) ? "key" : "second key";
}

static void
raise_device_error(const GrError *err)
{
	char		shortage[GR_SHORTAGE_SIZE];

	switch (err->status)
	{
		case GR_NO_DEVICE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("no GPU can be used"),
					 errdetail("%s.", err->detail),
					 errhint("Set gpureg.device to auto or cpu to compute on the CPU.")));
			break;
		case GR_DEVICE_MEMORY:
			gr_describe_shortage(err, shortage, sizeof(shortage));
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("not enough GPU memory"),
					 errdetail("%s.", shortage),
					 err->value > 0 ?
					 errhint("Set gpureg.device to auto or cpu, or raise gpureg.service_wait.") :
					 errhint("Set gpureg.device to auto or cpu, or raise gpureg.gpu_memory_limit if it is set.")));
			break;
		case GR_OVER_QUOTA:
			gr_raise_kept_shortage(err);
			break;
		case GR_DEVICE_LOST:
			ereport(ERROR,
					(errcode(ERRCODE_SYSTEM_ERROR),
					 errmsg("the GPU failed"),
					 errdetail("%s.", err->detail),
					 errhint("Reconnect, or set gpureg.device to cpu: this session cannot use the GPU any more.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_SYSTEM_ERROR),
					 errmsg("GPU operation failed"),
					 errdetail("%s.", err->detail),
					 errhint("Set gpureg.device to cpu to compute without the GPU.")));
	}
}

bool
gr_is_kept_shortage(const GrError *err)
{
	return err->status == GR_DEVICE_MEMORY || err->status == GR_OVER_QUOTA;
}

void
gr_raise_kept_shortage(const GrError *err)
{
	char		shortage[GR_SHORTAGE_SIZE];

	gr_describe_shortage(err, shortage, sizeof(shortage));
	if (err->status == GR_OVER_QUOTA)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("kept rows of role \"%s\" take too much memory", GetUserNameFromId(GetUserId(), false)),
				 errdetail("%s of the role's %d percent of the device service's memory.", shortage,
						   gr_kept_memory_per_role),
				 errhint("Release other kept rows with gpu_forget(), or ask a superuser to raise "
						 "gpureg.kept_memory_per_role for the role.")));
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("not enough memory in the device service"),
			 errdetail("%s.", shortage),
			 err->value > 0 ?
			 errhint("Try again when other computations have ended, or raise gpureg.service_wait.") :
			 errhint("Release kept rows with gpu_forget(), or raise gpureg.service_memory if it is set.")));
}

/* Raises an ERROR that no column is to blame for. */
static void raise_other(const GrError *err) __attribute__((noreturn));

static void
raise_other(const GrError *err)
{
	switch (err->status)
	{
		case GR_CANCELED:
			{
				ErrorData  *error = pending_error;

				pending_error = NULL;
				if (error != NULL)
					ReThrowError(error);
			}
			break;
		case GR_NO_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 err->bytes_needed > 0 ? errdetail("Failed on a request of size %zu.", err->bytes_needed) :
					 errdetail("Failed on a request for %s.", err->detail)));
			break;
		case GR_INVALID:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s", err->detail)));
			break;
		default:
			raise_device_error(err);
	}
	elog(ERROR, "unexpected status %d", (int) err->status);
}

/* Messages and hints (or NULL) for invalid values of a response, a weight or a frequency. */
static const struct
{
	GrStatus	status;
	const char *message;		/* format for the value */
	const char *hint;
}			bad_values[] = {
	{GR_NOT_BINARY, gettext_noop("response must be 0 or 1, got %g"),
	gettext_noop("Use a boolean, or compare: (y > 0).")},
	{GR_NOT_A_SHARE, gettext_noop("response must be between 0 and 1, got %g"),
	gettext_noop("With weights, pass the proportion of successes as the response and the number of trials as the "
				 "weight.")},
	{GR_NEGATIVE_RESPONSE, gettext_noop("response must not be negative, got %g"), NULL},
	{GR_NOT_POSITIVE, gettext_noop("response must be positive, got %g"),
	gettext_noop("Exclude rows whose response is 0 or negative, or use another family.")},
	{GR_NEGATIVE_WEIGHT, gettext_noop("weight must not be negative, got %g"), NULL},
	{GR_NOT_A_COUNT, gettext_noop("frequency must be a whole number that is not negative, got %g"), NULL},
	{GR_ONE_CLASS, gettext_noop("the response has one class: it is %g in every row"),
	gettext_noop("Fit to rows of both classes, 0 and 1.")},
	{GR_ALL_ZERO, gettext_noop("the response is %g in every row"),
	gettext_noop("Include rows whose response is greater than 0.")}
};

/* Returns the index of a status in bad_values, or -1. */
static int
find_bad_value(GrStatus status)
{
	for (int k = 0; k < (int) lengthof(bad_values); k++)
		if (status == bad_values[k].status)
			return k;
	return -1;
}

/* Raises an ERROR for a value that a row must not have. name: of its column, or NULL */
static void raise_value(const GrError *err, const char *name) __attribute__((noreturn));

static void
raise_value(const GrError *err, const char *name)
{
	int			bad = find_bad_value(err->status);

	if (bad >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg(bad_values[bad].message, err->value),
				 name == NULL ? 0 : errdetail("The column is \"%s\".", name),
				 bad_values[bad].hint == NULL ? 0 : errhint("%s", bad_values[bad].hint)));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 name == NULL ? errmsg("a column has a value that is NaN or infinite") :
			 errmsg("column \"%s\" has a value that is NaN or infinite", name),
			 errhint("Leave such rows out, or make the value NULL: rows with a NULL are skipped.")));
}

/* Raises an ERROR for sums or results that left float8's range. name: of the column, or NULL */
static void raise_range(const GrError *err, const char *name) __attribute__((noreturn));

static void
raise_range(const GrError *err, const char *name)
{
	if (err->status == GR_OUT_OF_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 name == NULL ? errmsg("sums over the rows are out of range for float8") :
				 errmsg("squares of column \"%s\" are out of range for float8", name),
				 name == NULL ? errhint("Rescale the columns: magnitudes between 1e-137 and 1e150 are safe.") :
				 errhint("Rescale the column: magnitudes between 1e-137 and 1e150 are safe.")));
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("a result of the regression is out of range for float8"),
			 name == NULL ? errdetail("A %s is too %s.", err->detail, fabs(err->value) < 1 ? "small" : "large") :
			 errdetail("The %s of \"%s\" is too %s.", err->detail, name, fabs(err->value) < 1 ? "small" : "large"),
			 errhint("Rescale the columns, so that their magnitudes are closer to 1.")));
}

void
gr_raise_row(const GrError *err, GrRowShape shape, const char *const *names)
{
	int64		column = err->where;
	const char *name;

	/* sums find these two faults, and don't know the response's column */
	if (err->status == GR_ONE_CLASS || err->status == GR_ALL_ZERO)
		column = gr_response_at(shape);
	name = gr_column_name(column, shape, names);
	if (find_bad_value(err->status) >= 0 || err->status == GR_NOT_FINITE)
		raise_value(err, name);
	if (err->status == GR_OUT_OF_RANGE || err->status == GR_RESULT_OUT_OF_RANGE)
		raise_range(err, column == GR_COLUMN_ONES ? "(intercept)" : name);
	raise_other(err);
}

void
gr_raise_columns(const GrError *err, int nfeatures, const char *const *names)
{
	gr_raise_row(err, gr_plain_shape(nfeatures), names);
}

void
gr_raise(const GrError *err)
{
	gr_note_device_error(err);
	gr_raise_columns(err, 0, NULL);
}

void
gr_check_rows(const double *rows, int64 nrows, GrRowShape shape, GrRowRules rules, const char *const *names)
{
	GrError		err = {0};

	if (!gr_rows_valid(rows, nrows, shape, rules, &err))
		gr_raise_row(&err, shape, names);
}

void
gr_change_rows(const GrBasis *basis, GrRowShape shape, double *rows, int64 nrows)
{
	GrPoll		poll = {.host = &gr_host};

	if (basis != NULL && !gr_basis_change_rows(basis, shape, rows, nrows, &poll))
	{
		GrError		err = {0};

		gr_fail(&err, GR_CANCELED, 0, "a change of basis");
		gr_raise(&err);
	}
}
