/*
 * rows_derive.cu: derives rows on the device from a sink's rows; see derive.h and, for the kernels, derive.cuh.
 *
 * Without a filter, usually all rows take part, so this is tried first: each row is read once and written to its own
 * number. Only if a row turns out to have a NULL, a weight of 0 or an error are rows marked, counted and written again,
 * which reads them twice more. A row that is not valid is copied to the host, which finds out why.
 */
#include "derive.cuh"
#include "sends.cuh"

#include "compute/base/dd.h"
#include "compute/design/derive.h"
#include "compute/design/derive_row.h"

#include <stdlib.h>
#include <string.h>

#define LAUNCH_WORK 1e9			/* gr_derivation_work() between two polls of the host */

/* A derivation under way. Memory is on the device. */
typedef struct Deriving
{
	RowsSink   *from;
	RowsSink   *into;			/* NULL: only count and check rows */
	GrSession  *session;
	cudaStream_t stream;
	const GrDerivation *d;
	const GrHost *host;
	DerivePlan	plan;
	double		row_work;
	double		pending;		/* work since the host was last asked */
	char	   *described;		/* block with the derivation, its plan's arrays, and the results */
	DeriveFound *found;
	DeriveInto *places;
	double	   *totals;
	char	   *marked;			/* NULL while all rows take part */
	int64_t    *counts;			/* per tile; then the sums of those before */
	uint32_t   *marks;
	void	   *temp;
	size_t		temp_nbytes;
} Deriving;

/* Offsets of the parts of `described`, in bytes */
typedef struct Layout
{
	size_t		used;
	size_t		column;
	size_t		made;
	size_t		found;
	size_t		places;
	size_t		totals;
	size_t		end;
} Layout;

static size_t
aligned(size_t nbytes)
{
	return (nbytes + 255) / 256 * 256;
}

static Layout
lay_out(const GrDerivation *d)
{
	Layout		at;

	at.used = aligned(gr_derivation_nbytes(d));
	at.column = at.used + aligned(sizeof(int32_t) * (size_t) d->ncolumns);
	at.made = at.column + aligned(sizeof(int32_t) * (size_t) gr_row_ncols(gr_derived_shape(d)));
	at.found = at.made + aligned(sizeof(int32_t) * (size_t) gr_row_ncols(gr_derived_shape(d)));
	at.places = at.found + aligned(sizeof(DeriveFound));
	at.totals = at.places + aligned(sizeof(DeriveInto) * (GR_CHUNKS_MAX + 1));
	at.end = at.totals + sizeof(double) * DERIVE_TOTALS * DERIVE_NTOTALS;
	return at;
}

static bool
allocate(Deriving *run, char **memory, size_t nbytes, GrError *err)
{
	SignalsBlocked blocked;
	cudaError_t code = gr_memory_get(run->session->info.id, (void **) memory, nbytes);

	if (code == cudaSuccess)
		return true;
	*memory = NULL;
	return session_fail(run->session, err, code, nbytes, "allocating what rows are derived by");
}

static bool
send(Deriving *run, void *device, const void *memory, size_t nbytes, GrError *err)
{
	SESSION_CUDA(run->session, err, cudaMemcpyAsync(device, memory, nbytes, cudaMemcpyHostToDevice, run->stream),
				 "copying a derivation to the device");
	return true;
}

/* Copies from the device, and waits. */
static bool
fetch(Deriving *run, void *memory, const void *device, size_t nbytes, GrError *err)
{
	SESSION_CUDA(run->session, err, cudaMemcpyAsync(memory, device, nbytes, cudaMemcpyDeviceToHost, run->stream),
				 "copying from the device");
	SESSION_CUDA(run->session, err, cudaStreamSynchronize(run->stream), "deriving rows on the device");
	return true;
}

/*
 * Fills run->plan from the derivation and rules. Copies the derivation and the plan's arrays to the device as one
 * block, run->described, and waits. Sets run->found, places and totals to their places in the block.
 */
