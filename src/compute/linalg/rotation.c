/* rotation.c: signs of a vector's coordinates after random rotations; see rotation.h. */
#include "compute/linalg/rotation.h"

#include <string.h>

#include "compute/base/philox.h"

#define SIGNS 128				/* signs per call of Philox */
#define POLL_EVERY ((int64_t) 1 << 22)	/* additions between polls */

int64_t
gr_rotation_length(int64_t dim)
{
	int64_t		length = 1;

	while (length < dim)
		length *= 2;
	return length;
}

/* Computes x = D_t x of rotation b. */
static void
flip_signs(double *x, int64_t length, uint64_t seed, uint32_t b, uint32_t t)
{
	for (int64_t from = 0; from < length; from += SIGNS)
	{
		GrPhilox	counter = {{(uint32_t) (from / SIGNS), b, t, GR_ROTATION_TAG}};
		GrPhilox	draw = gr_philox(counter, (uint32_t) seed, (uint32_t) (seed >> 32));
		int64_t		n = length - from < SIGNS ? length - from : SIGNS;

		/* multiplying by 1 or -1 is exact, and avoids an unpredictable branch */
		for (int64_t j = 0; j < n; j++)
			x[from + j] *= 1.0 - 2.0 * (double) (draw.word[j / 32] >> (j % 32) & 1);
	}
}

/* Replaces elements j and j + h of a block of 2 h by their sum and difference. low, high: the halves of the block. */
static void
add_halves(double *restrict low, double *restrict high, int64_t h)
{
	for (int64_t j = 0; j < h; j++)
	{
		double		a = low[j];
		double		b = high[j];

		low[j] = a + b;
		high[j] = a - b;
	}
}

/* Does the stages h = 1, 2 and 4 of eight elements without the overhead of loops. */
static void
add_eight(double *x)
{
	double		y[8];

	for (int j = 0; j < 8; j += 2)
	{
		y[j] = x[j] + x[j + 1];
		y[j + 1] = x[j] - x[j + 1];
	}
	for (int j = 0; j < 2; j++)
	{
		double		low[2] = {y[j] + y[j + 2], y[j] - y[j + 2]};
		double		high[2] = {y[j + 4] + y[j + 6], y[j + 4] - y[j + 6]};

		x[j] = low[0] + high[0];
		x[j + 2] = low[1] + high[1];
		x[j + 4] = low[0] - high[0];
		x[j + 6] = low[1] - high[1];
	}
}

/* Computes x = H x. Returns false if canceled. */
static bool
transform(double *x, int64_t length, const GrHost *host, GrError *err)
{
	int64_t		nadded = 0;

	for (int64_t from = 0; length >= 8 && from < length; from += 8)
	{
		add_eight(x + from);
		if (from % POLL_EVERY == 0 && gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "rotation");
	}
	for (int64_t h = length >= 8 ? 8 : 1; h < length; h *= 2)
		for (int64_t from = 0; from < length; from += 2 * h)
		{
			add_halves(x + from, x + from + h, h);
			nadded += h;
			if (nadded < POLL_EVERY)
				continue;
			nadded = 0;
			if (gr_canceled(host))
				return gr_fail(err, GR_CANCELED, 0, "rotation");
		}
	return true;
}

bool
gr_rotation_signs(const GrRotation *rotation, double *work, uint8_t *signs, const GrHost *host, GrError *err)
{
	const int64_t dim = rotation->dim;
	const int64_t k = rotation->k;
	const int64_t length = gr_rotation_length(dim);

	memset(signs, 0, (size_t) ((k + 7) / 8));
	for (int64_t first = 0; first < k; first += length)
	{
		const int64_t n = k - first < length ? k - first : length;

		/* poll here, as a short vector is rotated often */
		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "rotation");
		for (int64_t j = 0; j < length; j++)
			work[j] = j < dim ? (double) rotation->x[j] : 0.0;
		for (uint32_t t = 0; t < GR_ROTATION_ROUNDS; t++)
		{
			flip_signs(work, length, rotation->seed, (uint32_t) (first / length), t);
			if (!transform(work, length, host, err))
				return false;
		}
		for (int64_t j = 0; j < n; j++)
			if (work[j] > 0)
				signs[(first + j) / 8] |= (uint8_t) (0x80 >> (first + j) % 8);
	}
	return true;
}
