/*
 * cholesky_gpu_fits.h: the part of cholesky_gpu_test.cu that checks whole fits against the CPU's, and failures.
 */

/* Sums of (1, x, y): a triangle for p features. */
typedef struct Gram
{
	int			p;
	int64_t		nrows;
	double	   *hi;
	double	   *lo;
	double	   *shift;			/* NULL: no shift */
} Gram;

typedef struct Fit
{
	int			m;
	bool		ok;
	GrOlsFit	ols;
	GrNormalFit normal;
	bool	   *aliased;
	double	   *coef;
	double	   *vcov;
	GrError		err;
} Fit;

static GrGram
view_of(const Gram *gram)
{
	GrGram		view = {};

	view.hi = gram->hi;
	view.lo = gram->lo;
	view.shift = gram->shift;
	view.nfeatures = gram->p;
	view.nobs = gram->nrows;
	return view;
}

/* Sums nrows x (p + 1) rows, and frees the rows. */
static Gram
gram_of(double *rows, int64_t nrows, int p)
{
	double	   *scratch = (double *) malloc(gr_gram_scratch_nbytes(gr_plain_shape(p + 1)));
	Gram		gram = {p, nrows, doubles(at(p + 2, 0)), doubles(at(p + 2, 0)), NULL};

	GrGram		view = view_of(&gram);

	gr_gram_add(&view, rows, nrows, gr_plain_shape(p), scratch);
	free(scratch);
	free(rows);
	return gram;
}

static void
gram_free(Gram *gram)
{
	free(gram->hi);
	free(gram->lo);
	free(gram->shift);
}

static Fit
fit_new(int m)
{
	Fit			fit = {};

	fit.m = m;
	fit.aliased = (bool *) calloc((size_t) m, sizeof(bool));
	fit.coef = doubles(m);
	fit.vcov = doubles((int64_t) m * m);
	return fit;
}

static void
fit_free(Fit *fit)
{
	free(fit->aliased);
	free(fit->coef);
	free(fit->vcov);
}

static Fit
fit_ols(const Gram *gram, bool intercept, const GrSolver *solver, const GrHost *host)
{
	Fit			fit = fit_new(gram->p + (intercept ? 1 : 0));
	void	   *workspace = malloc(gr_normal_workspace_nbytes(gram->p));
	const GrGram view = view_of(gram);

	fit.ols.coef = fit.coef;
	fit.ols.vcov = fit.vcov;
	fit.ols.intercept = intercept;
	fit.ols.solver = solver;
	fit.ok = gr_ols_solve(&view, workspace, &fit.ols, host, &fit.err);
	free(workspace);
	return fit;
}

/* Solves normal equations. leave_out: without every fifth term; inverse: also computes the inverse. */
static Fit
fit_normal(const Gram *gram, int skip, bool leave_out, bool inverse, const GrSolver *solver)
{
	Fit			fit = fit_new(gram->p + 1 - skip);
	void	   *workspace = malloc(gr_normal_workspace_nbytes(fit.m));

	for (int k = 0; k < fit.m; k++)
		fit.aliased[k] = leave_out && k % 5 == 1;
	fit.normal.nterms = fit.m;
	fit.normal.aliased = fit.aliased;
	fit.normal.coef = fit.coef;
	fit.normal.inverse = inverse ? fit.vcov : NULL;
	fit.normal.skip = skip;
	fit.normal.tolerance = 1e-28;
	fit.normal.solver = solver;
	fit.ok = gr_normal_solve(GrDDConstVector {gram->hi, gram->lo}, workspace, &fit.normal, NULL, &fit.err);
	free(workspace);
	return fit;
}

/* Returns the largest relative difference, or infinity unless NaNs and exact zeros are in the same places. */
static double
difference(const double *a, const double *b, int64_t n)
{
	double		worst = 0;

	for (int64_t k = 0; k < n; k++)
	{
		if (isnan(a[k]) && isnan(b[k]))
			continue;
		if ((a[k] == 0) != (b[k] == 0))
			return INFINITY;
		worst = fmax(worst, relative_error(a[k], b[k]));
	}
	return worst;
}

/*
 * Like difference() for m x m covariances. An entry far below the root of its two variances is a difference of sums of
 * that size, so its error is taken relative to 1e-3 of that root.
 */
static double
difference_of_covariances(const double *a, const double *b, int m)
{
	double		worst = 0;

	for (int64_t k = 0; k < (int64_t) m * m; k++)
	{
		double		scale = 1e-3 * sqrt(b[k / m * m + k / m] * b[k % m * m + k % m]);

		if (isnan(a[k]) && isnan(b[k]))
			continue;
		if (isnan(a[k]) || isnan(b[k]) || (a[k] == 0) != (b[k] == 0))
			return INFINITY;
		if (a[k] != b[k])
			worst = fmax(worst, fabs(a[k] - b[k]) / fmax(fabs(b[k]), scale));
	}
	return worst;
}