static bool
describe(Deriving *run, GrRowRules rules, GrError *err)
{
	const GrDerivation *d = run->d;
	const Layout at = lay_out(d);
	const char *first = (const char *) d;
	const GrDerivation *copied;
	DerivePlan *plan = &run->plan;
	char	   *copy = (char *) calloc(1, at.found);
	bool		ok;

	if (copy == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "a derivation of rows");
	if (!allocate(run, &run->described, at.end, err))
	{
		free(copy);
		return false;
	}
	copied = (const GrDerivation *) run->described;
	plan->shape = gr_derived_shape(d);
	plan->rules = rules;
	plan->ncolumns = d->ncolumns;
	plan->ncols = gr_row_ncols(plan->shape);
	plan->nsteps = d->nsteps;
	plan->tile_nrows = gr_derive_tile_nrows(plan->ncols);
	memcpy(copy, d, gr_derivation_nbytes(d));
	plan->nused = gr_derivation_used(d, (int32_t *) (copy + at.used));
	for (int j = 0; j < plan->ncols; j++)
	{
		int			column = gr_derived_column(&gr_derived_numbers(d)[j], gr_derive_factors(d));

		if (column < 0)
		{
			((int32_t *) (copy + at.made))[plan->nmade++] = j;
			column = -plan->nmade;
		}
		((int32_t *) (copy + at.column))[j] = column;
	}
	plan->numbers = gr_derived_numbers(copied);
	plan->factors = (const GrDeriveFactor *) ((const char *) copied + ((const char *) gr_derive_factors(d) - first));
	plan->steps = (const GrFilterStep *) ((const char *) copied + ((const char *) gr_derive_filter(d) - first));
	plan->used = (const int32_t *) (run->described + at.used);
	plan->made = (const int32_t *) (run->described + at.made);
	plan->column = (const int32_t *) (run->described + at.column);
	run->found = (DeriveFound *) (run->described + at.found);
	run->places = (DeriveInto *) (run->described + at.places);
	run->totals = (double *) (run->described + at.totals);
	ok = send(run, run->described, copy, at.found, err);
	if (ok && cudaStreamSynchronize(run->stream) != cudaSuccess)
		ok = session_fail(run->session, err, cudaGetLastError(), 0, "copying a derivation to the device");
	free(copy);
	return ok;
}

/* Counts work. Once LAUNCH_WORK has accumulated, waits for the device and asks the host. */
static bool
poll_host(Deriving *run, double work, GrError *err)
{
	run->pending += work;
	if (run->pending < LAUNCH_WORK)
		return true;
	run->pending = 0;
	SESSION_CUDA(run->session, err, cudaStreamSynchronize(run->stream), "deriving rows on the device");
	return !gr_canceled(run->host) || gr_fail(err, GR_CANCELED, 0, "deriving rows on the device");
}

typedef cudaError_t (*Launch) (Deriving *run, DeriveRows rows);

static cudaError_t
launch_mark(Deriving *run, DeriveRows rows)
{
	return gr_derive_mark_launch(&run->plan, rows, run->marks, run->counts, run->found, run->stream);
}

static cudaError_t
launch_write(Deriving *run, DeriveRows rows)
{
	return gr_derive_write_launch(&run->plan, rows, run->marks, run->counts, run->into == NULL ? NULL : run->places,
								  run->found, run->stream);
}

static cudaError_t
launch_totals(Deriving *run, DeriveRows rows)
{
	return gr_derive_totals_launch(&run->plan, rows, run->marks, run->totals, run->stream);
}

/* Launches over all rows, in parts of whole tiles. */
static bool
launch_all(Deriving *run, Launch launch, GrError *err)
{
	const RowsSink *from = run->from;
	const int	tile_nrows = run->plan.tile_nrows;
	int64_t		most = (int64_t) (LAUNCH_WORK / run->row_work) / tile_nrows * tile_nrows;
	DeriveRows	rows = {};

	most = most < tile_nrows ? tile_nrows : most;
	for (int c = 0; c < from->nchunks; c++)
		for (int64_t done = 0; done < from->chunks[c].nrows; done += most)
		{
			rows.rows = from->chunks[c].rows + done * run->plan.ncolumns;
			rows.nrows = from->chunks[c].nrows - done < most ? from->chunks[c].nrows - done : most;
			SESSION_CUDA(run->session, err, launch(run, rows), "launching a derivation of rows");
			rows.first += rows.nrows;
			rows.first_tile += (rows.nrows + tile_nrows - 1) / tile_nrows;
			if (!poll_host(run, (double) rows.nrows * run->row_work, err))
				return false;
		}
	return true;
}

/* Launches over all rows, waits, and adds the time. */
static bool
go_over(Deriving *run, Launch launch, GrError *err)
{
	RowsSink   *timed = run->into != NULL ? run->into : run->from;
	float		elapsed_ms;

	SESSION_CUDA(run->session, err, cudaEventRecord(timed->pass_begin, run->stream), "recording an event");
	if (!launch_all(run, launch, err))
		return false;
	SESSION_CUDA(run->session, err, cudaEventRecord(timed->pass_end, run->stream), "recording an event");
	SESSION_CUDA(run->session, err, cudaEventSynchronize(timed->pass_end), "deriving rows on the device");
	SESSION_CUDA(run->session, err, cudaEventElapsedTime(&elapsed_ms, timed->pass_begin, timed->pass_end),
				 "reading an event");
	timed->kernel_s += elapsed_ms * 1e-3;
	return true;
}

