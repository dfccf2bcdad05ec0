/*
 * rotation_test.c: tests rotations on every target against plain loops over the definition in rotation.h.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/base/philox.h"
#include "compute/linalg/rotation.h"
#include "unit.h"

#define DIM_MAX 140000
#define LENGTH_MAX 262144
#define K_MAX (2 * LENGTH_MAX + 100)

typedef struct Problem
{
	float		x[DIM_MAX];
	double		want[LENGTH_MAX];	/* the last rotation */
	double		got[LENGTH_MAX];
	uint8_t		want_signs[K_MAX / 8 + 1];
	uint8_t		got_signs[K_MAX / 8 + 1];
} Problem;

/* Kinds of vectors */
enum
{
	UNIFORM, WIDE, EXTREME, SPARSE, INTEGERS, NKINDS
};

static float
element(int kind, int64_t j)
{
	float		u = (float) (2.0 * (double) random() / 2147483648.0 - 1.0);

	switch (kind)
	{
		case WIDE:
			return ldexpf(u, (int) (random() % 250) - 125);
		case EXTREME:
			return j % 3 == 0 ? 3.4e38f : j % 3 == 1 ? -3.4e38f : 1e-45f;
		case SPARSE:
			return random() % 50 == 0 ? u : random() % 2 == 0 ? 0.0f : -0.0f;
		case INTEGERS:			/* sums of 0 are common */
			return (float) (random() % 3 - 1);
		default:
			return u;
	}
}

/* True if D_t of rotation b has - in row j. */
static bool
is_minus(uint64_t seed, int64_t b, int t, int64_t j)
{
	GrPhilox	counter = {{(uint32_t) (j / 128), (uint32_t) b, (uint32_t) t, GR_ROTATION_TAG}};
	GrPhilox	draw = gr_philox(counter, (uint32_t) seed, (uint32_t) (seed >> 32));

	return (draw.word[j % 128 / 32] >> (j % 32) & 1) != 0;
}

/* Computes rotation b into y. */
static void
rotate(const GrRotation *rotation, int64_t b, int64_t length, double *y)
{
	for (int64_t j = 0; j < length; j++)
		y[j] = j < rotation->dim ? (double) rotation->x[j] : 0.0;
	for (int t = 0; t < GR_ROTATION_ROUNDS; t++)
	{
		for (int64_t j = 0; j < length; j++)
			if (is_minus(rotation->seed, b, t, j))
				y[j] = -y[j];
		for (int64_t h = 1; h < length; h *= 2)
			for (int64_t j = 0; j < length; j++)
				if ((j & h) == 0)
				{
					double		sum = y[j] + y[j + h];

					y[j + h] = y[j] - y[j + h];
					y[j] = sum;
				}
	}
}

static void
make_wanted(Problem *problem, const GrRotation *rotation)
{
	int64_t		length = 1;

	while (length < rotation->dim)
		length *= 2;
	memset(problem->want_signs, 0, sizeof(problem->want_signs));
	for (int64_t i = 0; i < rotation->k; i++)
	{
		if (i % length == 0)
			rotate(rotation, i / length, length, problem->want);
		if (problem->want[i % length] > 0)
			problem->want_signs[i / 8] |= (uint8_t) (128 >> i % 8);
	}
}

/* Counts wrong results for k signs: in the signs, in the bytes after them, and in the last rotation. */
static int
count_wrong(Problem *problem, GrRotation *rotation, int64_t length)
{
	int			nwrong = 0;
	GrError		err = {0};
	size_t		nbytes = (size_t) ((rotation->k + 7) / 8);

	make_wanted(problem, rotation);
	for (rotation->max_lanes = 0; rotation->max_lanes <= 8; rotation->max_lanes++)
	{
		memset(problem->got_signs, 0x55, sizeof(problem->got_signs));
		nwrong += !gr_rotation_signs(rotation, problem->got, problem->got_signs, NULL, &err);
		nwrong += memcmp(problem->got_signs, problem->want_signs, nbytes) != 0;
		nwrong += problem->got_signs[nbytes] != 0x55;
		nwrong += memcmp(problem->got, problem->want, (size_t) length * sizeof(double)) != 0;
	}
	return nwrong;
}

static void
check_dim(Problem *problem, int64_t dim)
{
	const int64_t length = gr_rotation_length(dim);
	const int64_t ks[] = {1, 7, 8, length - 1, length, length + 1, 2 * length + 13};
	int			nwrong = 0;

	for (int kind = 0; kind < (dim > 5000 ? 2 : NKINDS); kind++)
	{
		for (int64_t j = 0; j < dim; j++)
			problem->x[j] = element(kind, j);
		for (int i = 0; i < COUNT(ks); i++)
		{
			GrRotation	rotation = {
				.x = problem->x,.dim = dim,.seed = kind == 0 ? (uint64_t) i : (uint64_t) random() * (uint64_t) random(),
				.k = ks[i]
			};

			if (ks[i] > 0 && (dim <= 5000 || i > 3))
				nwrong += count_wrong(problem, &rotation, length);
		}
	}
	check(nwrong == 0, "vectors of %lld elements: %d wrong", (long long) dim, nwrong);
}

/* A rotation of many elements stops soon after the host asks, and fails. */
static void
check_stop(Problem *problem, int64_t dim, int64_t k, int least_polls)
{
	GrRotation	rotation = {.x = problem->x,.dim = dim,.k = k};
	Stopper		stopper = {.stop_at = 1 << 30};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	GrError		err = {0};
	int			npolls;

	check(gr_rotation_signs(&rotation, problem->got, problem->got_signs, &host, &err), "not stopped");
	npolls = stopper.asked;
	check(npolls >= least_polls, "the host is asked %d times, at least %d", npolls, least_polls);
	for (int at = 1; at <= npolls; at += 1 + npolls / 10)
	{
		stopper = (Stopper) {.stop_at = at};
		err = (GrError) {0};
		check(!gr_rotation_signs(&rotation, problem->got, problem->got_signs, &host, &err) &&
			  err.status == GR_CANCELED && stopper.asked == at, "stopped at poll %d", at);
	}
}

int
main(void)
{
	Problem    *problem = calloc(1, sizeof(Problem));
	const int64_t dims[] = {
		127, 128, 129, 200, 256, 257, 511, 512, 768, 1000, 1024, 1025, 2047, 2048, 2049, 4095, 4097, 5000, 16384, 40000,
		DIM_MAX
	};

	if (problem == NULL)
		return 1;
	for (int64_t dim = 1; dim <= 70; dim++)
		check_dim(problem, dim);
	for (int i = 0; i < COUNT(dims); i++)
		check_dim(problem, dims[i]);
	check_stop(problem, DIM_MAX, LENGTH_MAX, 2);
	check_stop(problem, 3, 1000, 250);
	free(problem);
	return unit_done();
}