/*
 * Sets entries below 1e-24 of the largest to 0: coefficients that should be 0, where rounding over many terms left more
 * than the solve takes for 0. Returns how many entries were exactly 0 before.
 */
static int
forget_noise(double *a, int n)
{
	double		largest = 0;
	int			nzeros = 0;

	for (int k = 0; k < n; k++)
		largest = fmax(largest, fabs(a[k]));
	for (int k = 0; k < n; k++)
	{
		nzeros += a[k] == 0;
		a[k] = fabs(a[k]) < 1e-24 * largest ? 0 : a[k];
	}
	return nzeros;
}

/* True if a fit on the device equals the CPU's. tolerance: relative difference allowed of coefficients. */
static bool
same_fit(const Fit *device, const Fit *cpu, double tolerance, const char *what)
{
	double		coef = difference(device->coef, cpu->coef, cpu->m);
	double		vcov = difference_of_covariances(device->vcov, cpu->vcov, cpu->m);
	double		sums[2][3] = {{device->ols.rss, device->ols.tss, device->normal.decrement},
		{cpu->ols.rss, cpu->ols.tss, cpu->normal.decrement}};
	double		sum = difference(sums[0], sums[1], 3);
	bool		same = device->ok && cpu->ok && device->ols.rank == cpu->ols.rank &&
		device->ols.df_residual == cpu->ols.df_residual &&
		device->normal.rank == cpu->normal.rank &&
		memcmp(device->aliased, cpu->aliased, (size_t) cpu->m * sizeof(bool)) == 0 &&
		(device->ols.on_device || device->normal.on_device) && !cpu->ols.on_device && !cpu->normal.on_device;

	if (!check(same && coef <= tolerance && vcov <= tolerance && sum <= tolerance, "%s", what))
		printf("# %s; same ranks %d (%d, %d); differences of coefficients %.2g, covariances %.2g, sums %.2g\n",
			   device->err.detail, same,
			   device->ols.rank, cpu->ols.rank, coef, vcov, sum);
	return same;
}

static void
compare_ols(GrSession *session, const Gram *gram, bool intercept, int rank, bool many_zeros, const char *what)
{
	const GrSolver solver = {gpu->solver, session, 0, 1};
	char		name[120];
	Fit			device = fit_ols(gram, intercept, &solver, NULL);
	Fit			cpu = fit_ols(gram, intercept, NULL, NULL);

	snprintf(name, sizeof(name), "%d terms, rank %d, %s: the CPU's fit", device.m, device.ols.rank, what);
	if (many_zeros)
	{
		int			ndevice = forget_noise(device.coef, device.m);
		int			ncpu = forget_noise(cpu.coef, cpu.m);

		printf("# coefficients that are exactly 0: %d on the device, %d on the CPU, %d should be\n", ndevice, ncpu,
			   (device.m + 1) / 5);
	}
	same_fit(&device, &cpu, 1e-14, name);
	if (rank > 0 && device.ols.rank != rank)
		check(false, "rank %d expected", rank);
	fit_free(&device);
	fit_free(&cpu);
}

/* Checks random rows with a random response, and integer rows whose response is a combination of some features. */
static void
check_fits(GrSession *session, int m)
{
	const bool	intercept = m > 1;
	const int	p = intercept ? m - 1 : 1;
	const int64_t nrows = m + m / 3 + 5;
	double	   *random_rows = doubles(nrows * (p + 1));
	double	   *whole_rows = doubles(nrows * (p + 1));
	Gram		gram;

	for (int64_t k = 0; k < nrows * (p + 1); k++)
		random_rows[k] = random_double() + (k % (p + 1) == p ? 3 : 0);
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = whole_rows + r * (p + 1);

		row[p] = 7 * intercept;
		for (int j = 0; j < p; j++)
		{
			row[j] = floor(10 * random_double());
			row[p] += (j % 5 - 2) * row[j];
		}
	}
	gram = gram_of(random_rows, nrows, p);
	compare_ols(session, &gram, intercept, m, false, "random");
	gram_free(&gram);
	gram = gram_of(whole_rows, nrows, p);
	compare_ols(session, &gram, intercept, m, true, "a perfect fit");
	gram_free(&gram);
}

/*
 * Checks sums about a shift that makes up most of the intercept's variance; pairs of columns are so near each other
 * that the parts of this variance cancel.
 */
