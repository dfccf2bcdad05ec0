/*
 * wild.c: the wild cluster bootstrap of a coefficient; see wild.h.
 *
 * A replicate needs sums over clusters of v_g times 4 k numbers: q, u, q_k u and u_k u; with weights other than signs
 * also of v_g^2 times three numbers. For each group of a few clusters, a table holds these sums for all combinations of
 * weights, as in the method of the four Russians (Arlazarov, Dinic, Kronrod and Faradzev 1970): a replicate adds one
 * row of each table.
 *
 * S is a sum of squares, but is computed as a difference of such sums. If that loses digits, or if there are few
 * clusters, S is summed directly.
 */
#include "compute/resample/wild.h"

#include <math.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/base/dd.h"
#include "compute/resample/wild_draw.h"

/* Counters of Philox that run together */
#define GR_WILD_LANES 8

/* Replicates of a block; a multiple of those of a call of Philox */
#define GR_WILD_DRAWS 512

/* Most words of a cluster for a block */
#define BLOCK_WORDS_MAX (4 * GR_WILD_DRAWS / GR_WILD_WEBB_DRAWS)

/* Tables added at a time: a replicate's sums are then read and written once for all of them */
#define GR_WILD_NTABLES 6

/* Most clusters of a table: 2^4 or 6^2 rows, so that the tables stay in the first-level cache */
#define GR_WILD_GROUP_MAX 4
#define ENTRIES_MAX 36

/* Up to this many clusters S is summed directly. */
#define DIRECT_CLUSTERS 64

/* S below this share of the terms of its difference is summed directly. */
#define LOST_DIGITS 1e-4

/* A |t| that is smaller than the data's by less than this share counts as a tie. */
#define TIE 1e-11

/* A replicate whose d and root of S are below this share of the residuals has no t. */
#define NO_CHANGE 1e-12

/*
 * Search for a limit: the first step, the growth of steps and the farthest point, in standard errors; then bisections
 */
#define FIRST_STEP 0.5
#define STEP_GROWTH 1.25
#define FARTHEST 1e6
#define BISECTIONS 42

static const double signs[] = {1, -1};
static const double square_signs[] = {1, 1};
static const double webb[] = {
	-1.2247448713915890, -1, -0.70710678118654757, 0.70710678118654757, 1, 1.2247448713915890
};
static const double square_webb[] = {1.5, 1, 0.5, 0.5, 1, 1.5};

/* Properties of a kind of weights */
typedef struct Weights
{
	const char *name;
	int			nweights;
	const double *weight;
	const double *square;
	int			group;			/* clusters of a table */
	int			draws;			/* replicates per call of Philox */
} Weights;

static const Weights all_weights[] = {
	[GR_WILD_RADEMACHER] = {"rademacher", 2, signs, square_signs, 4, GR_WILD_RADEMACHER_DRAWS},
	[GR_WILD_WEBB] = {"webb", 6, webb, square_webb, 2, GR_WILD_WEBB_DRAWS}
};

/*
 * Kernels
 */

typedef struct Kernels
{
	void		(*philox) (uint64_t counter[4][GR_WILD_LANES], uint64_t seed);
	void		(*make_table) (double *table, int nentries, const double *rows, int n, int ncols, int pitch,
							   const double *weights, int nweights);
	void		(*add_tables) (double *sums, const double *tables, int64_t table_size, const uint8_t *index, int ndraws,
							   int ncols);
	int64_t		(*count_extreme) (const double *const *replicates, int64_t n, double theta, double squares,
								double bound, double least);
} Kernels;

#define SIMD_TEMPLATE "compute/resample/wild_cpu.h"
#include "compute/base/simd.h"

/*
 * Weights
 */

bool
gr_wild_weights_named(const char *name, GrWildWeights *weights)
{
	for (int k = 0; k < (int) (sizeof(all_weights) / sizeof(all_weights[0])); k++)
	{
		const char *a = name;
		const char *b = all_weights[k].name;

		while (*a != '\0' && (*a == *b || (*a >= 'A' && *a <= 'Z' && *a - 'A' + 'a' == *b)))
			a++, b++;
		*weights = (GrWildWeights) k;
		if (*a == *b)
			return true;
	}
	return false;
}