static bool
clear_found(Deriving *run, GrError *err)
{
	DeriveFound none = {};

	none.bad = DERIVE_NO_ROW;
	return send(run, run->found, &none, sizeof(none), err);
}

/* Makes room for nrows derived rows, and tells the device where they go. */
static bool
make_room(Deriving *run, int64_t nrows, GrError *err)
{
	DeriveInto	places[GR_CHUNKS_MAX + 1];
	RowsSink   *into = run->into;
	int64_t		first = 0;

	if (into == NULL)
		return true;
	if (!gr_cuda_rows_resize(into, nrows, err))
		return false;
	for (int c = 0; c < into->nchunks; first += into->chunks[c++].nrows)
	{
		places[c].rows = into->chunks[c].rows;
		places[c].first = first;
	}
	places[into->nchunks].rows = NULL;
	places[into->nchunks].first = INT64_MAX;
	return send(run, run->places, places, sizeof(places[0]) * (size_t) (into->nchunks + 1), err);
}

/* Writes the rows. *found: what was found, with the numbers of rows left out. */
static bool
write_rows(Deriving *run, DeriveFound *found, GrError *err)
{
	return go_over(run, launch_write, err) && fetch(run, found, run->found, sizeof(*found), err);
}

/*
 * Allocates run->marked, which the caller frees, and lays out marks (a bit per row: it takes part), counts (marked rows
 * per tile, then the total, cleared here) and the scan's temp in it. Sets *ntiles to the tiles of all chunks. Returns
 * false with GR_DEVICE_MEMORY or a device error.
 */
static bool
open_marks(Deriving *run, int64_t *ntiles, GrError *err)
{
	const int	tile_nrows = run->plan.tile_nrows;
	size_t		counts_nbytes;
	size_t		marks_nbytes;

	*ntiles = 0;
	for (int c = 0; c < run->from->nchunks; c++)
		*ntiles += (run->from->chunks[c].nrows + tile_nrows - 1) / tile_nrows;
	/* parts of a chunk are whole tiles; the total follows the last tile */
	counts_nbytes = aligned(sizeof(int64_t) * (size_t) (*ntiles + 1));
	marks_nbytes = aligned(sizeof(uint32_t) * (size_t) *ntiles * (size_t) (tile_nrows / 32));
	SESSION_CUDA(run->session, err,
				 gr_derive_scan_launch(NULL, &run->temp_nbytes, run->counts, *ntiles + 1, run->stream),
				 "planning a scan");
	if (!allocate(run, &run->marked, counts_nbytes + marks_nbytes + run->temp_nbytes + 256, err))
		return false;
	run->counts = (int64_t *) run->marked;
	run->marks = (uint32_t *) (run->marked + counts_nbytes);
	run->temp = run->marked + counts_nbytes + marks_nbytes;
	SESSION_CUDA(run->session, err, cudaMemsetAsync(run->counts + *ntiles, 0, sizeof(int64_t), run->stream),
				 "clearing a sum");
	return true;
}

/* Marks the rows that take part, counts them, and writes them. */
static bool
derive_marked(Deriving *run, DeriveFound *found, int64_t *nrows, GrError *err)
{
	int64_t		ntiles;

	if (!clear_found(run, err) || !open_marks(run, &ntiles, err) || !go_over(run, launch_mark, err))
		return false;
	SESSION_CUDA(run->session, err,
				 gr_derive_scan_launch(run->temp, &run->temp_nbytes, run->counts, ntiles + 1, run->stream),
				 "launching a scan");
	if (!fetch(run, nrows, run->counts + ntiles, sizeof(*nrows), err))
		return false;
	if (*nrows < 0 || *nrows > run->from->nrows)
		return gr_fail(err, GR_DEVICE_FAILED, 0, "the device counted %lld of %lld rows", (long long) *nrows,
					   (long long) run->from->nrows);
	return make_room(run, *nrows, err) && write_rows(run, found, err);
}

/* Writes all rows as if each took part. *took: each did, and there was memory for all. */
static bool
derive_all(Deriving *run, DeriveFound *found, bool *took, GrError *err)
{
	GrError		no_room = {};

	*took = false;
	if (!make_room(run, run->from->nrows, &no_room))
		return no_room.status == GR_DEVICE_MEMORY || (*err = no_room, false);
	if (!clear_found(run, err) || !write_rows(run, found, err))
		return false;
	*took = found->bad == DERIVE_NO_ROW;
	return true;
}

