/*
 * satterthwaite.h: degrees of freedom of the variances that CR2 gives, by Satterthwaite's approximation under the
 * working model (Bell and McCaffrey 2002; Pustejovsky and Tipton 2018).
 *
 * In the terms of sandwich.c, with C (X'WX) C' = 1, K_g the part of cluster g in that 1, f(K) = (1 - K)^(-1/2), and l
 * the coefficient's row of A C', where A leads to the terms of the estimates, the coefficient's variance is the sum
 * over clusters of (p_g' e)^2, e being errors that are independent and of variance 1 under the working model, and
 *
 *	 p_g' p_h = [g = h] l' f K_g f l - m_g' m_h, m_g = K_g f(K_g) l
 *
 * So the variance has mean sum of p_g' p_g and variance 2 sum over g and h of (p_g' p_h)^2, and df is twice the squared
 * mean over that variance. The sum over pairs takes no pairs: with M the sum of m_g m_g', it is the sum over g of
 * (p_g' p_g)^2 - (m_g' m_g)^2, and the squares of the entries of M. M has n (n + 1) / 2 numbers per coefficient, of n:
 * coefficients are taken some at a time, and clusters are gone through again for the next.
 */
#ifndef GPUREG_SATTERTHWAITE_H
#define GPUREG_SATTERTHWAITE_H

#include "compute/base/arena.h"
#include "compute/base/compute.h"

/* Numbers of all M that are kept at a time, unless one coefficient's is larger: 64 MB */
#define GR_SATTERTHWAITE_SIZE 8388608

typedef struct GrSatterthwaite
{
	int			n;				/* terms, and coefficients */
	double	   *lines;			/* n x n: row c is l of coefficient c */
	int			first;			/* coefficients of this turn: number first, and */
	int			count;			/* count - 1 that follow it */
	double	   *squares;		/* M of each coefficient, packed */
	double	   *mean;			/* per coefficient, the sum over clusters of p_g' p_g */
	double	   *own;			/* per coefficient, the sum over clusters of (p_g' p_g)^2 - (m_g' m_g)^2 */
	double	   *work;			/* 2 n */
} GrSatterthwaite;

/* Carves the arrays for n terms. */
extern void gr_satterthwaite_carve(GrSatterthwaite *s, int n, GrArena *arena);

/* Begins a turn with coefficient number first. */
extern void gr_satterthwaite_begin(GrSatterthwaite *s, int first);

/*
 * Adds a cluster. values: n eigenvalues of K_g, stride apart; vectors: n x n, row k the k-th eigenvector; f: n values
 * of f at the eigenvalues, 0 at those that are 1. Returns false if canceled.
 */
extern bool gr_satterthwaite_add(GrSatterthwaite *s, const double *values, int stride, const double *vectors,
								 const double *f, GrPoll *poll);

/* The degrees of freedom of coefficient number first + k, k < count; NaN if its variance has the mean 0 */
extern double gr_satterthwaite_df(const GrSatterthwaite *s, int k);

#endif							/* GPUREG_SATTERTHWAITE_H */
