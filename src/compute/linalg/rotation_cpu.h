/*
 * rotation_cpu.h: the vector kernels of rotation.c, a template of simd.h. The stages of Hadamard's matrix are applied
 * to eight vectors at a time, in registers. Each element's additions are those of rotation.h in the same order, so that
 * all targets give the same bits.
 */

/*
 * Draws the signs of NAME(version).lanes * SIGNS elements from block `first` on: the words of block i are
 * words[4 i] .. words[4 i + 3]. Blocks are lanes.
 */
TARGET static void
NAME(draw) (uint32_t *words, uint32_t first, uint32_t b, uint32_t t, uint64_t seed)
{
	const uint64_t block[8] = {
		first, (uint32_t) (first + 1), (uint32_t) (first + 2), (uint32_t) (first + 3), (uint32_t) (first + 4),
		(uint32_t) (first + 5), (uint32_t) (first + 6), (uint32_t) (first + 7)
	};
	U			c[4] = {U_LOAD(block), U_SET1(b), U_SET1(t), U_SET1(GR_ROTATION_TAG)};
	uint32_t	key0 = (uint32_t) seed;
	uint32_t	key1 = (uint32_t) (seed >> 32);
	uint64_t	drawn[4][V_LANES];

	for (int round = 0; round < GR_PHILOX_ROUNDS; round++)
	{
		U			low = U_MUL(c[0], U_SET1(GR_PHILOX_M0));
		U			high = U_MUL(c[2], U_SET1(GR_PHILOX_M1));

		/* upper halves may hold anything, as U_MUL() ignores them */
		c[0] = U_XOR(U_XOR(U_HIGH(high), c[1]), U_SET1(key0));
		c[2] = U_XOR(U_XOR(U_HIGH(low), c[3]), U_SET1(key1));
		c[1] = high;
		c[3] = low;
		key0 += GR_PHILOX_W0;
		key1 += GR_PHILOX_W1;
	}
	for (int i = 0; i < 4; i++)
		U_STORE(drawn[i], c[i]);
	for (int l = 0; l < V_LANES; l++)
		for (int i = 0; i < 4; i++)
			words[4 * l + i] = (uint32_t) drawn[i][l];
}

/* Replaces v and w by their sum and difference. */
#define ADD_PAIR(v, w) do { \
	V			sum_ = V_ADD(v, w); \
\
	w = V_SUB(v, w); \
	v = sum_; \
} while (0)

/* Applies stages h, 2 h and 4 h to eight vectors that are h elements apart. */
#define ADD_EIGHT(v) do { \
	ADD_PAIR(v[0], v[1]); \
	ADD_PAIR(v[2], v[3]); \
	ADD_PAIR(v[4], v[5]); \
	ADD_PAIR(v[6], v[7]); \
	ADD_PAIR(v[0], v[2]); \
	ADD_PAIR(v[1], v[3]); \
	ADD_PAIR(v[4], v[6]); \
	ADD_PAIR(v[5], v[7]); \
	ADD_PAIR(v[0], v[4]); \
	ADD_PAIR(v[1], v[5]); \
	ADD_PAIR(v[2], v[6]); \
	ADD_PAIR(v[3], v[7]); \
} while (0)

/*
 * Flips the signs of n elements and applies stages 1 .. 4 V_LANES. n: a multiple of 8 V_LANES. words: the signs, a bit
 * per element.
 */
TARGET static void
NAME(begin) (double *x, int64_t n, const uint32_t *words)
{
	const double sign1[8] = {1, -1, 1, -1, 1, -1, 1, -1};
	const double sign2[8] = {1, 1, -1, -1, 1, 1, -1, -1};
	const double sign4[8] = {1, 1, 1, 1, -1, -1, -1, -1};

	for (int64_t from = 0; from < n; from += 8 * V_LANES)
	{
		V			v[8];

#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
		{
			int64_t		at = from + i * V_LANES;

			v[i] = V_FLIP(V_LOAD(x + at), words[at / 32] >> (at % 32));
			/* a product with 1 or -1 is exact, so a lane is its sum or difference, rounded once */
			if (V_LANES > 1)
				v[i] = V_FMA(v[i], V_LOAD(sign1), V_SWAP1(v[i]));
			if (V_LANES > 2)
				v[i] = V_FMA(v[i], V_LOAD(sign2), V_SWAP2(v[i]));
			if (V_LANES > 4)
				v[i] = V_FMA(v[i], V_LOAD(sign4), V_SWAP4(v[i]));
		}
		ADD_EIGHT(v);
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
			V_STORE(x + from + i * V_LANES, v[i]);
	}
}

