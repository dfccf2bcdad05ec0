/*
 * glm_transform.cuh: transforms rows so that their Gram matrix holds the sums of EXACT or FACE. glm_step.cu launches
 * it.
 *
 * A warp takes tiles of GLM_TILE rows, in one of two layouts:
 *
 *    OwnRows (few features)       lane r: all numbers of row r, in shared memory, read and written in whole lines
 *    SpreadRows (more features)   lane l: columns l, l + 32, .. of eight rows at a time; the lanes' partial sums are
 *                                 transposed as they are added up, and lane 4 g + t gets the sum of row 8 t + g
 *
 * Requires -fmad=false, like dd.h.
 */
#ifndef GPUREG_GLM_TRANSFORM_CUH
#define GPUREG_GLM_TRANSFORM_CUH

#include "glm_device.cuh"
#include "glm_step.cuh"

#define ROW_NTHREADS 256

/* Returns the row of a tile that a lane has after fold_eight(). */
static __device__ inline int
tile_row(int lane)
{
	return lane % 4 * 8 + lane / 4;
}

/*
 * Returns coefficients' (1, x - shift) for the lane's row of a tile of nrows rows; shift may be NULL. Only the first
 * nfeatures features have coefficients.
 */
template <bool ROLES, typename Sum>
static __device__ inline Sum
tile_dot(const double *__restrict__ rows, int nrows, GrRowShape shape, int nfeatures,
		 const double *__restrict__ coefficients, const double *__restrict__ shift, int lane)
{
	const int	ncols = columns_of<ROLES>(shape);
	Sum			mine = {};
	Sum			start = {};

	for (int round = 0; round < 4 && 8 * round < nrows; round++)
	{
		Sum			v[8] = {};

		for (int column = lane; column < nfeatures; column += 32)
		{
			double		coefficient = coefficients[column + 1];
			double		center = shift != NULL ? shift[column] : 0.0;
			double		x[8];

#pragma unroll
			for (int k = 0; k < 8; k++)
				x[k] = rows[(int64_t) min(8 * round + k, nrows - 1) * ncols + column];
#pragma unroll
			for (int k = 0; k < 8; k++)
				add_product(v[k], coefficient, x[k], center);
		}

		Sum			sum = fold_eight(v, lane);

		sum = join(sum, from_lane_xor(sum, 2));
		sum = join(sum, from_lane_xor(sum, 1));
		if (lane % 4 == round)
			mine = sum;
	}
	add_product(start, coefficients[0], 1.0, 0.0);
	return join(start, mine);
}

/* A lane's part of the head */
typedef struct Head
{
	double		nrows;
	GrDD		half_deviance;
	double		min_margin;
	double		nright;
	double		nwrong;
	double		min_right;
	double		nones;
} Head;

static __device__ inline Head
head_empty(void)
{
	Head		head = {};

	head.min_margin = INFINITY;
	head.min_right = INFINITY;
	return head;
}

/* Adds a warp's heads to a record. A minimum counts once there is a row that it is of. */
static __device__ inline void
head_record(double *record, const Head &head, int lane)
{
	GrDD		deviance = warp_sum(head.half_deviance);
	double		nrows = warp_sum(head.nrows);
	double		min_margin = warp_min(head.min_margin);
	double		nright = warp_sum(head.nright);
	double		nwrong = warp_sum(head.nwrong);
	double		min_right = warp_min(head.min_right);
	double		nones = warp_sum(head.nones);

	if (lane != 0)
		return;
	if (nrows > 0.0 && (record[GR_SUM_NROWS] == 0.0 || min_margin < record[GR_SUM_MIN_MARGIN]))
		record[GR_SUM_MIN_MARGIN] = min_margin;
	if (nright > 0.0 && (record[GR_SUM_NRIGHT] == 0.0 || min_right < record[GR_SUM_MIN_RIGHT]))
		record[GR_SUM_MIN_RIGHT] = min_right;
	record[GR_SUM_NROWS] += nrows;
	record_add(record, GR_SUM_DEVIANCE_HI, GR_SUM_DEVIANCE_LO, gr_dd_scale(deviance, 2.0));
	record[GR_SUM_NRIGHT] += nright;
	record[GR_SUM_NWRONG] += nwrong;
	record[GR_SUM_NONES] += nones;
}

