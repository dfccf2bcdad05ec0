/*
 * boot.c: passes of a bootstrap on the CPU, and the solution of replicates; see boot.h.
 *
 * Rows are processed in blocks. For a block, q and its products are computed once; then, for GR_BOOT_LANES replicates
 * at a time, the rows' counts are drawn and multiplied with the products. A product is formed once for all replicates,
 * and a count once for all products.
 */
#include "compute/resample/boot.h"

#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/resample/boot_draw.h"
#include "compute/resample/boot_row.h"
#include "compute/resample/flip_draw.h"

/* products summed at a time, in registers */
#define GR_BOOT_NTILE 6

/* Rows of a block: BLOCK_NROWS, or fewer so that their products stay in the second-level cache. */
#define BLOCK_NROWS 64
#define BLOCK_NROWS_MIN 8
#define BLOCK_NBYTES ((int64_t) 256 << 10)

/* A pivot below this share of its diagonal, or below SINGULAR_PIVOT, is rounding error. */
#define SINGULAR_SHARE 1e-10
#define SINGULAR_PIVOT 1e-20

/* Keys of a round of Philox */
typedef struct BootRound
{
	uint32_t	key0;
	uint32_t	key1;
} BootRound;

/* Kernels for one instruction set */
typedef struct BootVersion
{
	void		(*draw) (double *counts, const int64_t *keys, int n, uint32_t group, const BootRound *rounds);
	void		(*sum) (double *into, size_t pitch, const double *counts, const double *products,
						size_t products_pitch, int n);
	void		(*make) (double *q, const GrBootPass *pass, const double *rows, int n);
} BootVersion;

#define SIMD_TEMPLATE "compute/resample/boot_cpu.h"
#include "compute/base/simd.h"

/*
 * Memory
 */

static int64_t
round_up(int64_t n, int64_t step)
{
	return (n + step - 1) / step * step;
}

/* Workspace of one call of gr_boot_add() */
typedef struct BootWork
{
	const GrBootPass *pass;
	const BootVersion *version;
	GrPoll		poll;
	int			nrows;			/* rows of a block */
	int			nlanes;			/* replicates, rounded up to GR_BOOT_LANES */
	int			nproducts;
	int			products_pitch;
	BootRound	rounds[GR_PHILOX_ROUNDS];
	double	   *q;				/* nrows x (nactive + 1) */
	double	   *products;		/* nrows x products_pitch */
	double	   *counts;			/* nrows x GR_BOOT_LANES */
	double	   *sums;			/* products_pitch x nlanes; replicates in the order of draw() or flip() */
	int64_t    *keys;
	GrPhilox	flips[BLOCK_NROWS]; /* words of a block's rows, where signs are drawn */
} BootWork;

static void
carve_work(BootWork *work, const GrBootPass *pass, GrArena *arena)
{
	int64_t		nproducts = gr_boot_nproducts(pass->nactive);
	int64_t		pitch = round_up(nproducts, GR_BOOT_NTILE);
	int64_t		nrows = pitch == 0 ? BLOCK_NROWS : BLOCK_NBYTES / ((int64_t) sizeof(double) * pitch);
	int64_t		nlanes = round_up(pass->nreps, GR_BOOT_LANES);

	nrows = nrows > BLOCK_NROWS ? BLOCK_NROWS : nrows < BLOCK_NROWS_MIN ? BLOCK_NROWS_MIN : nrows;
	work->pass = pass;
	work->nrows = (int) nrows;
	work->nlanes = (int) nlanes;
	work->nproducts = (int) nproducts;
	work->products_pitch = (int) pitch;
	work->q = gr_carve_doubles(arena, nrows * (pass->nactive + 1));
	work->products = gr_carve_doubles(arena, pass->nreps == 0 ? 0 : nrows * pitch);
	work->counts = gr_carve_doubles(arena, pass->nreps == 0 ? 0 : nrows * GR_BOOT_LANES);
	work->sums = gr_carve_doubles(arena, pitch * nlanes);
	work->keys = gr_carve(arena, (size_t) nrows * sizeof(int64_t));
}

size_t
gr_boot_scratch_nbytes(const GrBootPass *pass)
{
	BootWork	work;
	GrArena		arena = {.base = NULL};

	carve_work(&work, pass, &arena);
	return arena.used;
}

