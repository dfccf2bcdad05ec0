/*
 * satterthwaite.h: degrees of freedom of CR2's variances, by Satterthwaite's approximation under the working model
 * (Bell and McCaffrey 2002; Pustejovsky and Tipton 2018). Called by phases.c (carving) and sandwich.c.
 *
 * In the terms of sandwich.c: C (X'WX) C' = 1, K_g is the part of cluster g in that 1, f(K) = (1 - K)^(-1/2), and l is
 * the coefficient's row of A C', where A maps to the reported terms. The coefficient's variance is the sum over
 * clusters of (p_g' e)^2, where errors e are independent with variance 1 under the working model, and
 *
 * p_g' p_h = [g = h] l' f K_g f l - m_g' m_h, m_g = K_g f(K_g) l
 *
 * The variance thus has mean sum of p_g' p_g and variance 2 sum over g and h of (p_g' p_h)^2, and df is twice the
 * squared mean over that variance. The sum over pairs does not need pairs: with M the sum of m_g m_g', it is the sum
 * over g of (p_g' p_g)^2 - (m_g' m_g)^2, plus the squares of the entries of M. M has n (n + 1) / 2 numbers for each of
 * n coefficients. Coefficients are therefore processed in turns, with a pass over the clusters per turn.
 */
#ifndef GPUREG_SATTERTHWAITE_H
#define GPUREG_SATTERTHWAITE_H

#include "compute/base/arena.h"
#include "compute/base/compute.h"

/* Limit of the numbers of all M of a turn (64 MB), unless a single M is larger. */
#define GR_SATTERTHWAITE_SIZE 8388608

typedef struct GrSatterthwaite
{
	int			n;				/* number of terms and of coefficients */
	double	   *lines;			/* n x n: row c is l of coefficient c */
	int			first;			/* first coefficient of this turn */
	int			count;			/* number of coefficients of this turn */
	double	   *squares;		/* M of each coefficient, packed */
	double	   *mean;			/* per coefficient, the sum over clusters of p_g' p_g */
	double	   *own;			/* per coefficient, the sum over clusters of (p_g' p_g)^2 - (m_g' m_g)^2 */
	double	   *work;			/* 2 n */
} GrSatterthwaite;

/* Carves the arrays for n terms. */
extern void gr_satterthwaite_carve(GrSatterthwaite *s, int n, GrArena *arena);

/* Begins a turn at coefficient first. */
extern void gr_satterthwaite_begin(GrSatterthwaite *s, int first);

/*
 * Adds a cluster. values: n eigenvalues of K_g, stride apart; vectors: n x n, row k the k-th eigenvector; f: n values
 * of f at the eigenvalues, 0 at those that are 1. Returns false if canceled.
 */
extern bool gr_satterthwaite_add(GrSatterthwaite *s, const double *values, int stride, const double *vectors,
								 const double *f, GrPoll *poll);

/* Returns the degrees of freedom of coefficient first + k, k < count; NaN if its variance has mean 0. */
extern double gr_satterthwaite_df(const GrSatterthwaite *s, int k);

#endif							/* GPUREG_SATTERTHWAITE_H */