static void
check_shifted(GrSession *session, int m)
{
	const int	p = m - 1;
	const int64_t nrows = 2 * m + 9;
	double	   *rows = doubles(nrows * (p + 1));
	double	   *shift = doubles(p + 1);
	Gram		gram;

	for (int j = 0; j <= p; j++)
		shift[j] = j % 5 == 3 ? 0 : j % 2 == 0 ? 1e9 : -1e9;
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = rows + r * (p + 1);

		for (int j = 0; j <= p; j++)
			row[j] = j % 10 == 1 ? random_double() * 1e-5 - row[j - 1] : random_double();
	}
	gram = gram_of(rows, nrows, p);
	gram.shift = shift;
	compare_ols(session, &gram, true, m, false, "about a shift");
	/*
	 * Without an intercept the shift stays in the columns. A larger one would make the pairs collinear, or cost the
	 * sums their digits.
	 */
	for (int j = 0; j <= p; j++)
		shift[j] *= 1e-9;
	compare_ols(session, &gram, false, p, false, "about a shift, without an intercept");
	gram_free(&gram);
}

typedef enum Collinear
{
	BORDERS,					/* copies of earlier columns beside the borders of tiles */
	THIRDS,						/* every third feature is the sum of two before it */
	TILE_OF_THEM,				/* terms 32 to 63 */
	ALL_BUT_FIRST,				/* all from the 40th on */
	ZEROS,						/* columns of zeros beside the borders */
	FEW_ROWS,					/* fewer rows than terms */
	NCOLLINEAR
} Collinear;

static const char *const collinear_names[NCOLLINEAR] = {"copies at borders", "every third collinear",
	"a tile collinear", "all but 40 collinear",
	"zeros at borders", "few rows"};

/* Makes feature j of a row, which is term j + 1, depend on earlier ones. Returns true if it does. */
static bool
depend(Collinear kind, double *row, int j)
{
	const int	term = j + 1;
	const int	beside = (term + 1) % 32;

	if (j < 4)
		return false;
	switch (kind)
	{
		case BORDERS:
			row[j] = beside < 3 ? row[j - 3] - 2 * row[1] : row[j];
			return beside < 3;
		case THIRDS:
			row[j] = j % 3 == 0 ? row[j / 2] + row[j - 1] : row[j];
			return j % 3 == 0;
		case TILE_OF_THEM:
			row[j] = term / 32 == 1 ? row[j % 4] + row[j % 3] - 5 : row[j];
			return term / 32 == 1;
		case ALL_BUT_FIRST:
			row[j] = term >= 40 ? row[j % 37] - 3 * row[j % 11] : row[j];
			return term >= 40;
		case ZEROS:
			row[j] = beside < 3 ? 0 : row[j];
			return beside < 3;
		default:
			return false;
	}
}

static void
check_collinear(GrSession *session, bool quick)
{
	const int	sizes[] = {66, 33, 64, 100, 129, 200, 257};

	for (int s = 0; s < (quick ? 1 : COUNT(sizes)); s++)
		for (int kind = 0; kind < NCOLLINEAR; kind++)
		{
			const int	p = sizes[s] - 1;
			const int64_t nrows = kind == FEW_ROWS ? sizes[s] / 2 : 2 * sizes[s];
			double	   *rows = doubles(nrows * (p + 1));
			int			rank = 1;
			Gram		gram;

			for (int j = 0; j <= p; j++)
			{
				bool		dependent = false;

				for (int64_t r = 0; r < nrows; r++)
				{
					rows[r * (p + 1) + j] = floor(10 * random_double());
					/* with fewer rows than terms, keeps the first terms far from collinear whatever is drawn */
					if (kind == FEW_ROWS && r == j)
						rows[r * (p + 1) + j] += 100;
					dependent = j < p && depend((Collinear) kind, rows + r * (p + 1), j);
				}
				rank += j == p || dependent ? 0 : 1;
			}
			gram = gram_of(rows, nrows, p);
			compare_ols(session, &gram, true, kind == FEW_ROWS ? (int) nrows : rank, false, collinear_names[kind]);
			gram_free(&gram);
		}
}

