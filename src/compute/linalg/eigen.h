/*
 * eigen.h: eigenvalues of small symmetric matrices.
 */
#ifndef GPUREG_EIGEN_H
#define GPUREG_EIGEN_H

#include "compute/base/compute.h"

/*
 * Jacobi's method, cyclic, by rows (Golub and Van Loan, 8.5): of a symmetric n x n matrix a, whose diagonal becomes the
 * eigenvalues, and row k of vectors, n x n, the unit eigenvector of the k-th. False if the host asked to stop.
 */
extern bool gr_eigen(double *a, double *vectors, int n, GrPoll *poll);

#endif							/* GPUREG_EIGEN_H */