/* Applies stages h, 2 h and 4 h to elements j + i h for j < n and i < 8. n: a multiple of V_LANES. */
TARGET static void
NAME(three_stages) (double *x, int64_t h, int64_t n)
{
	for (int64_t j = 0; j < n; j += V_LANES)
	{
		V			v[8];

#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
			v[i] = V_LOAD(x + j + i * h);
		ADD_EIGHT(v);
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
			V_STORE(x + j + i * h, v[i]);
	}
}

/* Applies stages h and 2 h to elements j + i h for j < n and i < 4. n: a multiple of V_LANES. */
TARGET static void
NAME(two_stages) (double *x, int64_t h, int64_t n)
{
	for (int64_t j = 0; j < n; j += V_LANES)
	{
		V			v[4] = {V_LOAD(x + j), V_LOAD(x + j + h), V_LOAD(x + j + 2 * h), V_LOAD(x + j + 3 * h)};

		ADD_PAIR(v[0], v[1]);
		ADD_PAIR(v[2], v[3]);
		V_STORE(x + j, V_ADD(v[0], v[2]));
		V_STORE(x + j + h, V_ADD(v[1], v[3]));
		V_STORE(x + j + 2 * h, V_SUB(v[0], v[2]));
		V_STORE(x + j + 3 * h, V_SUB(v[1], v[3]));
	}
}

/* Applies stage h to elements j and j + h for j < n. n: a multiple of V_LANES. */
TARGET static void
NAME(stage) (double *x, int64_t h, int64_t n)
{
	for (int64_t j = 0; j < n; j += V_LANES)
	{
		V			v = V_LOAD(x + j);
		V			w = V_LOAD(x + j + h);

		V_STORE(x + j, V_ADD(v, w));
		V_STORE(x + j + h, V_SUB(v, w));
	}
}

/* Converts the n elements of a vector and appends zeros up to length. */
TARGET static void
NAME(widen) (double *into, const float *x, int64_t n, int64_t length)
{
	int64_t		j = 0;

	for (; j + V_LANES <= n; j += V_LANES)
		V_STORE(into + j, V_LOAD_FLOAT4(x + j));
	for (; j < n; j++)
		into[j] = (double) x[j];
	memset(into + n, 0, (size_t) (length - n) * sizeof(double));
}

/* Sets the bits of n elements, 8 per byte and the first in the highest bit: 1 if the element is above 0. */
TARGET static void
NAME(bits) (uint8_t *into, const double *x, int64_t n)
{
	for (int64_t j = 0; j < n; j += 8)
	{
		uint32_t	byte = 0;

		for (int l = 0; l < 8; l += V_LANES)
			byte |= V_BITS_ABOVE(V_LOAD(x + j + l), V_ZERO()) << l;
		/* reverses the bits of the byte (Anderson, "Bit twiddling hacks") */
		byte = ((byte * 0x0802U & 0x22110U) | (byte * 0x8020U & 0x88440U)) * 0x10101U >> 16 & 0xFF;
		if (n - j < 8)
			byte &= 0xFF00U >> (n - j);
		into[j / 8] = (uint8_t) byte;
	}
}

static const RotationVersion NAME(version) = {
	.lanes = V_LANES,
	.draw = NAME(draw),
	.begin = NAME(begin),
	.two_stages = NAME(two_stages),
	.three_stages = NAME(three_stages),
	.stage = NAME(stage),
	.widen = NAME(widen),
	.bits = NAME(bits),
};

#undef ADD_PAIR
#undef ADD_EIGHT