/* True if all vectors of signs are at most as many as the replicates requested. */
static bool
can_enumerate(const GrWild *wild)
{
	return wild->weights == GR_WILD_RADEMACHER && wild->nclusters < 40 && (INT64_C(1) << wild->nclusters) <= wild->reps;
}

int64_t
gr_wild_reps(const GrWild *wild)
{
	return can_enumerate(wild) ? INT64_C(1) << wild->nclusters : wild->reps;
}

/* Spreads eight bits to eight bytes, the lowest bit first in memory. */
static inline uint64_t
spread(uint64_t byte)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	uint64_t	bits = byte * UINT64_C(0x0101010101010101) & UINT64_C(0x0102040810204080);
#else
	uint64_t	bits = byte * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
#endif

	return (bits + UINT64_C(0x7F7F7F7F7F7F7F7F)) >> 7 & UINT64_C(0x0101010101010101);
}

/* Returns one cluster's weight in replicate r. */
static double
weight_of(const GrWild *wild, int64_t cluster, int64_t r)
{
	GrPhilox	words;

	if (wild->enumerated)
		return signs[r >> cluster & 1];
	if (wild->weights == GR_WILD_WEBB)
	{
		words = gr_wild_words(wild->seed, wild->keys[cluster], (uint32_t) (r / GR_WILD_WEBB_DRAWS), GR_WILD_WEBB_TAG);
		return webb[gr_wild_webb_digit(words.word[r % GR_WILD_WEBB_DRAWS / 4], (int) (r % 4))];
	}
	words = gr_wild_words(wild->seed, wild->keys[cluster], (uint32_t) (r / GR_WILD_RADEMACHER_DRAWS),
						  GR_WILD_RADEMACHER_TAG);
	return signs[words.word[r % GR_WILD_RADEMACHER_DRAWS / 32] >> (r % 32) & 1];
}

/*
 * Memory
 */

typedef struct Work
{
	const GrWild *wild;
	const Kernels *kernels;
	const Weights *weights;
	int			nmain;			/* numbers of a row that are multiplied by v_g, rounded up to 8 */
	int			ncols;			/* nmain, plus 8 for numbers multiplied by v_g^2 */
	int			batch;			/* clusters of all tables together */
	double	   *sums;			/* GR_WILD_DRAWS x ncols */
	double	   *tables;			/* GR_WILD_NTABLES x ENTRIES_MAX x ncols */
	double	   *rows;			/* batch x ncols */
	double	   *hat;			/* k x k: sum of u u' */
	double	   *d0;				/* k, as are d1, hat_d0, hat_d1 */
	double	   *d1;
	double	   *hat_d0;
	double	   *hat_d1;
	double		squares[3];		/* sums of q_k^2, q_k u_k, u_k^2 */
	uint32_t   *words;			/* words of Philox for a block, per cluster; at most DIRECT_CLUSTERS clusters */
	uint8_t    *digits;			/* DIRECT_CLUSTERS x GR_WILD_DRAWS */
	uint8_t    *index;			/* GR_WILD_NTABLES x GR_WILD_DRAWS */
} Work;

static int
round_up(int n)
{
	return (n + 7) / 8 * 8;
}

static void
carve_work(Work *work, int nterms, const Weights *weights, GrArena *arena)
{
	int64_t		k = nterms;

	work->weights = weights;
	work->nmain = round_up(4 * nterms);
	work->ncols = work->nmain + (weights == &all_weights[GR_WILD_RADEMACHER] ? 0 : 8);
	work->batch = GR_WILD_NTABLES * weights->group;
	work->sums = gr_carve_doubles(arena, (int64_t) GR_WILD_DRAWS * work->ncols);
	work->tables = gr_carve_doubles(arena, (int64_t) GR_WILD_NTABLES * ENTRIES_MAX * work->ncols);
	work->rows = gr_carve_doubles(arena, (int64_t) work->batch * work->ncols);
	work->hat = gr_carve_doubles(arena, k * k);
	work->d0 = gr_carve_doubles(arena, k);
	work->d1 = gr_carve_doubles(arena, k);
	work->hat_d0 = gr_carve_doubles(arena, k);
	work->hat_d1 = gr_carve_doubles(arena, k);
	work->words = gr_carve(arena, DIRECT_CLUSTERS * BLOCK_WORDS_MAX * sizeof(uint32_t));
	work->digits = gr_carve(arena, DIRECT_CLUSTERS * GR_WILD_DRAWS);
	work->index = gr_carve(arena, GR_WILD_NTABLES * GR_WILD_DRAWS);
}

