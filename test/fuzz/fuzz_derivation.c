/*
 * fuzz_derivation.c: derivations in shared memory, where anything may stand. A valid one must derive rows without
 * touching memory beyond its own, and the same rows however many are derived at a time.
 */
#include <math.h>

#include "compute/design/derive.h"
#include "fuzz.h"

#define NROWS 5

/* Derives rows, at_a_time per call; returns the number derived. */
static int64_t
derive(const GrDerivation *d, const double *rows, double *out, int at_a_time)
{
	size_t		ncols = gr_row_ncols(gr_derived_shape(d));
	GrError		err = {0};
	GrDeriving *deriving = gr_deriving_begin(d, &err);
	GrDeriveCounts counts = {0};
	int64_t		n = 0;

	must(deriving != NULL);
	for (int r = 0; r < NROWS; r += at_a_time)
		n += gr_derive_rows(deriving, rows + (size_t) r * (size_t) d->ncolumns, at_a_time, out + (size_t) n * ncols,
							&counts);
	gr_deriving_end(deriving);
	must(n == counts.nrows && n + counts.nfiltered + counts.nskipped + counts.nweightless == NROWS);
	return n;
}

static void
use_derivation(const GrDerivation *d, FuzzInput *in)
{
	GrRowShape	shape = gr_derived_shape(d);
	size_t		ncols = gr_row_ncols(shape);
	size_t		nnumbers = (size_t) d->ncolumns * NROWS;
	double	   *rows = fuzz_take(NULL, nnumbers * sizeof(double));
	double	   *out = fuzz_take(NULL, NROWS * ncols * sizeof(double));
	double	   *again = fuzz_take(NULL, NROWS * ncols * sizeof(double));
	int32_t    *used = fuzz_take(NULL, (size_t) d->ncolumns * sizeof(int32_t));
	GrError		err = {0};
	int64_t		n;

	for (size_t k = 0; k < nnumbers; k++)
		rows[k] = in->left > 0 ? take_double(in) : (double) (k % 7) - 2;
	must(gr_derivation_used(d, used) <= d->ncolumns && gr_derivation_work(d) >= 0);
	n = derive(d, rows, out, NROWS);
	must(n == derive(d, rows, again, 1) && memcmp(out, again, (size_t) n * ncols * sizeof(double)) == 0);
	(void) gr_derived_valid(out, n, shape, (GrRowRules) {GR_BINOMIAL}, &err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput	in = {data, size};
	int			ncolumns = take_byte(&in);
	size_t		nbytes = take_byte(&in) * (size_t) 8;
	const GrDerivation *d;

	fuzz_begin(size);
	if (nbytes > in.left)
		nbytes = in.left;
	d = fuzz_copy(in.at, nbytes);
	in.at += nbytes;
	in.left -= nbytes;
	if (gr_derivation_valid(d, nbytes, ncolumns))
	{
		must(gr_derivation_nbytes(d) == nbytes && d->ncolumns == ncolumns);
		use_derivation(d, &in);
	}
	fuzz_end();
	return 0;
}