/* Writes the rows (u, u z, v) of a tile, with u and v from the lane that holds each row. */
template <bool ROLES>
static __device__ inline void
write_rows(double *__restrict__ out, const double *__restrict__ tile, int nrows, GrRowShape shape,
		   const double *__restrict__ shift, double u, double v, int lane)
{
	const int	ncols = columns_of<ROLES>(shape);
	const int	nout = gr_norder(shape.nfeatures);	/* columns of a written row */
	const int	at = tile_row(lane);

	for (int first = 0; first < nrows; first += 8)
	{
		double		weight[8];

#pragma unroll
		for (int k = 0; k < 8; k++)
			weight[k] = __shfl_sync(FULL, u, k * 4 + first / 8);
		for (int column = lane; column < shape.nfeatures; column += 32)
		{
			const double *from = tile + (int64_t) first * ncols + column;
			double	   *to = out + (int64_t) first * nout + 1 + column;
			double		center = shift[column];
			double		x[8];

#pragma unroll
			for (int k = 0; k < 8; k++)
				x[k] = from[min(k, nrows - 1 - first) * ncols];
#pragma unroll
			for (int k = 0; k < 8; k++)
				if (first + k < nrows)
					to[k * nout] = weight[k] * (x[k] - center);
		}
	}
	if (at < nrows)
	{
		out[(int64_t) at * nout] = u;
		out[(int64_t) at * nout + nout - 1] = v;
	}
}

/* Rows of a tile, each spread over a warp's lanes. fold_eight() determines a lane's row. room: unused. */
template <bool ROLES>
struct SpreadRows
{
	const double *tile;
	GrRowShape	shape;
	int			nrows;
	int			lane;

	__device__ inline SpreadRows(const double *rows, int count, GrRowShape row, double *room)
		: tile(rows), shape(row), nrows(count), lane(threadIdx.x % 32)
	{
		(void) room;
	}

	__device__ inline int at(void) const
	{
		return tile_row(lane);
	}

	/* Returns the lane's row; the last row for lanes without one. */
	__device__ inline const double *own(void) const
	{
		return tile + (int64_t) min(at(), nrows - 1) * columns_of<ROLES>(shape);
	}

	template <typename Sum>
	__device__ inline Sum dot(int nfeatures, const double *__restrict__ coefficients,
							  const double *__restrict__ shift) const
	{
		return tile_dot<ROLES, Sum>(tile, nrows, shape, nfeatures, coefficients, shift, lane);
	}

	__device__ inline void write(double *__restrict__ out, const double *__restrict__ shift, double u, double v)
	{
		write_rows<ROLES>(out, tile, nrows, shape, shift, u, v, lane);
	}
};

/* Returns the numbers between rows of OwnRows: odd, so that lanes use different banks. */
static __host__ __device__ inline int
own_step(GrRowShape shape)
{
	int			ncols = gr_row_ncols(shape);
	int			nout = gr_norder(shape.nfeatures);

	return (ncols > nout ? ncols : nout) | 1;
}

/* Rows of a tile, one per lane. room: GLM_TILE * own_step() numbers of the warp's shared memory. */
template <bool ROLES>
struct OwnRows
{
	double	   *room;
	GrRowShape	shape;
	int			nrows;
	int			lane;
	int			step;

	__device__ inline OwnRows(const double *__restrict__ tile, int count, GrRowShape row, double *shared)
		: room(shared), shape(row), nrows(count), lane(threadIdx.x % 32), step(own_step(row))
	{
		const int	ncols = columns_of<ROLES>(shape);

		__syncwarp();			/* the rows written for the tile before are copied out */
		for (Place from = place(ncols); from.e < nrows * ncols;)
		{
			double		value[4];
			int			target[4];

#pragma unroll
			for (int k = 0; k < 4; k++)
			{
				target[k] = from.e < nrows * ncols ? from.row * step + from.column : -1;
				value[k] = target[k] >= 0 ? tile[from.e] : 0.0;
				advance(from, ncols);
			}
#pragma unroll
			for (int k = 0; k < 4; k++)
				if (target[k] >= 0)
					room[target[k]] = value[k];
		}
		__syncwarp();
	}

	__device__ inline int at(void) const
	{
		return lane;
	}

	__device__ inline const double *own(void) const
	{
		return room + min(lane, nrows - 1) * step;
	}

	template <typename Sum>
	__device__ inline Sum dot(int nfeatures, const double *__restrict__ coefficients,
							  const double *__restrict__ shift) const
	{
		const double *row = own();
		Sum			sum = {};

		add_product(sum, coefficients[0], 1.0, 0.0);
		for (int column = 0; column < nfeatures; column++)
			add_product(sum, coefficients[column + 1], row[column], shift != NULL ? shift[column] : 0.0);
		return sum;
	}