/* Fails with the reason why a row is not valid, which the CPU determines. */
static bool
fail_row(Deriving *run, int64_t row, GrError *err)
{
	size_t		from_nbytes = sizeof(double) * (size_t) run->plan.ncolumns;
	double	   *from = (double *) malloc(from_nbytes + sizeof(double) * (size_t) run->plan.ncols);
	GrDeriving *deriving = gr_deriving_begin(run->d, err);
	GrDeriveCounts counts = {};
	int			c = 0;

	for (; from != NULL && c < run->from->nchunks && row >= run->from->chunks[c].nrows; c++)
		row -= run->from->chunks[c].nrows;
	if (from == NULL)
		(void) gr_fail(err, GR_NO_MEMORY, 0, "a row that is derived");
	else if (row < 0 || c == run->from->nchunks)
		(void) gr_fail(err, GR_DEVICE_FAILED, 0, "the device reported a row that does not exist");
	else if (deriving != NULL &&
			 fetch(run, from, run->from->chunks[c].rows + row * run->plan.ncolumns, from_nbytes, err) &&
			 (gr_derive_rows(deriving, from, 1, from + run->plan.ncolumns, &counts) == 0 ||
			  gr_derived_valid(from + run->plan.ncolumns, 1, run->plan.shape, run->plan.rules, err)))
		(void) gr_fail(err, GR_DEVICE_FAILED, row, "the device refused a row that the host accepts");
	gr_deriving_end(deriving);
	free(from);
	return false;
}

/* Computes the totals of the derived rows, if the family has any. */
static bool
add_totals(Deriving *run, GrRowTotals *totals, GrError *err)
{
	double		parts[DERIVE_TOTALS * DERIVE_NTOTALS];
	GrDD		constant = {};
	GrDD		losses = {};

	if (!gr_has_totals(run->plan.shape, run->plan.rules))
		return true;
	SESSION_CUDA(run->session, err, cudaMemsetAsync(run->totals, 0, sizeof(parts), run->stream), "clearing totals");
	if (!go_over(run, launch_totals, err) || !fetch(run, parts, run->totals, sizeof(parts), err))
		return false;
	for (const double *part = parts; part < parts + DERIVE_TOTALS * DERIVE_NTOTALS; part += DERIVE_NTOTALS)
	{
		totals->weights += part[0];
		totals->ones += part[1];
		totals->nshares += part[2];
		constant = gr_dd_add(constant, GrDD{part[3], part[4]});
		losses = gr_dd_add(losses, GrDD{part[5], part[6]});
	}
	totals->losses = losses.hi;
	totals->losses_lo = losses.lo;
	/* condition of gr_totals_add() */
	if (run->plan.rules.family > GR_BINOMIAL || run->plan.rules.weighting == GR_PRIOR_WEIGHTS)
	{
		totals->log_constant = constant.hi;
		totals->log_constant_lo = constant.lo;
	}
	return true;
}

/* Derives the rows, all at once if possible, and sets the counts. */
static bool
derive(Deriving *run, GrDeriveCounts *counts, GrError *err)
{
	DeriveFound found = {};
	int64_t		nrows = run->from->nrows;
	bool		took = false;

	if (run->d->nsteps == 0 && !derive_all(run, &found, &took, err))
		return false;
	if (!took && !derive_marked(run, &found, &nrows, err))
		return false;
	if (found.bad != DERIVE_NO_ROW)
		return fail_row(run, (int64_t) found.bad, err);
	counts->nrows = nrows;
	counts->nfiltered = (int64_t) found.nfiltered;
	counts->nskipped = (int64_t) found.nskipped;
	counts->nweightless = (int64_t) found.nweightless;
	return add_totals(run, &counts->totals, err) &&
		(!gr_canceled(run->host) || gr_fail(err, GR_CANCELED, 0, "deriving rows on the device"));
}

bool
gr_cuda_rows_derive(RowsSink *from, const GrDerivation *d, GrRowRules rules, RowsSink *into, GrDeriveCounts *counts,
					const GrHost *host, GrError *err)
{
	Deriving	run = {};
	bool		ok;

	if (from->nrows == 0)
		return true;
	run.from = from;
	run.into = into;
	run.session = from->session;
	run.stream = into != NULL ? into->kernel_stream : from->kernel_stream;
	run.d = d;
	run.host = host;
	run.row_work = (double) gr_derivation_work(d);
	ok = gr_sends_wait(&from->sends, err) && describe(&run, rules, err) && derive(&run, counts, err);
	/* launches may still be reading the memory */
	(void) cudaStreamSynchronize(run.stream);
	gr_memory_give(run.session->info.id, run.described);
	gr_memory_give(run.session->info.id, run.marked);
	return ok;
}
