/*
 * request_test.c: tests that a pass or a bootstrap comes out of a request as it went in, wherever the block was copied
 * to, and that a damaged block is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/design/derivation.h"
#include "compute/request/request.h"
#include "compute/resample/boot_draw.h"
#include "unit.h"

#define P 3
#define T (P + 1)
#define NACTIVE 2
#define NROWS 50

static const GrRowShape plain = {.nfeatures = P};
static const GrRowShape keyed = {.nfeatures = P,.key = true};

/* Numbers that all arrays point into, each at another place */
static double numbers[400];

static GrPass
full_pass(void)
{
	return (GrPass) {
		.kind = GR_PASS_EXACT,.shape = plain,.distribution = {GR_NEGATIVE_BINOMIAL, GR_LOG, 1.5, 0},.beta = numbers,
		.shift = numbers + 10,.nfaces = 2,.faces = numbers + 20,.face_absolute = numbers + 50,.face_relative = 0.25,
		.linear = true,.measure = GR_MEASURE_SCORES_HC2,.edge = 7,.counts = true,.factor = numbers + 60
	};
}

static GrBootPass
full_boot(bool influence)
{
	GrBootPass	pass = {
		.shape = keyed,.distribution = {.link = GR_IDENTITY},.beta = numbers,.beta_lo = numbers + 10,
		.shift = numbers + 20,.nactive = NACTIVE,.factor = numbers + 30,.triangle = numbers + 50,.seed = UINT64_MAX - 5,
		.first = 8
	};

	if (influence)
	{
		pass.influence = numbers + 60;
		pass.ninfluence = 3;
		return pass;
	}
	pass.nreps = 8;
	pass.steps = numbers + 70;
	return pass;
}

static bool
same(const double *a, const double *b, size_t n)
{
	return a != NULL && b != NULL && a != b && memcmp(a, b, n * sizeof(double)) == 0;
}

/* Copies a request elsewhere, and destroys the original. */
static GrRequest *
moved(GrRequest *request)
{
	GrRequest  *copy = malloc(gr_request_nbytes(request));

	memcpy(copy, request, gr_request_nbytes(request));
	memset(request, 0xFF, gr_request_nbytes(request));
	free(request);
	return copy;
}

static void
test_passes(void)
{
	const GrPass pass = full_pass();
	GrError		err = {0};
	GrRequest  *request = moved(gr_request_of_pass(&pass, gr_request_malloc, &err));
	GrPass		got = gr_request_pass(request);
	GrPass		bare = {.kind = GR_PASS_FACE,.shape = plain,.shift = numbers,.faces = numbers};

	check(gr_request_valid(request, gr_request_nbytes(request), plain, &err), "a pass is valid: %s", err.detail);
	check(!gr_request_is_boot(request) && gr_request_nsums(request) == gr_pass_nsums(GR_PASS_EXACT, P) &&
		  gr_request_scratch_nbytes(request) == gr_pass_scratch_nbytes(GR_PASS_EXACT, plain), "its sums are a pass's");
	check(got.kind == pass.kind && gr_same_shape(got.shape, pass.shape) &&
		  memcmp(&got.distribution, &pass.distribution, sizeof(got.distribution)) == 0 && got.nfaces == 2 &&
		  got.face_relative == 0.25 && got.linear && got.counts && got.measure == pass.measure && got.edge == 7,
		  "its numbers come out");
	check(same(got.beta, pass.beta, T) && same(got.shift, pass.shift, P) && same(got.faces, pass.faces, 4 * T) &&
		  same(got.face_absolute, pass.face_absolute, 2) && same(got.factor, pass.factor, (size_t) gr_triangle(T)),
		  "and so do its arrays");
	free(request);
	request = moved(gr_request_of_pass(&bare, gr_request_malloc, &err));
	got = gr_request_pass(request);
	check(got.beta == NULL && got.faces == NULL && got.face_absolute == NULL && got.factor == NULL &&
		  same(got.shift, numbers, P), "arrays that a pass lacks stay away");
	free(request);
}