static void
check_normal(GrSession *session, bool quick)
{
	const int	sizes[] = {35, 2, 63, 130, 300};
	const GrSolver solver = {gpu->solver, session, 0, 1};

	for (int s = 0; s < (quick ? 1 : COUNT(sizes)); s++)
		for (int variant = 0; variant < 6; variant++)
		{
			const int	p = sizes[s];
			const int	skip = variant % 3;
			const bool	leave_out = variant % 2 == 1;
			const bool	inverse = variant < 4;
			const int64_t nrows = p + p / 2 + 5;
			double	   *rows = doubles(nrows * (p + 1));
			char		name[120];
			Gram		gram;
			Fit			device;
			Fit			cpu;

			for (int64_t k = 0; k < nrows * (p + 1); k++)
				rows[k] = ldexp(random_double(), (int) (k % (p + 1)) % 9 * 30 - 120);
			gram = gram_of(rows, nrows, p);
			gram.hi[at(p + 1, p + 1)] = NAN;	/* the solve must not read this entry */
			device = fit_normal(&gram, skip, leave_out, inverse, &solver);
			cpu = fit_normal(&gram, skip, leave_out, inverse, NULL);
			snprintf(name, sizeof(name), "%d terms, normal equations after %d rows%s%s", device.m, skip, leave_out ?
					 ", some left out" : "",
					 inverse ? "" : ", no inverse");
			same_fit(&device, &cpu, 1e-14, name);
			fit_free(&device);
			fit_free(&cpu);
			gram_free(&gram);
		}
}

/* Fits a logistic regression with passes on the CPU and steps solved there (solver NULL) or on the device. */
static Fit
fit_logistic(const double *rows, int64_t nrows, int p, const GrSolver *solver)
{
	const GrSinkOptions rows_options = {shape_of(p, false), GR_SINK_KEEP, 0, 0, 0, false, NULL, false, {}};
	GrGlmOptions options = {};
	GrGlmFit *logreg;
	GrSink	   *kept = NULL;
	void	   *memory;
	Fit			fit = fit_new(p + 1);

	options.shape = gr_plain_shape(p);
	options.distribution = GrDistribution GR_LOGISTIC;
	options.intercept = true;
	options.max_iter = 25;
	options.tol = 1e-10;
	options.learning_rate = NAN;
	options.linear_solver = solver;
	memory = malloc(gr_glm_nbytes(&options));
	logreg = gr_glm_begin(memory, &options);
	fit.ok = gr_backend_cpu.sink->begin(NULL, &rows_options, &kept, &fit.err);
	fit.ok = fit.ok && gr_backend_cpu.sink->send(kept, rows, nrows, &fit.err);
	while (fit.ok && gr_glm_next(logreg) == GR_GLM_PASS)
		fit.ok = sum_pass(gr_backend_cpu.sink, kept, &logreg->pass, logreg->sums, NULL, &fit.err) &&
			gr_glm_advance(logreg, NULL, &fit.err);
	gr_backend_cpu.sink->end(kept);
	fit.ok = fit.ok && logreg->converged;
	memcpy(fit.coef, logreg->coef, sizeof(double) * (size_t) fit.m);
	memcpy(fit.vcov, logreg->vcov, sizeof(double) * (size_t) fit.m * (size_t) fit.m);
	fit.ols.rank = logreg->rank;
	free(memory);
	return fit;
}

static void
check_logistic(GrSession *session)
{
	const GrSolver solver = {gpu->solver, session, 0, 1};
	const int	p = 40;
	const int64_t nrows = 1000;
	double	   *rows = doubles(nrows * (p + 1));
	Fit			device;
	Fit			cpu;

	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = rows + r * (p + 1);

		for (int j = 0; j < p; j++)
			row[j] = j == 33 ? row[3] - row[32] : random_double();
		row[p] = row[1] + row[35] + 2 * random_double() > 0.3 ? 1 : 0;
	}
	device = fit_logistic(rows, nrows, p, &solver);
	cpu = fit_logistic(rows, nrows, p, NULL);
	device.ols.on_device = true;
	check(device.ols.rank == p, "a logistic regression has found its collinear term");
	same_fit(&device, &cpu, 1e-12, "a logistic regression, solved on the device");
	fit_free(&device);
	fit_free(&cpu);
	free(rows);
}

/* Checks that an entry that isn't finite gives the CPU's error message. */
static void
check_not_finite(GrSession *session, Gram *gram)
{
	const GrSolver solver = {gpu->solver, session, 0, 1};
	const double values[] = {NAN, INFINITY, -INFINITY};

	for (int v = 0; v < COUNT(values); v++)
	{
		int64_t		k = at(40 + v, 5 + 7 * v);
		double		kept = gram->hi[k];
		double		later = gram->hi[k + 100];
		Fit			device;
		Fit			cpu;

		gram->hi[k] = values[v];
		gram->hi[k + 100] = NAN;
		device = fit_ols(gram, true, &solver, NULL);
		cpu = fit_ols(gram, true, NULL, NULL);
		check(!device.ok && !cpu.ok && device.err.status == GR_OUT_OF_RANGE && device.err.where == cpu.err.where &&
			  strcmp(device.err.detail, cpu.err.detail) == 0, "an entry of %g: %s", values[v], device.err.detail);
		gram->hi[k] = kept;
		gram->hi[k + 100] = later;
		fit_free(&device);
		fit_free(&cpu);
	}
}