/* Returns what the kind of weights with the largest workspace needs. */
size_t
gr_wild_workspace_nbytes(int nterms)
{
	size_t		nbytes = 0;

	for (size_t i = 0; i < sizeof(all_weights) / sizeof(all_weights[0]); i++)
	{
		Work		work;
		GrArena		arena = {.base = NULL};

		carve_work(&work, nterms, &all_weights[i], &arena);
		nbytes = arena.used > nbytes ? arena.used : nbytes;
	}
	return nbytes;
}

/*
 * Replicates
 */

/* Draws the words of n <= DIRECT_CLUSTERS clusters for the block from replicate first on. */
static void
draw_words(const Work *work, int64_t first_cluster, int n, int64_t first)
{
	const GrWild *wild = work->wild;
	uint32_t	tag = wild->weights == GR_WILD_WEBB ? GR_WILD_WEBB_TAG : GR_WILD_RADEMACHER_TAG;
	int			draws = work->weights->draws;
	int			ncalls = GR_WILD_DRAWS / draws;
	uint64_t	counter[4][GR_WILD_LANES];

	for (int call = 0; call < n * ncalls; call += GR_WILD_LANES)
	{
		for (int l = 0; l < GR_WILD_LANES; l++)
		{
			int			g = (call + l) / ncalls < n ? (call + l) / ncalls : n - 1;
			uint64_t	key = (uint64_t) wild->keys[first_cluster + g];

			counter[0][l] = (uint32_t) key;
			counter[1][l] = key >> 32;
			counter[2][l] = (uint64_t) (first / draws + (call + l) % ncalls);
			counter[3][l] = tag;
		}
		work->kernels->philox(counter, wild->seed);
		for (int l = 0; l < GR_WILD_LANES && call + l < n * ncalls; l++)
			for (int i = 0; i < 4; i++)
				work->words[4 * (call + l) + i] = (uint32_t) counter[i][l];
	}
}

/* Writes the number of the weight that a cluster, whose words were drawn, has in each replicate of the block. */
static void
fill_digits(const Work *work, int cluster, uint8_t *digits)
{
	int			nwords = 4 * GR_WILD_DRAWS / work->weights->draws;
	const uint32_t *words = work->words + (int64_t) cluster * nwords;

	if (work->weights->nweights == 2)
	{
		for (int w = 0; w < nwords; w++)
			for (int i = 0; i < 4; i++, digits += 8)
			{
				uint64_t	bytes = spread(words[w] >> (8 * i) & 0xFF);

				memcpy(digits, &bytes, sizeof(bytes));
			}
		return;
	}
	for (int w = 0; w < nwords; w++)
	{
		uint32_t	word = words[w];

		for (int i = 0; i < 4; i++, word *= 6)
			*digits++ = (uint8_t) ((UINT64_C(6) * word) >> 32);
	}
}

/* Stores the five numbers of replicate r. */
static void
set_replicate(GrWild *wild, int64_t r, double d0, double d1, double s0, double s1, double s2)
{
	int64_t		pitch = gr_wild_pitch(wild->reps);
	double	   *into = wild->replicates + r;

	into[0] = d0;
	into[pitch] = d1;
	into[2 * pitch] = s0;
	into[3 * pitch] = s1;
	into[4 * pitch] = s2;
}

/*
 * Computes the five numbers of replicate r (GrWild.replicates), with S summed cluster by cluster instead of as a
 * difference of sums, which may lose digits. digits: numbers of the clusters' weights in r, GR_WILD_DRAWS apart; NULL:
 * the weights are drawn. Returns false if canceled.
 */
