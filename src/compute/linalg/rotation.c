/* rotation.c: signs of a vector's coordinates after random rotations; see rotation.h. */
#include "compute/linalg/rotation.h"

#include <string.h>

#include "compute/base/philox.h"

#define SIGNS 128				/* signs per call of Philox */
#define LANES_MAX 8
#define BLOCK 2048				/* elements that stay in the first-level cache while stages are applied to them */
#define STRIDES 65536			/* elements per call for stages of larger blocks */
#define POLL_EVERY ((int64_t) 1 << 22)	/* additions between polls */

/* Kernels for one processor; see rotation_cpu.h. Vectors of 8 lanes elements and more have them. */
typedef struct RotationVersion
{
	int			lanes;
	void		(*draw) (uint32_t *words, uint32_t first, uint32_t b, uint32_t t, uint64_t seed);
	void		(*begin) (double *x, int64_t n, const uint32_t *words);
	void		(*three_stages) (double *x, int64_t h, int64_t n);
	void		(*two_stages) (double *x, int64_t h, int64_t n);
	void		(*stage) (double *x, int64_t h, int64_t n);
	void		(*widen) (double *into, const float *x, int64_t n, int64_t length);
	void		(*bits) (uint8_t *into, const double *x, int64_t n);
} RotationVersion;

#define SIMD_TEMPLATE "compute/linalg/rotation_cpu.h"
#include "compute/base/simd.h"

/* A rotation under way */
typedef struct Rotating
{
	const RotationVersion *version;
	double	   *x;
	int64_t		length;
	uint64_t	seed;
	uint32_t	b;				/* number of the rotation */
	const GrHost *host;
	int64_t		nadded;			/* additions since the last poll */
} Rotating;

int64_t
gr_rotation_length(int64_t dim)
{
	int64_t		length = 1;

	while (length < dim)
		length *= 2;
	return length;
}

/* Returns the widest kernels of at most max_lanes lanes that take vectors of this length. */
static const RotationVersion *
choose_version(int64_t length, int max_lanes)
{
	int			lanes = max_lanes > 0 ? max_lanes : LANES_MAX;

	while (lanes > 1 && 8 * lanes > length)
		lanes /= 2;
	return SIMD_CHOOSE(version, lanes);
}

/* Counts additions. Returns false if they are enough for a poll and the host asked to stop. */
static bool
goes_on(Rotating *r, int64_t nadded)
{
	r->nadded += nadded;
	if (r->nadded < POLL_EVERY)
		return true;
	r->nadded = 0;
	return !gr_canceled(r->host);
}

/*
 * Applies `times` stages (1 to 3) from h on to the n elements at x, a multiple of h << times. Returns false if
 * canceled.
 */
static bool
apply_some(Rotating *r, double *x, int64_t h, int times, int64_t n)
{
	void		(*stages) (double *x, int64_t h, int64_t n) = times == 3 ? r->version->three_stages :
		times == 2 ? r->version->two_stages : r->version->stage;

	for (int64_t from = 0; from < n; from += h << times)
		for (int64_t j = 0; j < h; j += STRIDES)
		{
			int64_t		nstrides = h - j < STRIDES ? h - j : STRIDES;

			stages(x + from + j, h, nstrides);
			if (!goes_on(r, nstrides * times << (times - 1)))
				return false;
		}
	return true;
}

/* Applies stages h, 2 h, .. n / 2 to the n elements at x. h: a multiple of the lanes. Returns false if canceled. */
static bool
apply_stages(Rotating *r, double *x, int64_t h, int64_t n)
{
	while (h < n)
	{
		/* twice two stages are faster than three and one */
		int			times = 2 * h == n ? 1 : 4 * h == n || 16 * h == n ? 2 : 3;

		if (!apply_some(r, x, h, times, n))
			return false;
		h <<= times;
	}
	return true;
}

/* Computes x = H D_t x. Returns false if canceled. */
static bool
rotate(Rotating *r, uint32_t t)
{
	const int64_t batch = (int64_t) r->version->lanes * SIGNS;
	const int64_t block = r->length < BLOCK ? r->length : BLOCK;
	uint32_t	words[LANES_MAX * SIGNS / 32];

	for (int64_t from = 0; from < r->length; from += block)
	{
		for (int64_t done = 0; done < block; done += batch)
		{
			r->version->draw(words, (uint32_t) ((from + done) / SIGNS), r->b, t, r->seed);
			r->version->begin(r->x + from + done, block - done < batch ? block - done : batch, words);
		}
		if (!apply_stages(r, r->x + from, 8 * r->version->lanes, block) || !goes_on(r, 3 * block))
			return false;
	}
	return apply_stages(r, r->x, block, r->length);
}

/* Rotates fewer than 8 elements in plain loops, and sets the bits of the first n from bit `first` on. */
static void
rotate_few(const Rotating *r, uint8_t *signs, int64_t first, int64_t n)
{
	for (uint32_t t = 0; t < GR_ROTATION_ROUNDS; t++)
	{
		GrPhilox	counter = {{0, r->b, t, GR_ROTATION_TAG}};
		GrPhilox	draw = gr_philox(counter, (uint32_t) r->seed, (uint32_t) (r->seed >> 32));

		for (int64_t j = 0; j < r->length; j++)
			r->x[j] *= 1.0 - 2.0 * (double) (draw.word[0] >> j & 1);
		for (int64_t h = 1; h < r->length; h *= 2)
			for (int64_t from = 0; from < r->length; from += 2 * h)
				for (int64_t j = from; j < from + h; j++)
				{
					double		low = r->x[j];
					double		high = r->x[j + h];

					r->x[j] = low + high;
					r->x[j + h] = low - high;
				}
	}
	for (int64_t j = 0; j < n; j++)
		if (r->x[j] > 0)
			signs[(first + j) / 8] |= (uint8_t) (0x80 >> (first + j) % 8);
}

bool
gr_rotation_signs(const GrRotation *rotation, double *work, uint8_t *signs, const GrHost *host, GrError *err)
{
	const int64_t k = rotation->k;
	const int64_t length = gr_rotation_length(rotation->dim);
	Rotating	r = {
		.version = choose_version(length, rotation->max_lanes),.x = work,.length = length,.seed = rotation->seed,
		.host = host
	};

	memset(signs, 0, (size_t) ((k + 7) / 8));
	for (int64_t first = 0; first < k; first += length, r.b++)
	{
		const int64_t n = k - first < length ? k - first : length;

		/* poll here, as a short vector is rotated often */
		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "rotation");
		r.version->widen(work, rotation->x, rotation->dim, length);
		if (length < 8)
		{
			rotate_few(&r, signs, first, n);
			continue;
		}
		for (uint32_t t = 0; t < GR_ROTATION_ROUNDS; t++)
			if (!rotate(&r, t))
				return gr_fail(err, GR_CANCELED, 0, "rotation");
		r.version->bits(signs + first / 8, work, n);
	}
	return true;
}
