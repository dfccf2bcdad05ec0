/*
 * exp_cpu.h: exp() of vectors, a part of templates of simd.h: step_cpu.h and multinom_cpu.h include it. The includer
 * undefines EXP_MLA.
 */
#define EXP_MLA(a, b, c) (fused ? V_FMA(a, b, c) : V_MLA(a, b, c))

/*
 * Returns exp(-a) for 0 <= a <= 460, within one unit in the last place. With -a = k log 2 + f and |f| <= log(2) / 2,
 * adding 1.5 2^52 rounds to an integer, and 1023 more leaves k's biased exponent in the lowest bits. k times the high
 * part of log 2 (33 bits, as in fdlibm's e_exp.c) is exact. The polynomial is the minimax one for (exp(f) - 1 - f) /
 * f^2; the relative error of exp is below 1e-17. fused: a constant; true if each product is rounded only with its sum,
 * even if that is slow.
 */
static inline __attribute__((always_inline)) TARGET V
NAME(exp_minus_by) (V a, bool fused)
{
	const V		magic = V_SET1(0x1.8p52 + 1023);
	V			shifted = EXP_MLA(a, V_SET1(-0x1.71547652b82fep0), magic);
	V			k = V_SUB(shifted, magic);
	V			f = EXP_MLA(k, V_SET1(-0x1.62e42fee00000p-1), V_SUB(V_ZERO(), a));
	V			q = V_SET1(0x1.ad7f02a6aa9a0p-26);

	f = EXP_MLA(k, V_SET1(-0x1.a39ef35793c76p-33), f);
	q = EXP_MLA(q, f, V_SET1(0x1.28adce726e390p-22));
	q = EXP_MLA(q, f, V_SET1(0x1.71df262c47695p-19));
	q = EXP_MLA(q, f, V_SET1(0x1.a01999adcc22fp-16));
	q = EXP_MLA(q, f, V_SET1(0x1.a01a0129b4608p-13));
	q = EXP_MLA(q, f, V_SET1(0x1.6c16c1844b015p-10));
	q = EXP_MLA(q, f, V_SET1(0x1.1111111127e83p-7));
	q = EXP_MLA(q, f, V_SET1(0x1.55555555507f1p-5));
	q = EXP_MLA(q, f, V_SET1(0x1.55555555554f9p-3));
	q = EXP_MLA(q, f, V_SET1(0x1.000000000000ap-1));
	q = V_ADD(V_SET1(1.0), EXP_MLA(V_MUL(f, f), q, f));
	return V_MUL(q, V_SHIFT_TO_EXPONENT(shifted));
}