static bool
sum_directly(GrWild *wild, Work *work, int64_t r, const uint8_t *digits, GrPoll *poll)
{
	int			k = wild->nterms;
	double		s[3] = {0, 0, 0};
	double		common = NAN;	/* the weight of all clusters if it is the same, else NaN */

	if (gr_poll(poll, wild->nclusters * (4 * k + 20)))
		return false;
	memset(work->d0, 0, (size_t) k * sizeof(double));
	memset(work->d1, 0, (size_t) k * sizeof(double));
	for (int turn = 0; turn < 2; turn++)
		for (int64_t g = 0; g < wild->nclusters; g++)
		{
			double		v = digits != NULL ? work->weights->weight[digits[g * GR_WILD_DRAWS]] : weight_of(wild, g, r);
			const double *q = wild->q + g * k;
			const double *u = wild->u + g * k;
			double		r0 = v * q[k - 1];
			double		r1 = v * u[k - 1];

			if (turn == 0)
			{
				common = g == 0 || v == common ? v : NAN;
				for (int i = 0; i < k; i++)
				{
					work->d0[i] += v * q[i];
					work->d1[i] += v * u[i];
				}
				continue;
			}
			for (int i = 0; i < k; i++)
			{
				r0 -= u[i] * work->d0[i];
				r1 -= u[i] * work->d1[i];
			}
			s[0] += r0 * r0;
			s[1] += r0 * r1;
			s[2] += r1 * r1;
		}
	/*
	 * With equal weights, scores sum to 0 and columns of K to a unit vector, so |t| equals the data's for every null:
	 * rounding must not decide.
	 */
	if (!isnan(common))
		set_replicate(wild, r, 0, common, common * common * wild->squares, 0, 0);
	else
		set_replicate(wild, r, work->d0[k - 1], work->d1[k - 1], s[0], s[1], s[2]);
	return true;
}

/* Computes a block of replicates of few clusters directly. Returns false if canceled. */
static bool
run_directly(GrWild *wild, Work *work, int64_t first, int ndraws, GrPoll *poll)
{
	if (!wild->enumerated)
		draw_words(work, 0, (int) wild->nclusters, first);
	for (int g = 0; g < wild->nclusters; g++)
	{
		uint8_t    *digits = work->digits + g * GR_WILD_DRAWS;

		if (!wild->enumerated)
			fill_digits(work, g, digits);
		else
			for (int r = 0; r < ndraws; r++)
				digits[r] = (uint8_t) ((first + r) >> g & 1);
	}
	for (int r = 0; r < ndraws; r++)
		if (!sum_directly(wild, work, first + r, work->digits + r, poll))
			return false;
	return true;
}

/* Fills rows with the numbers of clusters first .. first + n - 1, and zeros for the rest of the batch. */
static void
fill_rows(Work *work, int64_t first, int n)
{
	const GrWild *wild = work->wild;
	int			k = wild->nterms;

	memset(work->rows, 0, (size_t) work->batch * (size_t) work->ncols * sizeof(double));
	for (int g = 0; g < n; g++)
	{
		const double *q = wild->q + (first + g) * k;
		const double *u = wild->u + (first + g) * k;
		double	   *row = work->rows + (int64_t) g * work->ncols;

		for (int i = 0; i < k; i++)
		{
			row[i] = q[i];
			row[k + i] = u[i];
			row[2 * k + i] = q[k - 1] * u[i];
			row[3 * k + i] = u[k - 1] * u[i];
		}
		if (work->ncols == work->nmain)
			continue;
		row[work->nmain] = q[k - 1] * q[k - 1];
		row[work->nmain + 1] = q[k - 1] * u[k - 1];
		row[work->nmain + 2] = u[k - 1] * u[k - 1];
	}
}