static void
check_cancel(GrSession *session, const Gram *gram)
{
	const GrSolver solver = {gpu->solver, session, 0, 1};
	Stopper		stopper = {0, INT_MAX};
	const GrHost host = {stop, &stopper, NULL};
	Fit			fit = fit_ols(gram, true, &solver, &host);
	int			npolls = stopper.asked;
	bool		heard = fit.ok && npolls > 4 * (gram->p / CHOLESKY_TILE);

	fit_free(&fit);
	for (int left = 0; left < npolls; left++)
	{
		stopper = {0, left + 1};
		fit = fit_ols(gram, true, &solver, &host);
		heard = heard && !fit.ok && fit.err.status == GR_CANCELED && stopper.asked == left + 1;
		fit_free(&fit);
	}
	check(heard, "cancel is heard at each of %d polls", npolls);
}

/* Allocates device memory until none is left; returns the number of pieces. */
static int
take_memory(void **pieces, int max)
{
	size_t		nbytes_free = 0;
	size_t		nbytes_total = 0;
	int			n = 0;

	(void) cudaMemGetInfo(&nbytes_free, &nbytes_total);
	for (size_t nbytes = nbytes_free; nbytes >= (1 << 16) && n < max;)
		if (cudaMalloc(&pieces[n], nbytes) == cudaSuccess)
			n++;
		else
			nbytes /= 2;
	(void) cudaGetLastError();
	return n;
}

static void
check_memory(GrSession *session, const Gram *gram, bool quick)
{
	static void *pieces[4096];
	GrSolver	solver = {gpu->solver, session, 1000, 1};
	Problem		p = problem_new(100);
	GrFactorJob job = problem_job(&p);
	GrFactor   *factor = NULL;
	bool		ok;
	Fit			limited;
	Fit			cpu = fit_ols(gram, true, NULL, NULL);

	job.memory_limit = 1000;
	ok = gpu->solver->begin(session, &job, &factor, NULL, &p.err);
	check(!ok && p.err.status == GR_DEVICE_MEMORY && p.err.bytes_free == 1000 && p.err.bytes_needed > 100000,
		  "a memory limit is kept");
	gpu->solver->end(factor);
	job.nterms = 0;
	p.err = GrError();
	ok = gpu->solver->begin(session, &job, &factor, NULL, &p.err);
	check(!ok && p.err.status == GR_INVALID && factor == NULL, "no terms");
	gpu->solver->end(NULL);
	problem_free(&p);

	limited = fit_ols(gram, true, &solver, NULL);
	check(limited.ok && !limited.ols.on_device && limited.err.status == GR_OK &&
		  memcmp(limited.coef, cpu.coef, sizeof(double) * (size_t) cpu.m) == 0, "too low a limit: solved on the CPU");
	fit_free(&limited);
	solver.memory_limit = 0;
	if (!quick)
	{
		int			n;

		/* the memory of earlier solves would be enough for this one */
		(void) gr_memory_release(gpu->device->describe(session)->id);
		n = take_memory(pieces, COUNT(pieces));
		limited = fit_ols(gram, true, &solver, NULL);
		check(limited.ok && !limited.ols.on_device &&
			  memcmp(limited.coef, cpu.coef, sizeof(double) * (size_t) cpu.m) == 0,
			  "a full device (%d pieces): solved on the CPU", n);
		fit_free(&limited);
		while (n > 0)
			(void) cudaFree(pieces[--n]);
	}
	limited = fit_ols(gram, true, &solver, NULL);
	check(limited.ok && limited.ols.on_device, "and then on the device again");
	fit_free(&limited);
	solver.min_terms = cpu.m + 1;
	limited = fit_ols(gram, true, &solver, NULL);
	check(limited.ok && !limited.ols.on_device, "too few terms: solved on the CPU");
	fit_free(&limited);
	fit_free(&cpu);
}

static void
check_failures(GrSession *session, bool quick)
{
	const int	p = quick ? 60 : 200;
	double	   *rows = doubles(2 * p * (p + 1));
	Gram		gram;

	for (int64_t k = 0; k < 2 * p * (p + 1); k++)
		rows[k] = random_double();
	gram = gram_of(rows, 2 * p, p);
	check_not_finite(session, &gram);
	check_cancel(session, &gram);
	check_memory(session, &gram, quick);
	gram_free(&gram);
}