static void
test_boots(void)
{
	for (int influence = 0; influence <= 1; influence++)
	{
		const GrBootPass pass = full_boot(influence);
		GrError		err = {0};
		GrRequest  *request = moved(gr_request_of_boot(&pass, gr_request_malloc, &err));
		GrBootPass	got = gr_request_boot(request);

		check(gr_request_valid(request, gr_request_nbytes(request), keyed, &err),
			  "a bootstrap is valid, influence %d: %s", influence, err.detail);
		check(gr_request_is_boot(request) && gr_request_nsums(request) == gr_boot_nsums(&pass) &&
			  gr_request_scratch_nbytes(request) == gr_boot_scratch_nbytes(&pass), "its sums, influence %d", influence);
		check(gr_same_shape(got.shape, keyed) && got.seed == pass.seed && got.first == 8 && got.nactive == NACTIVE &&
			  got.nreps == pass.nreps && got.ninfluence == pass.ninfluence && !got.flips && got.triangle == NULL,
			  "its numbers, influence %d", influence);
		check(same(got.beta, pass.beta, T) && same(got.beta_lo, pass.beta_lo, T) && same(got.shift, pass.shift, P) &&
			  same(got.factor, pass.factor, NACTIVE * T) &&
			  (influence ? same(got.influence, pass.influence, 3 * NACTIVE) && got.steps == NULL :
			   same(got.steps, pass.steps, 8 * NACTIVE) && got.influence == NULL),
			  "its arrays, influence %d", influence);
		free(request);
	}
}

/* Checks sums by requests, in two parts that are merged, against the functions of passes and of bootstraps. */
static void
test_sums(const GrRequest *request, const double *rows, int stride, const char *what)
{
	size_t		nsums = gr_request_nsums(request);
	double	   *sums[3];
	double	   *scratch = malloc(gr_request_scratch_nbytes(request));
	bool		ok = true;

	for (int k = 0; k < 3; k++)
	{
		sums[k] = malloc(nsums * sizeof(double));
		gr_request_clear(request, sums[k]);
	}
	for (int part = 0; part < 2; part++)
		ok = ok && gr_request_add(request, sums[part], rows + part * NROWS / 2 * stride, NROWS / 2, scratch, NULL);
	gr_request_merge(request, sums[0], sums[1]);
	if (gr_request_is_boot(request))
	{
		const GrBootPass pass = gr_request_boot(request);

		memset(sums[2], 0, nsums * sizeof(double));
		memset(sums[1], 0, nsums * sizeof(double));
		ok = ok && gr_boot_add(&pass, sums[2], rows, NROWS / 2, scratch, NULL) &&
			gr_boot_add(&pass, sums[1], rows + NROWS / 2 * stride, NROWS / 2, scratch, NULL);
		for (size_t k = 0; k < nsums; k++)
			sums[2][k] += sums[1][k];
	}
	else
	{
		const GrPass pass = gr_request_pass(request);

		gr_pass_clear(pass.kind, P, sums[2]);
		gr_pass_clear(pass.kind, P, sums[1]);
		gr_pass_add(&pass, sums[2], rows, NROWS / 2, scratch);
		gr_pass_add(&pass, sums[1], rows + NROWS / 2 * stride, NROWS / 2, scratch);
		gr_pass_merge(pass.kind, P, sums[2], sums[1]);
	}
	check(ok && sums[0][0] == NROWS && memcmp(sums[0], sums[2], nsums * sizeof(double)) == 0,
		  "the sums of %s, to the bit", what);
	for (int k = 0; k < 3; k++)
		free(sums[k]);
	free(scratch);
}