	/* Writes the rows. Must be called last, as it overwrites them. */
	__device__ inline void write(double *__restrict__ out, const double *__restrict__ shift, double u, double v)
	{
		const int	nout = gr_norder(shape.nfeatures);
		double	   *row = room + lane * step;

		__syncwarp();			/* lanes without a row have read the last one */
		if (lane < nrows)
		{
			for (int column = shape.nfeatures - 1; column >= 0; column--)
				row[column + 1] = u * (row[column] - shift[column]);
			row[0] = u;
			row[nout - 1] = v;
		}
		__syncwarp();
		for (Place to = place(nout); to.e < nrows * nout; advance(to, nout))
			out[to.e] = room[to.row * step + to.column];
	}

private:
	/* A lane's next number of the tile, and its position */
	typedef struct Place
	{
		int			e;
		int			row;
		int			column;
	} Place;

	__device__ inline Place place(int ncols) const
	{
		return {lane, lane / ncols, lane % ncols};
	}

	static __device__ inline void advance(Place &at, int ncols)
	{
		at.e += 32;
		at.row += 32 / ncols;
		at.column += 32 % ncols;
		if (at.column >= ncols)
		{
			at.column -= ncols;
			at.row++;
		}
	}
};

/* Position of the lane's row relative to a face */
typedef struct Side
{
	double		value;			/* z' face */
	double		margin;			/* 0 if the row is on the face */
} Side;

/* Returns the position of the lane's row relative to face f: first the low halves' part, then both together. */
template <bool ROLES, typename Rows>
static __device__ inline Side
face_side(const Rows &rows, GrRowShape shape, const GlmTerms &terms, int f, double y)
{
	const double *face = terms.faces + (int64_t) (f * gr_face_size(shape.nfeatures));
	Dot			low = rows.template dot<Dot>(shape.nfeatures, face + gr_nterms(shape.nfeatures), terms.shift);
	Dot			dot = rows.template dot<Dot>(shape.nfeatures, face, terms.shift);
	double		magnitude = rows.template dot<Magnitude>(shape.nfeatures, face, terms.shift).sum;
	Side		side;

	add_product(dot, 1.0, low.s + low.c, 0.0);
	side.value = dot.s + dot.c;
	side.margin = fabs(side.value) <= terms.face_absolute[f] + terms.face_relative * magnitude ? 0.0 :
		margin_of<ROLES>(terms.distribution, side.value, y);
	return side;
}

/* Returns the squared length of C z for the lane's row; see glm.h. */
template <typename Rows>
static __device__ __noinline__ double
squared_length(const Rows &rows, GrRowShape shape, const GlmTerms &terms)
{
	const int	nterms = gr_nterms(shape.nfeatures);
	double		length = 0.0;

	for (int k = 0; k < nterms; k++)
	{
		const double *row = terms.factor + (int64_t) k * nterms;
		double		part = rows.template dot<double>(k, row, terms.shift);

		length = fma(part, part, length);
	}
	return length;
}

/* Sets u and v of a row in a pass over faces, by its position relative to the last face: 0 on its right side. */
static __device__ inline void
face_row(Side side, double y, bool in, Head &head, double &u, double &v)
{
	if (in && !(side.margin > 0.0))
	{
		u = 1.0;
		v = side.value;
	}
	head.nones += in && side.margin == 0.0 ? y : 0.0;
	head.nright += in && side.margin > 0.0 ? 1.0 : 0.0;
	head.nwrong += in && !(side.margin >= 0.0) ? 1.0 : 0.0;
	if (in && side.margin > 0.0)
		head.min_right = fmin(head.min_right, side.margin);
}

/* Sets u and v of a row in a linear model's first pass, before there are coefficients. */
static __device__ inline void
first_row(const double *own, double y, GrRowShape shape, const GlmTerms &terms, bool in, Head &head, double &u,
		  double &v)
{
	GrGlmRow	row = gr_first_row(terms.distribution, gr_row_offset(own, shape), y, gr_row_weight(own, shape),
								   terms.counts);

	u = in ? row.u : 0.0;
	v = in ? row.v : 0.0;
	head.min_margin = fmin(head.min_margin, 0.0);
	head.nones += in ? y : 0.0;
}