int
gr_boot_reps_a_pass(int nactive, int nreps, size_t nbytes)
{
	size_t		rep_nbytes = (size_t) gr_boot_nproducts(nactive) * sizeof(double);
	size_t		fits = rep_nbytes == 0 ? (size_t) nreps : nbytes / rep_nbytes;

	if (fits >= (size_t) nreps)
		return nreps;
	fits = fits / GR_BOOT_LANES * GR_BOOT_LANES;
	return fits == 0 ? (nreps < GR_BOOT_LANES ? nreps : GR_BOOT_LANES) : (int) fits;
}

int
gr_boot_factor(const double *triangle, int nterms, double *factor)
{
	int			nactive = 0;

	for (int i = 0; i < nterms; triangle += ++i)
	{
		double	   *line = factor + (size_t) nactive * nterms;

		if (triangle[i] == 0.0)
			continue;
		memset(line, 0, (size_t) nterms * sizeof(double));
		memcpy(line, triangle, (size_t) (i + 1) * sizeof(double));
		nactive++;
	}
	return nactive;
}

/*
 * Passes
 */

/* Computes the products of each row's q, and of q and v, padded with zeros to products_pitch. */
static void
multiply(const BootWork *work, int n)
{
	int			nactive = work->pass->nactive;

	for (int r = 0; r < n; r++)
	{
		const double *q = work->q + (size_t) r * (nactive + 1);
		double	   *product = work->products + (size_t) r * work->products_pitch;

		for (int i = 0; i <= nactive; i++)
			for (int j = 0; j <= i && j < nactive; j++)
				*product++ = q[i] * q[j];
		for (int k = work->nproducts; k < work->products_pitch; k++)
			*product++ = 0.0;
	}
}

/* signs[bits][i] is the factor that bit i of four bits stands for. */
#define SIGN(bits, i) ((bits) >> (i) & 1 ? -1.0 : 1.0)
#define SIGNS(bits) {SIGN(bits, 0), SIGN(bits, 1), SIGN(bits, 2), SIGN(bits, 3)}
static const double signs[16][4] = {
	SIGNS(0), SIGNS(1), SIGNS(2), SIGNS(3), SIGNS(4), SIGNS(5), SIGNS(6), SIGNS(7), SIGNS(8), SIGNS(9), SIGNS(10),
	SIGNS(11), SIGNS(12), SIGNS(13), SIGNS(14), SIGNS(15)
};

/*
 * Draws the signs of n rows in GR_BOOT_LANES of the pass's replicates, from first (a multiple of GR_BOOT_LANES) on, in
 * order. The words of a call of Philox, kept in work->flips, serve several such groups.
 */
static void
flip(BootWork *work, int n, int first)
{
	const GrBootPass *pass = work->pass;
	int64_t		number = pass->first + first;
	int			at = (int) (number % GR_FLIP_DRAWS / GR_FLIP_WORD_DRAWS);
	double	   *counts = work->counts;

	if (first == 0 || at == 0)
		for (int r = 0; r < n; r++)
			work->flips[r] = gr_flip_words(pass->seed, work->keys[r], (uint32_t) (number / GR_FLIP_DRAWS));
	for (int r = 0; r < n; r++, counts += GR_BOOT_LANES)
	{
		uint32_t	word = work->flips[r].word[at];

		for (int i = 0; i < GR_BOOT_LANES / 4; i++)
			memcpy(counts + (size_t) 4 * i, signs[word >> (4 * i) & 15], sizeof(signs[0]));
	}
}

/* Adds a block of n rows. Returns false if canceled. */
static bool
add_block(BootWork *work, const double *rows, int n)
{
	const GrBootPass *pass = work->pass;
	int			ncols = gr_row_ncols(pass->shape);

	work->version->make(work->q, pass, rows, n);
	multiply(work, n);
	for (int r = 0; r < n; r++)
		work->keys[r] = gr_boot_key_of(pass->shape, rows + (size_t) r * ncols);
	for (int first = 0; first < work->nlanes; first += GR_BOOT_LANES)
	{
		if (pass->flips)
			flip(work, n, first);
		else
			work->version->draw(work->counts, work->keys, n, (uint32_t) ((pass->first + first) / 4), work->rounds);
		for (int k = 0; k < work->products_pitch; k += GR_BOOT_NTILE)
			work->version->sum(work->sums + (size_t) k * work->nlanes + first, (size_t) work->nlanes, work->counts,
							   work->products + k, (size_t) work->products_pitch, n);
		if (gr_poll(&work->poll, (int64_t) n * (work->products_pitch + 64) * 4))
			return false;
	}
	return true;
}