/* Adds a batch of n clusters to the sums of a block's replicates. */
static void
add_batch(Work *work, int64_t first_cluster, int n, int64_t first)
{
	const Weights *weights = work->weights;
	int			group = weights->group;
	int64_t		table_size = (int64_t) ENTRIES_MAX * work->ncols;
	int			nentries = weights->nweights == 2 ? 16 : ENTRIES_MAX;

	fill_rows(work, first_cluster, n);
	draw_words(work, first_cluster, n, first);
	memset(work->index, 0, GR_WILD_NTABLES * GR_WILD_DRAWS);
	for (int t = 0; t < GR_WILD_NTABLES; t++)
	{
		double	   *table = work->tables + t * table_size;
		const double *rows = work->rows + (int64_t) t * group * work->ncols;

		work->kernels->make_table(table, nentries, rows, group, work->nmain, work->ncols, weights->weight,
								  weights->nweights);
		if (work->ncols > work->nmain)
			work->kernels->make_table(table + work->nmain, nentries, rows + work->nmain, group,
									  work->ncols - work->nmain, work->ncols, weights->square, weights->nweights);
		/* the last cluster is the highest digit; eight indexes at a time, as bytes that do not overflow */
		for (int i = group - 1; i >= 0; i--)
		{
			uint8_t    *index = work->index + t * GR_WILD_DRAWS;

			if (t * group + i >= n)
				continue;
			fill_digits(work, t * group + i, work->digits);
			for (int r = 0; r < GR_WILD_DRAWS; r += 8)
			{
				uint64_t	bytes;
				uint64_t	more;

				memcpy(&bytes, index + r, sizeof(bytes));
				memcpy(&more, work->digits + r, sizeof(more));
				bytes = bytes * (uint64_t) weights->nweights + more;
				memcpy(index + r, &bytes, sizeof(bytes));
			}
		}
	}
	work->kernels->add_tables(work->sums, work->tables, table_size, work->index, GR_WILD_DRAWS, work->ncols);
}