/* Sets u and v of a row at eta. length: squared_length() if the pass has a factor, else 0. */
template <bool ROLES, bool MEASURED>
static __device__ inline void
row_at(double eta, const double *own, double y, GrRowShape shape, const GlmTerms &terms, double length, Head &head,
	   double &u, double &v)
{
	const bool	of_theta = MEASURED && terms.measure == GR_MEASURE_THETA;
	const bool	of_edge = MEASURED && terms.measure >= GR_MEASURE_BARRIER;
	GrGlmRow	row = of_theta ? gr_theta_row(terms.distribution, eta, y, gr_row_weight(own, shape)) :
		of_edge ? gr_edge_row(terms.measure, terms.distribution, eta, y, gr_row_weight(own, shape), terms.edge) :
		ROLES ? gr_glm_row(terms.distribution, eta, y, gr_row_weight(own, shape)) : gr_plain_row(eta, y);

	if (MEASURED && terms.measure == GR_MEASURE_OBSERVED)
		row = gr_observed_row(terms.distribution, row, eta, y);
	else if (MEASURED && !of_theta && !of_edge)
	{
		const double count_of = terms.counts ? gr_row_weight(own, shape) : 1.0;
		GrGlmRow	measured = gr_measured_row(terms.measure, row, eta, count_of, row.u * row.u * length);

		row.u = isnan(measured.u) ? 0.0 : measured.u;
		row.v = measured.v;
		head.nwrong += isnan(measured.u) ? 1.0 : 0.0;
	}
	u = row.u;
	v = row.v;
	head.half_deviance = gr_dd_add(head.half_deviance, gr_dd(row.half_deviance));
	head.min_margin = fmin(head.min_margin, margin_of<ROLES>(terms.distribution, eta, y));
	head.nones += y;
}

/*
 * RowsOf: layout of a warp's rows; OwnRows takes shared_ndoubles of shared memory per warp. MEASURED: u and v by the
 * pass's measure, in a kernel of its own because of the registers that this takes.
 */
template <template <bool> class RowsOf, bool FACE, bool ROLES, bool MEASURED>
static __global__ void
__launch_bounds__(ROW_NTHREADS)
transform_kernel(const double *__restrict__ from, int64_t nrows, GrRowShape shape, GlmTerms terms, int shared_ndoubles,
				 double *__restrict__ out, double *heads)
{
	extern __shared__ double room[];
	const int	lane = threadIdx.x % 32;
	const int	nwarps = gridDim.x * (ROW_NTHREADS / 32);
	const int	warp = (int) (blockIdx.x * ROW_NTHREADS + threadIdx.x) / 32;
	Head		head = head_empty();

	for (int64_t first = (int64_t) warp * GLM_TILE; first < nrows; first += (int64_t) nwarps * GLM_TILE)
	{
		RowsOf<ROLES> rows(from + first * columns_of<ROLES>(shape), (int) min((int64_t) GLM_TILE, nrows - first), shape,
						   room + threadIdx.x / 32 * shared_ndoubles);
		const double *own = rows.own();
		const double y = gr_row_response(own, shape);
		bool		in = rows.at() < rows.nrows;
		double		u = 0.0;
		double		v = 0.0;

		for (int f = 0; f < terms.nfaces - (FACE ? 1 : 0); f++)
			in = face_side<ROLES>(rows, shape, terms, f, y).margin == 0.0 && in;
		if (FACE)
			face_row(face_side<ROLES>(rows, shape, terms, terms.nfaces - 1, y), y, in, head, u, v);
		else if (ROLES && terms.linear)
			first_row(own, y, shape, terms, in, head, u, v);
		else
		{
			Dot			dot = rows.template dot<Dot>(shape.nfeatures, terms.beta, terms.shift);
			double		length = 0.0;

			if (MEASURED && terms.factor != NULL)
				length = squared_length(rows, shape, terms);
			if (ROLES && shape.offset)
				add_product(dot, 1.0, gr_row_offset(own, shape), 0.0);
			if (in)
				row_at<ROLES, MEASURED>(dot.s + dot.c, own, y, shape, terms, length, head, u, v);
		}
		head.nrows += in ? 1.0 : 0.0;
		rows.write(out + first * gr_norder(shape.nfeatures), terms.shift, u, v);
	}
	head_record(heads + (int64_t) warp * GR_SUM_HEAD, head, lane);
}

#endif							/* GPUREG_GLM_TRANSFORM_CUH */