/* Adds the blocks' sums to sums, and reorders the replicates. */
static void
take_sums(const BootWork *work, double *sums)
{
	int			nreps = work->pass->nreps;

	for (int k = 0; k < work->nproducts; k++)
	{
		const double *from = work->sums + (size_t) k * work->nlanes;
		double	   *into = sums + GR_BOOT_HEAD + (size_t) k * nreps;

		for (int r = 0; r < nreps; r++)
		{
			int			drawn = r / GR_BOOT_LANES * GR_BOOT_LANES + r % 4 * 8 + r % GR_BOOT_LANES / 4;

			into[r] += from[work->pass->flips ? r : drawn];
		}
	}
}

/* Adds the squares and cubes of a block's influence values to sums. Returns false if canceled. */
static bool
add_influence(BootWork *work, double *sums, int n)
{
	const GrBootPass *pass = work->pass;
	double	   *squares = sums + GR_BOOT_HEAD;
	double	   *cubes = squares + pass->ninfluence;

	for (int r = 0; r < n; r++)
	{
		const double *q = work->q + (size_t) r * (pass->nactive + 1);

		for (int i = 0; i < pass->ninfluence; i++)
		{
			const double *line = pass->influence + (size_t) i * pass->nactive;
			double		value = 0.0;

			for (int j = 0; j < pass->nactive; j++)
				value += line[j] * q[j];
			value *= q[pass->nactive];
			squares[i] += value * value;
			cubes[i] += value * value * value;
		}
		if (gr_poll(&work->poll, (int64_t) pass->ninfluence * pass->nactive))
			return false;
	}
	return true;
}

/*
 * Adds a block's rows to replicate r, at its own coefficients. q holds a row's B z and, last, its linear predictor at
 * beta. Rows with a count of 0 are skipped.
 */
static void
add_own(BootWork *work, int r, const double *rows, int n, double *sums)
{
	const GrBootPass *pass = work->pass;
	int			nactive = pass->nactive;
	int			triangle = (int) gr_triangle(nactive);
	int			ncols = gr_row_ncols(pass->shape);
	const double *step = pass->steps + (size_t) r * (size_t) nactive;
	const double *count = work->counts + r % 4 * 8 + r % GR_BOOT_LANES / 4;
	double	   *own = work->sums;

	memset(own, 0, (size_t) work->nproducts * sizeof(double));
	for (int k = 0; k < n; k++, rows += ncols, count += GR_BOOT_LANES)
	{
		const double *q = work->q + (size_t) k * (size_t) (nactive + 1);
		const double *product = work->products + (size_t) k * (size_t) work->products_pitch;
		double		eta = q[nactive];
		GrGlmRow	made;
		double		factor;

		if (*count == 0.0)
			continue;
		for (int i = 0; i < nactive; i++)
			eta += q[i] * step[i];
		made = gr_glm_row(pass->distribution, eta, gr_row_response(rows, pass->shape),
						  gr_row_weight(rows, pass->shape));
		factor = *count * made.u * made.u;
		for (int i = 0; i < triangle; i++)
			own[i] += factor * product[i];
		factor = *count * made.u * made.v;
		for (int i = 0; i < nactive; i++)
			own[triangle + i] += factor * q[i];
	}
	for (int k = 0; k < work->nproducts; k++)
		sums[GR_BOOT_HEAD + (size_t) k * (size_t) pass->nreps + (size_t) r] += own[k];
}

/* Returns the linear predictor at beta: the terms' sum rounded once, then the offset added. */
static double
predictor_of(const GrBootPass *pass, const double *row)
{
	GrDot		dot = {pass->beta[0], pass->beta_lo[0]};

	for (int j = 0; j < pass->shape.nfeatures; j++)
	{
		double		z = row[j] - pass->shift[j];

		gr_dot_add(&dot, pass->beta[j + 1], z);
		dot.rest += pass->beta_lo[j + 1] * z;
	}
	return dot.sum + dot.rest + gr_row_offset(row, pass->shape);
}

/*
 * Adds a block of n rows to replicates with steps. The products of q with its last entry are computed, but not used.
 * Returns false if canceled.
 */