static double
dot(const double *a, const double *b, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Computes replicate r from its sums. Returns false if canceled. */
static bool
finish_replicate(GrWild *wild, Work *work, const double *sums, int64_t r, GrPoll *poll)
{
	int			k = wild->nterms;
	const double *d0 = sums;
	const double *d1 = sums + k;
	const double *e0 = sums + 2 * k;
	const double *e1 = sums + 3 * k;
	const double *f = work->ncols == work->nmain ? work->squares : sums + work->nmain;
	double		s0;
	double		s1;
	double		s2;

	for (int i = 0; i < k; i++)
	{
		work->hat_d0[i] = dot(work->hat + (int64_t) i * k, d0, k);
		work->hat_d1[i] = dot(work->hat + (int64_t) i * k, d1, k);
	}
	s0 = f[0] - 2 * dot(d0, e0, k) + dot(d0, work->hat_d0, k);
	s1 = f[1] - dot(d0, e1, k) - dot(d1, e0, k) + dot(d0, work->hat_d1, k);
	s2 = f[2] - 2 * dot(d1, e1, k) + dot(d1, work->hat_d1, k);
	if (!(s0 > LOST_DIGITS * f[0] && s2 > LOST_DIGITS * f[2]))
		return sum_directly(wild, work, r, NULL, poll);
	set_replicate(wild, r, d0[k - 1], d1[k - 1], s0, s1, s2);
	return true;
}

/* Computes a block of replicates by tables. Returns false if canceled. */
static bool
run_by_tables(GrWild *wild, Work *work, int64_t first, int ndraws, GrPoll *poll)
{
	memset(work->sums, 0, GR_WILD_DRAWS * (size_t) work->ncols * sizeof(double));
	for (int64_t g = 0; g < wild->nclusters; g += work->batch)
	{
		int64_t		left = wild->nclusters - g;

		if (gr_poll(poll, (int64_t) GR_WILD_DRAWS * work->ncols))
			return false;
		add_batch(work, g, (int) (left < work->batch ? left : work->batch), first);
	}
	for (int r = 0; r < ndraws; r++)
	{
		if (gr_poll(poll, 2 * (int64_t) wild->nterms * wild->nterms))
			return false;
		if (!finish_replicate(wild, work, work->sums + (int64_t) r * work->ncols, first + r, poll))
			return false;
	}
	return true;
}

/* Computes what all replicates share: W, sums of squares and products, and of u u'. Returns false if canceled. */
static bool
sum_clusters(GrWild *wild, Work *work, GrPoll *poll)
{
	int			k = wild->nterms;

	memset(work->hat, 0, (size_t) k * (size_t) k * sizeof(double));
	memset(work->squares, 0, sizeof(work->squares));
	for (int64_t g = 0; g < wild->nclusters; g++)
	{
		const double *u = wild->u + g * k;
		double		qk = wild->q[g * k + k - 1];

		if (gr_poll(poll, (int64_t) k * k))
			return false;
		for (int i = 0; i < k; i++)
			for (int j = 0; j < k; j++)
				work->hat[(int64_t) i * k + j] += u[i] * u[j];
		work->squares[0] += qk * qk;
		work->squares[1] += qk * u[k - 1];
		work->squares[2] += u[k - 1] * u[k - 1];
	}
	wild->squares = work->squares[0];
	return true;
}

bool
gr_wild_run(GrWild *wild, void *workspace, int max_lanes, const GrHost *host, GrError *err)
{
	GrPoll		poll = {.host = host};
	GrArena		arena = {.base = workspace};
	Work		work = {.wild = wild,.kernels = SIMD_CHOOSE(kernels, max_lanes)};
	bool		ok;

	wild->enumerated = can_enumerate(wild);
	wild->reps = gr_wild_reps(wild);
	carve_work(&work, wild->nterms, &all_weights[wild->weights], &arena);
	memset(wild->replicates, 0, 5 * (size_t) gr_wild_pitch(wild->reps) * sizeof(double));
	/* padding replicates are never extreme */
	for (int64_t r = wild->reps; r < gr_wild_pitch(wild->reps); r++)
		set_replicate(wild, r, 0, 0, INFINITY, 0, 0);
	ok = sum_clusters(wild, &work, &poll);
	for (int64_t first = 0; ok && first < wild->reps; first += GR_WILD_DRAWS)
	{
		int			ndraws = wild->reps - first < GR_WILD_DRAWS ? (int) (wild->reps - first) : GR_WILD_DRAWS;

		ok = wild->nclusters <= DIRECT_CLUSTERS ? run_directly(wild, &work, first, ndraws, &poll) :
			run_by_tables(wild, &work, first, ndraws, &poll);
	}
	return ok || gr_fail(err, GR_CANCELED, 0, "wild bootstrap");
}

/*
 * P-values and limits
 */

/* Returns the replicates whose |t| is at least the data's, or unknown as d and S are rounding error. */
static int64_t
count_extreme(const GrWild *wild, double theta)
{
	int64_t		pitch = gr_wild_pitch(wild->reps);
	const double *replicates[5];
	double		w = wild->squares;

	for (int i = 0; i < 5; i++)
		replicates[i] = wild->replicates + i * pitch;
	return SIMD_CHOOSE(kernels, 8)->count_extreme(replicates, pitch, theta, w, theta * theta * (1 - TIE) * (1 - TIE),
										  NO_CHANGE * NO_CHANGE * w * w);
}

/* Returns the p-value of a null. Where weights are drawn, the data count as one more replicate. */
static double
share_of(const GrWild *wild, double theta)
{
	double		n = (double) count_extreme(wild, theta);

	return wild->enumerated ? n / (double) wild->reps : (1 + n) / (1 + (double) wild->reps);
}

double
gr_wild_p_value(const GrWild *wild, double theta)
{
	if (!(wild->squares > 0) || !isfinite(theta))
		return NAN;
	return share_of(wild, theta);
}

bool
gr_wild_limit(const GrWild *wild, double alpha, int sign, double scale, double *limit, const GrHost *host)
{
	/* a p-value of alpha, up to rounding, is not above alpha */
	double		least = alpha * (1 + 1e-12);
	double		inside = 0;
	double		outside = FIRST_STEP;
	double		step = FIRST_STEP;
	GrPoll		poll = {.host = host};

	*limit = sign * (double) INFINITY;
	while (share_of(wild, sign * outside * scale) > least)
	{
		inside = outside;
		step *= STEP_GROWTH;
		outside += step;
		if (outside > FARTHEST)
			return true;
		if (gr_poll(&poll, 2 * wild->reps))
			return false;
	}
	for (int i = 0; i < BISECTIONS; i++)
	{
		double		middle = inside + (outside - inside) / 2;

		if (gr_poll(&poll, 2 * wild->reps))
			return false;
		if (share_of(wild, sign * middle * scale) > least)
			inside = middle;
		else
			outside = middle;
	}
	*limit = sign * scale * (inside + (outside - inside) / 2);
	return true;
}
