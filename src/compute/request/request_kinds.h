/*
 * request_kinds.h: the list of all kinds of requests. KIND(name, operations, device) declares GR_REQUEST_name, whose
 * sums gr_request_ops_operations computes on the CPU and gr_cuda_sums_device in kernels/. `none` as device: devices do
 * not compute the kind. The first four kinds are those of GrPassKind, and so is JOINT.
 */
#ifndef GPUREG_REQUEST_KINDS_H
#define GPUREG_REQUEST_KINDS_H

#define GR_REQUEST_KINDS(KIND) \
	KIND(EXACT, pass, pass) \
	KIND(FAST, pass, pass) \
	KIND(GRADIENT, pass, pass) \
	KIND(FACE, pass, pass) \
	KIND(BOOT, boot, boot)		/* replicates of a bootstrap, or the moments of its influence */ \
	KIND(FLIPS, boot, boot)		/* replicates of a permutation test */ \
	KIND(SCORES, scores, none)	/* scores of the rows of one cluster */ \
	KIND(CLUSTERS, clusters, clusters)	/* the middle of covariances that are robust to clusters */ \
	KIND(MARGINS, margins, none)	/* sums of average marginal effects */ \
	KIND(JOINT, pass, none)		/* a pass whose steps move theta, too */ \
	KIND(MULTINOM, multinom, multinom)	/* sums of a multinomial regression */

#endif							/* GPUREG_REQUEST_KINDS_H */