static bool
add_block_stepped(BootWork *work, double *sums, const double *rows, int n)
{
	const GrBootPass *pass = work->pass;
	int			ncols = gr_row_ncols(pass->shape);
	int			t = gr_nterms(pass->shape.nfeatures);

	for (int r = 0; r < n; r++)
	{
		const double *row = rows + (size_t) r * (size_t) ncols;
		double	   *z = work->q + (size_t) r * (size_t) (pass->nactive + 1);

		work->keys[r] = gr_boot_key_of(pass->shape, row);
		for (int i = 0; i < pass->nactive; i++)
			z[i] = gr_boot_entry(pass->factor + (size_t) i * (size_t) t, 1.0, pass->shape, row, pass->shift);
		z[pass->nactive] = predictor_of(pass, row);
	}
	multiply(work, n);
	for (int first = 0; first < work->nlanes; first += GR_BOOT_LANES)
	{
		work->version->draw(work->counts, work->keys, n, (uint32_t) ((pass->first + first) / 4), work->rounds);
		for (int r = first; r < first + GR_BOOT_LANES && r < pass->nreps; r++)
		{
			if (isnan(pass->steps[(size_t) r * (size_t) pass->nactive]))
				continue;
			add_own(work, r, rows, n, sums);
			if (gr_poll(&work->poll, (int64_t) n * (work->nproducts + 30)))
				return false;
		}
	}
	return true;
}

bool
gr_boot_add_lanes(const GrBootPass *pass, double *sums, const double *rows, int64_t nrows, void *scratch,
				  const GrHost *host, int max_lanes)
{
	BootWork	work = {.poll = {.host = host}};
	GrArena		arena = {.base = scratch};
	uint32_t	key0 = (uint32_t) pass->seed;
	uint32_t	key1 = (uint32_t) (pass->seed >> 32);

	carve_work(&work, pass, &arena);
	work.version = SIMD_CHOOSE(version, max_lanes);
	for (int round = 0; round < GR_PHILOX_ROUNDS; round++, key0 += GR_PHILOX_W0, key1 += GR_PHILOX_W1)
		work.rounds[round] = (BootRound) {key0, key1};
	if (pass->nreps > 0)
		memset(work.sums, 0, (size_t) work.products_pitch * (size_t) work.nlanes * sizeof(double));
	for (int64_t done = 0; done < nrows; done += work.nrows)
	{
		int			n = nrows - done < work.nrows ? (int) (nrows - done) : work.nrows;
		const double *block = rows + done * gr_row_ncols(pass->shape);

		if (pass->steps != NULL && !add_block_stepped(&work, sums, block, n))
			return false;
		if (pass->nreps > 0 && pass->steps == NULL && !add_block(&work, block, n))
			return false;
		if (pass->nreps > 0)
			continue;
		work.version->make(work.q, pass, block, n);
		if (!add_influence(&work, sums, n))
			return false;
	}
	if (pass->nreps > 0 && pass->steps == NULL)
		take_sums(&work, sums);
	sums[0] += (double) nrows;
	return true;
}

bool
gr_boot_add(const GrBootPass *pass, double *sums, const double *rows, int64_t nrows, void *scratch,
			const GrHost *host)
{
	return gr_boot_add_lanes(pass, sums, rows, nrows, scratch, host, 8);
}

/*
 * Replicates
 */

bool
gr_boot_solve(const GrBootPass *pass, const double *sums, int r, double *delta, double *work)
{
	int			n = pass->nactive;
	int			t = gr_nterms(pass->shape.nfeatures);
	const double *at = sums + GR_BOOT_HEAD + r;
	double	   *lower = work;	/* n x n: Cholesky factor of G */
	double	   *x = work + (size_t) n * n;

	/* row n is h: the factorization turns it into the solution of the lower triangle */
	for (int i = 0; i <= n; i++)
	{
		double	   *line = i < n ? lower + (size_t) i * n : x;

		for (int j = 0; j <= i && j < n; j++, at += pass->nreps)
		{
			double		sum = *at;

			for (int k = 0; k < j; k++)
				sum -= line[k] * lower[(size_t) j * n + k];
			if (i > j)
				line[j] = sum / lower[(size_t) j * n + j];
			else if (sum > SINGULAR_SHARE * *at && sum > SINGULAR_PIVOT)
				line[j] = sqrt(sum);
			else
				return false;
		}
	}
	memset(delta, 0, (size_t) t * sizeof(double));
	for (int i = n - 1; i >= 0; i--)
	{
		const double *line = pass->factor + (size_t) i * t;

		for (int k = i + 1; k < n; k++)
			x[i] -= lower[(size_t) k * n + i] * x[k];
		x[i] /= lower[(size_t) i * n + i];
		for (int j = 0; j < t; j++)
			delta[j] += x[i] * line[j];
	}
	return true;
}
