/*
 * select_search.h: the search of select_best.c as a template, included once per type of number.
 *
 * The includer defines REAL, its operations ADD, SUB, MUL, DIV, SQRT, HI and REAL_OF (from a GrDD), and NAME(x), which
 * makes function names unique. All are undefined at the end.
 */

/*
 * A node of the search tree: b features that may be dropped; their factor minus what the fixed features explain, b rows
 * of b + 1 numbers, the last column for the response; and the RSS with all features.
 */
typedef struct NAME(Node)
{
	int			b;
	int		   *vars;
	REAL	   *rows;
	REAL		rss;
} NAME(Node);

/* Computes a rotation c, s with c a + s b = r and -s a + c b = 0. */
static inline void
NAME(rotation) (REAL a, REAL b, REAL *c, REAL *s, REAL *r)
{
	*r = SQRT(ADD(MUL(a, a), MUL(b, b)));
	if (HI(*r) == 0)
	{
		*c = REAL_OF(gr_dd(1.0));
		*s = REAL_OF(gr_dd(0.0));
		return;
	}
	*c = DIV(a, *r);
	*s = DIV(b, *r);
}

/*
 * Rotates row into next at column `at`. One result becomes a row of the factor in to, the other replaces row, with a
 * first entry of 0. Handles columns at .. n - 1.
 */
static inline void
NAME(rotate) (REAL *row, const REAL *next, REAL *to, int at, int n)
{
	REAL		c;
	REAL		s;
	REAL		r;

	NAME(rotation) (row[at], next[at], &c, &s, &r);
	to[at] = r;
	for (int k = at + 1; k < n; k++)
	{
		REAL		a = row[k];
		REAL		b = next[k];

		to[k] = ADD(MUL(c, a), MUL(s, b));
		row[k] = SUB(MUL(c, b), MUL(s, a));
	}
}

/* Makes the child without feature j, whose droppable features are those behind j. row: scratch of a row. */
static void
NAME(drop) (const NAME(Node) *node, int j, NAME(Node) *child, REAL *row)
{
	int			width = node->b + 1;
	int			b = node->b - j - 1;

	child->b = b;
	memcpy(child->vars, node->vars + j + 1, (size_t) b * sizeof(int));
	memcpy(row, node->rows + (size_t) j * width + j + 1, (size_t) (b + 1) * sizeof(REAL));
	for (int k = 0; k < b; k++)
		NAME(rotate) (row, node->rows + (size_t) (j + 1 + k) * width + j + 1, child->rows + (size_t) k * (b + 1), k,
					  b + 1);
	child->rss = ADD(node->rss, MUL(row[b], row[b]));
}

/*
 * Computes the cost of dropping each feature: its squared coefficient, also returned in square, over the inverse's
 * diagonal entry. Features that are collinear with those before them cost 0; returns false if there are any. inverse: b
 * x (b + 1), becomes the factor's inverse.
 */
static bool
NAME(costs) (const NAME(Node) *node, double *cost, double *square, REAL *inverse)
{
	int			b = node->b;
	int			width = b + 1;
	bool		regular = true;

	for (int i = b - 1; i >= 0; i--)
	{
		const REAL *r = node->rows + (size_t) i * width;
		REAL	   *mine = inverse + (size_t) i * width;
		REAL		norm = REAL_OF(gr_dd(0.0));

		memset(mine, 0, (size_t) width * sizeof(REAL));
		cost[i] = square[i] = 0;
		if (!(fabs(HI(r[i])) > LEAST_DIAGONAL))
		{
			regular = false;
			continue;
		}
		/* row i of the inverse, with the coefficient in the last column */
		for (int k = i + 1; k < b; k++)
			for (int c = k; c < width; c++)
				mine[c] = SUB(mine[c], MUL(r[k], inverse[(size_t) k * width + c]));
		mine[i] = REAL_OF(gr_dd(1.0));
		mine[b] = ADD(mine[b], r[b]);
		for (int c = i; c < width; c++)
		{
			mine[c] = DIV(mine[c], r[i]);
			if (c < b)
				norm = ADD(norm, MUL(mine[c], mine[c]));
		}
		square[i] = HI(mine[b]) * HI(mine[b]);
		cost[i] = square[i] / HI(norm);
	}
	return regular;
}

