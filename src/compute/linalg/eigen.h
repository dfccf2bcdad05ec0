/*
 * eigen.h: eigenvalues and eigenvectors of small symmetric matrices, for clusters' parts of the hat matrix. Called by
 * sandwich.c and sum_clusters.c.
 */
#ifndef GPUREG_EIGEN_H
#define GPUREG_EIGEN_H

#include "compute/base/compute.h"

/*
 * Computes the eigenvalues of the symmetric n x n matrix a, by Jacobi's method, cyclic by rows (Golub and Van Loan,
 * 8.5). The diagonal of a becomes the eigenvalues; row k of vectors, n x n, becomes the k-th unit eigenvector. Returns
 * false if the host asked to stop.
 */
extern bool gr_eigen(double *a, double *vectors, int n, GrPoll *poll);

#endif							/* GPUREG_EIGEN_H */
