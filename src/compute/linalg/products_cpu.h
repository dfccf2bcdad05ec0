/*
 * products_cpu.h: the vector kernels of products.c, a template of simd.h. Lanes are sums, of which there are NSUMS: a
 * target of more lanes is never chosen, and its kernels are those of one lane.
 */
#if V_LANES <= NSUMS

#define NVECTORS (NSUMS / V_LANES)

/* Sets sums to the sums of products of n coefficients and values. load(p): loads V_LANES values. n: a multiple of 4 */
#define ADD_PRODUCTS(sums, b, x, n, load) do { \
	V			vector_[NVECTORS]; \
\
	for (int i_ = 0; i_ < NVECTORS; i_++) \
		vector_[i_] = V_ZERO(); \
	for (size_t k_ = 0; k_ < (n); k_ += NSUMS) \
		for (int i_ = 0; i_ < NVECTORS; i_++) \
			vector_[i_] = V_ADD(vector_[i_], V_MUL(V_LOAD((b) + k_ + i_ * V_LANES), load((x) + k_ + i_ * V_LANES))); \
	for (int i_ = 0; i_ < NVECTORS; i_++) \
		V_STORE((sums) + i_ * V_LANES, vector_[i_]); \
} while (0)

#else

#define ADD_PRODUCTS(sums, b, x, n, load) do { \
	for (int i_ = 0; i_ < NSUMS; i_++) \
		(sums)[i_] = 0; \
	for (size_t k_ = 0; k_ < (n); k_++) \
		(sums)[k_ % NSUMS] += (b)[k_] * (x)[k_]; \
} while (0)

#endif

TARGET static void
NAME(add) (double *sums, const double *b, const double *x, size_t n)
{
	ADD_PRODUCTS(sums, b, x, n, V_LOAD);
}

TARGET static void
NAME(add_single) (double *sums, const double *b, const float *x, size_t n)
{
	ADD_PRODUCTS(sums, b, x, n, V_LOAD_FLOAT4);
}

static const ProductsVersion NAME(products_version) = {.add = NAME(add),.add_single = NAME(add_single)};

#undef ADD_PRODUCTS
#undef NVECTORS