/*
 * Sorts the node's features by order and makes the factor triangular again. from, row: scratch of a factor and a row.
 */
static void
NAME(reorder) (NAME(Node) *node, const int *order, REAL *from, REAL *row)
{
	int			b = node->b;
	int			width = b + 1;
	int		   *vars = (int *) row;

	memcpy(from, node->rows, (size_t) b * width * sizeof(REAL));
	memcpy(vars, node->vars, (size_t) b * sizeof(int));
	for (int k = 0; k < b; k++)
		node->vars[k] = vars[order[k]];
	for (int i = 0; i < b; i++)
	{
		REAL	   *mine = node->rows + (size_t) i * width;

		for (int k = 0; k < b; k++)
			mine[k] = order[k] < i ? REAL_OF(gr_dd(0.0)) : from[(size_t) i * width + order[k]];
	}
	/* rotate row by row into the factor of the rows above */
	for (int i = 1; i < b; i++)
	{
		REAL	   *mine = node->rows + (size_t) i * width;

		for (int k = 0; k < i; k++)
		{
			if (HI(mine[k]) == 0)
				continue;
			memcpy(row, mine, (size_t) width * sizeof(REAL));
			memcpy(from, node->rows + (size_t) k * width, (size_t) width * sizeof(REAL));
			NAME(rotate) (from, row, node->rows + (size_t) k * width, k, width);
			memcpy(mine, from, (size_t) width * sizeof(REAL));
			mine[k] = REAL_OF(gr_dd(0.0));
		}
	}
}

/*
 * Returns an upper bound of the largest eigenvalue of V scaled to a correlation matrix. inverse: the factor's inverse.
 */
static double
NAME(spread) (Search *search, int b, const REAL *inverse)
{
	double	   *v = search->matrix;

	for (int i = 0; i < b; i++)
		for (int k = 0; k <= i; k++)
		{
			double		sum = 0;

			for (int c = i; c < b; c++)
				sum += HI(inverse[(size_t) i * (b + 1) + c]) * HI(inverse[(size_t) k * (b + 1) + c]);
			v[i * b + k] = v[k * b + i] = sum;
		}
	return spread_of(v, b, search->matrix + (size_t) b * b);
}

/*
 * Sorts the node's features by the cost of dropping them, the highest first. The costs are in search->cost. Sets
 * search->share to squared coefficients over the bound of V, for bound_children(). Returns false if costs are unknown.
 */