/* Checks scores by requests, of rows in two parts that are merged, against the functions of scores. */
static void
test_scores(const double *rows, bool hessian)
{
	double		terms[T];
	const GrScores scores = {
		.shape = keyed,.distribution = GR_LOGISTIC,.beta = numbers,.beta_lo = numbers + 10,.shift = numbers + 20,
		.hessian = hessian,.terms = terms
	};
	size_t		nsums = gr_scores_nsums(P, hessian);
	GrError		err = {0};
	GrRequest  *request = moved(gr_request_of_scores(&scores, gr_request_malloc, &err));
	double	   *sums[4];
	bool		ok = gr_request_nsums(request) == nsums && gr_request_scratch_nbytes(request) == sizeof(terms);

	check(gr_request_valid(request, gr_request_nbytes(request), keyed, &err) && gr_request_is_mergeable(request) &&
		  !gr_request_is_pass(request) && !gr_request_is_boot(request) && !gr_request_takes_keys(request) &&
		  gr_request_batch(request) == 1, "scores are valid, Hessian %d: %s", hessian, err.detail);
	for (int k = 0; k < 4; k++)
		sums[k] = calloc(nsums, sizeof(double));
	for (int part = 0; part < 2; part++)
	{
		const double *from = rows + part * NROWS / 2 * (P + 2);

		gr_request_clear(request, sums[part]);
		ok = ok && gr_request_add(request, sums[part], from, NROWS / 2, terms, NULL);
		for (int k = 0; k < NROWS / 2; k++)
			gr_scores_add(&scores, from + k * (P + 2), sums[2 + part]);
	}
	gr_request_merge(request, sums[0], sums[1]);
	gr_scores_merge(P, hessian, sums[2], sums[3]);
	check(ok && memcmp(sums[0], sums[2], nsums * sizeof(double)) == 0, "sums of scores, to the bit, Hessian %d",
		  hessian);
	request->flags |= GR_REQUEST_LINEAR;
	check(!gr_request_valid(request, gr_request_nbytes(request), keyed, &err), "scores of a linear pass are refused");
	for (int k = 0; k < 4; k++)
		free(sums[k]);
	free(request);
}

/* Checks that sums by group are those of each group's rows alone, without the rows whose keys have no group. */
static void
test_groups(const double *rows, const GrRequest *plain_request)
{
	enum {NGROUPS = 3};
	const int	ncols = P + 2;
	GrError		err = {0};
	GrRequest  *request = moved(gr_request_by_group(plain_request, NGROUPS, gr_request_malloc, &err));
	size_t		nsums = gr_request_nsums(plain_request);
	double	   *sums = malloc(2 * NGROUPS * nsums * sizeof(double));
	double	   *want = malloc(nsums * sizeof(double));
	void	   *scratch = malloc(gr_request_scratch_nbytes(request));
	double		keyed_rows[NROWS * (P + 2)];
	bool		ok = gr_request_valid(request, gr_request_nbytes(request), keyed, &err) &&
		gr_request_nsums(request) == NGROUPS * nsums && gr_request_takes_keys(request);

	memcpy(keyed_rows, rows, sizeof(keyed_rows));
	for (int r = 0; r < NROWS; r++)
		keyed_rows[r * ncols + P + 1] = r % 5 == 4 ? NGROUPS + r % 2 : r % 7 == 6 ? -0.5 : r % NGROUPS;
	gr_request_clear(request, sums);
	gr_request_clear(request, sums + NGROUPS * nsums);
	ok = ok && gr_request_add(request, sums, keyed_rows, NROWS, scratch, NULL);
	gr_request_merge(request, sums, sums + NGROUPS * nsums);
	for (int group = 0; group < NGROUPS; group++)
	{
		double		own[NROWS * (P + 2)];
		int			n = 0;

		for (int r = 0; r < NROWS; r++)
			if (keyed_rows[r * ncols + P + 1] == group)
				memcpy(own + n++ * ncols, keyed_rows + r * ncols, ncols * sizeof(double));
		gr_request_clear(plain_request, want);
		ok = ok && gr_request_add(plain_request, want, own, n, scratch, NULL);
		/* the sums by group were merged with sums of no rows, so the expected sums are, too */
		gr_request_merge(plain_request, want, sums + (NGROUPS + group) * nsums);
		check(ok && n > 0 && memcmp(want, sums + group * nsums, nsums * sizeof(double)) == 0,
			  "the sums of group %d of %s, to the bit", group, gr_request_name(request));
	}
	check(gr_request_by_group(plain_request, 0, gr_request_malloc, &err) == NULL &&
		  gr_request_by_group(plain_request, INT32_MAX, gr_request_malloc, &err) == NULL, "no groups, and too many");
	request->ngroups = -1;
	check(!gr_request_valid(request, gr_request_nbytes(request), keyed, &err), "less than no groups");
	request->ngroups = INT32_MAX;
	check(!gr_request_valid(request, gr_request_nbytes(request), keyed, &err) && !gr_request_is_mergeable(request),
		  "more groups than there is room for");
	free(scratch);
	free(want);
	free(sums);
	free(request);
}

static void
test_rows(void)
{
	double		rows[NROWS * (P + 2)];
	GrError		err = {0};

	for (int r = 0; r < NROWS; r++)
		for (int j = 0; j < P + 2; j++)
			rows[r * (P + 2) + j] = j == P + 1 ? r : j == P ? r % 2 : sin(7 * r + j);
	for (int kind = GR_PASS_EXACT; kind <= GR_PASS_GRADIENT; kind++)
	{
		const GrPass pass = {
			.kind = (GrPassKind) kind,.shape = keyed,.distribution = GR_LOGISTIC,.beta = numbers,.shift = numbers + 10
		};
		GrRequest  *request = gr_request_of_pass(&pass, gr_request_malloc, &err);

		test_sums(request, rows, P + 2, "a pass");
		test_groups(rows, request);
		free(request);
	}
	for (int hessian = 0; hessian <= 1; hessian++)
		test_scores(rows, hessian);
	for (int influence = 0; influence <= 1; influence++)
	{
		const GrBootPass pass = full_boot(influence);
		GrRequest  *request = gr_request_of_boot(&pass, gr_request_malloc, &err);

		test_sums(request, rows, P + 2, "a bootstrap");
		free(request);
	}
}

/*
 * Damages a request in its way-th way; false if there is no such way. *nbytes: the block's length, as its receiver gets
 * it.
 */
static bool
damage(GrRequest *r, size_t *nbytes, int way)
{
	const int	last = gr_request_is_boot(r) ? GR_REQUEST_STEPS : GR_REQUEST_FACTOR;

	switch (way)
	{
		case 0: r->nbytes = 0; break;
		case 1: r->nbytes -= 8; break;
		case 2: r->nbytes = UINT64_MAX; break;
		case 3: *nbytes -= 8; break;
		case 4: *nbytes = 0; break;
		case 5: *nbytes = sizeof(GrRequest) - 8; break;
		case 6: r->nbytes -= 8, *nbytes -= 8; break;
		case 7: r->nbytes = *nbytes = sizeof(GrRequest); break;
		case 8: r->kind = -1; break;
		case 9: r->kind = GR_NREQUESTS; break;
		case 10: r->kind = r->kind == GR_REQUEST_EXACT ? GR_REQUEST_FLIPS : GR_REQUEST_EXACT; break;
		case 11: r->flags = 4; break;
		case 12: r->way = 1; break;
		case 13: r->offsets[GR_REQUEST_BETA] = *nbytes + 8; break;
		case 14: r->offsets[GR_REQUEST_BETA] = UINT64_MAX - 7; break;
		case 15: r->offsets[GR_REQUEST_BETA] = 8; break;
		case 16: r->offsets[GR_REQUEST_BETA] += 1; break;
		case 17: r->offsets[GR_REQUEST_BETA] += 8; break;
		case 18: r->offsets[GR_REQUEST_BETA] = 0; break;
		case 19: r->offsets[GR_REQUEST_SHIFT] = 0; break;
		case 20: r->offsets[GR_REQUEST_SHIFT] = r->offsets[GR_REQUEST_BETA]; break;
		case 21: r->offsets[last] = *nbytes; break;
		case 22: r->offsets[last] = *nbytes - 8; break;
		case 23: r->offsets[last] = 4; break;
		case 24: r->shape.nfeatures = P + 1; break;
		case 25: r->shape.nfeatures = -1; break;
		case 26: r->shape.nfeatures = INT32_MAX; break;
		case 27: r->shape.weight = true; break;
		case 28: memset(&r->shape.key, 9, 1); break;
		case 29: r->distribution.family = (GrFamily) GR_NFAMILIES; break;
		case 30: r->nfaces = gr_request_is_boot(r) ? -1 : 1; r->nreps = 4; break;
		case 31: r->nfaces = INT32_MAX; r->nactive = INT32_MAX; break;
		case 32: r->nfaces = -1; r->nactive = -1; break;
		case 33: r->measure = GR_NMEASURES; r->nactive = 0; break;
		case 34: r->measure = -1; r->nreps = INT32_MAX; break;
		case 35: r->nfaces = 3; r->nactive = NACTIVE + 1; break;
		case 36: r->nfaces = 0; r->nreps = 12; break;
		case 37: r->nfaces = GR_FACES_MAX + 1; r->first = 2; break;
		case 38: r->nfaces = 1; r->nreps = 0, r->ninfluence = 3; break;
		default: return false;
	}
	return true;
}