static bool
NAME(sort) (Search *search, NAME(Node) *node, REAL *room)
{
	int			b = node->b;
	double	   *cost = search->cost + (size_t) search->depth * search->p;
	double	   *share = search->share;
	double	   *bound = search->bound + (size_t) search->depth * search->p;
	int		   *order = search->order;
	bool		regular = NAME(costs) (node, cost, share, room);
	bool		sorted = true;

	if (search->depth > 0)
		memcpy(bound, bound - search->p, (size_t) search->p * sizeof(double));
	if (regular && b >= BOUND_MIN)
	{
		double		spread = NAME(spread) (search, b, room);

		for (int i = 0; i < b; i++)
			bound[node->vars[i]] = fmin(bound[node->vars[i]], spread * search->matrix[i]);
	}
	for (int i = 0; i < b; i++)
	{
		int			k = i;

		share[i] /= bound[node->vars[i]];
		for (; k > 0 && cost[order[k - 1]] < cost[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
		sorted &= k == i;
	}
	if (sorted)
		return regular;
	for (int i = 0; i < b; i++)
		search->sorted[i] = cost[order[i]];
	memcpy(cost, search->sorted, (size_t) b * sizeof(double));
	for (int i = 0; i < b; i++)
		search->sorted[i] = share[order[i]];
	memcpy(share, search->sorted, (size_t) b * sizeof(double));
	NAME(reorder) (node, order, room, room + (size_t) b * (b + 1));
	return regular;
}

/* Tries the subsets of the fixed features and the first 1 to b features of the node. */
static bool
NAME(try_leading) (Search *search, const NAME(Node) *node)
{
	double		rss = HI(node->rss);

	memcpy(search->fixed + search->nfixed, node->vars, (size_t) node->b * sizeof(int));
	for (int i = node->b; i > 0; i--)
	{
		int			size = search->nfixed + i;
		double		q = HI(node->rows[(size_t) (i - 1) * (node->b + 1) + node->b]);

		if (size <= search->max_size && rss < search->limit[size] && !try_subset(search, size))
			return false;
		rss += q * q;
	}
	return true;
}

static bool
NAME(visit) (Search *search, NAME(Node) *node, REAL *room)
{
	int			nfixed = search->nfixed;
	int			b = node->b;
	double	   *cost = search->cost + (size_t) search->depth * search->p;
	bool		known = b >= SORTED_MIN && NAME(sort) (search, node, room);
	NAME(Node)	child = {.vars = search->vars + (size_t) (search->depth + 1) * search->p,.rows = room};
	REAL	   *row = room + (size_t) b * b;

	search->nnodes++;
	if (known)
		bound_children(search, b, HI(node->rss), cost);
	if (!NAME(try_leading) (search, node))
		return false;
	/* cheapest first, to find good subsets early */
	for (int j = b - 2; j >= 0; j--)
	{
		double		limit;

		if (nfixed + j + 1 > search->max_size)
			continue;
		limit = search->limit_from[nfixed + j + 1];
		if (known && cost[j] == INFINITY)
			continue;
		if (gr_poll(&search->poll, WORK * (int64_t) (b - j) * (b - j)))
			return gr_fail(search->select->err, GR_CANCELED, 0, "best subset");
		NAME(drop) (node, j, &child, row);
		if (HI(child.rss) >= limit)
			continue;
		search->nfixed = nfixed + j;
		search->depth++;
		memcpy(search->fixed + nfixed, node->vars, (size_t) j * sizeof(int));
		if (!NAME(visit) (search, &child, row + b + 1))
			return false;
		search->depth--;
		search->nfixed = nfixed;
	}
	return true;
}

/* Makes the root, the factor of all features that vary, from L D L', and visits it. */
static bool
NAME(run) (Search *search, const GrLdl *ldl)
{
	int			b = ldl->n - 1;
	REAL	   *rows = (REAL *) search->room;
	NAME(Node)	root = {.b = b,.vars = search->vars,.rows = rows};

	for (int k = 0; k < b; k++)
	{
		GrDD		d = gr_dd_get(ldl->d, k);
		REAL		root_d = ldl->aliased[k] ? REAL_OF(gr_dd(0.0)) : SQRT(REAL_OF(d));

		for (int i = 0; i <= b; i++)
			rows[(size_t) k * (b + 1) + i] = i < k ? REAL_OF(gr_dd(0.0)) : i == k ? root_d :
				MUL(root_d, REAL_OF(gr_dd_get(ldl->l, gr_packed(i, k))));
	}
	root.rss = REAL_OF(gr_dd_get(ldl->d, b));
	if (!(HI(root.rss) > 0))
		root.rss = REAL_OF(gr_dd(0.0));
	return NAME(visit) (search, &root, rows + (size_t) b * (b + 1));
}

#undef REAL
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef SQRT
#undef HI
#undef REAL_OF
#undef NAME
#undef WORK
#undef LEAST_DIAGONAL