static void
test_damaged(GrRequest *whole, GrRowShape shape, const char *what)
{
	size_t		size = gr_request_nbytes(whole);
	GrRequest  *request = malloc(size + 8);
	size_t		nbytes = size;
	int			way = 0;

	for (memcpy(request, whole, size); damage(request, &nbytes, way); memcpy(request, whole, nbytes = size), way++)
	{
		GrError		err = {0};

		check(!gr_request_valid(request, nbytes, shape, &err) && err.status == GR_INVALID,
			  "%s, damaged in way %d: %s", what, way, err.detail);
	}
	for (int by = 1; by < 8; by++)
	{
		GrError		err = {0};
		GrRequest  *unaligned = (GrRequest *) ((char *) request + by);

		memcpy((char *) request + by, whole, size);
		check(!gr_request_valid(unaligned, size, shape, &err), "%s at %d bytes from a multiple of 8", what, by);
	}
	free(request);
}

/* Changes any byte of the head; requests that still are valid are read to their end. */
static void
test_bytes(GrRequest *whole, GrRowShape shape, const char *what)
{
	size_t		size = gr_request_nbytes(whole);
	GrRequest  *request = malloc(size);
	int			nvalid = 0;
	double		sum = 0;

	for (size_t at = 0; at < sizeof(GrRequest); at++)
	{
		for (int bit = 0; bit < 8; bit++)
		{
			GrError		err = {0};

			memcpy(request, whole, size);
			((unsigned char *) request)[at] ^= (unsigned char) (1 << bit);
			if (!gr_request_valid(request, size, shape, &err))
				continue;
			nvalid++;
			if (gr_request_is_boot(request))
			{
				const GrBootPass pass = gr_request_boot(request);

				sum += pass.factor[pass.nactive * T - 1] +
					(pass.steps == NULL ? 0 : pass.steps[pass.nreps * pass.nactive - 1]);
			}
			else
			{
				const GrPass pass = gr_request_pass(request);

				sum += (pass.nfaces > 0 ? pass.faces[2 * T * pass.nfaces - 1] : 0) + pass.beta[T - 1];
			}
		}
	}
	check(isfinite(sum) && nvalid > 0, "%s, one bit changed: %d are valid", what, nvalid);
	free(request);
}

static void *
no_memory(void *arg, size_t nbytes)
{
	(void) arg;
	(void) nbytes;
	return NULL;
}

static void
test_all_damaged(void)
{
	const GrPass pass = full_pass();
	const GrBootPass boot = full_boot(false);
	GrError		err = {0};
	GrRequest  *of_pass = gr_request_of_pass(&pass, gr_request_malloc, &err);
	GrRequest  *of_boot = gr_request_of_boot(&boot, gr_request_malloc, &err);

	test_damaged(of_pass, plain, "a pass");
	test_damaged(of_boot, keyed, "a bootstrap");
	test_bytes(of_pass, plain, "a pass");
	test_bytes(of_boot, keyed, "a bootstrap");
	check(!gr_request_valid(of_pass, gr_request_nbytes(of_pass), keyed, &err) && err.status == GR_INVALID,
		  "a pass over rows of another shape");
	free(of_pass);
	free(of_boot);
	memset(&err, 0, sizeof(err));
	check(gr_request_of_pass(&pass, (GrMemory) {no_memory, NULL}, &err) == NULL && err.status == GR_NO_MEMORY &&
		  err.bytes_needed > sizeof(GrRequest), "a request that there is no memory for");
}

int
main(void)
{
	for (int k = 0; k < COUNT(numbers); k++)
		numbers[k] = cos(k) / 8;
	test_passes();
	test_boots();
	test_rows();
	test_all_damaged();
	return unit_done();
}
