/*
 * remote_serve.h: carries out commands of factorizations and projections by the tables of a server's backend. The
 * commands must have passed gr_remote_check(). remote_server.c calls it first.
 *
 * Each function returns true, or false with the backend's error.
 */
#ifndef GPUREG_REMOTE_SERVE_H
#define GPUREG_REMOTE_SERVE_H

#include "compute/remote/remote.h"

extern bool gr_serve_factor(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err);
extern bool gr_serve_inverse(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err);
extern bool gr_serve_project(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err);
extern bool gr_serve_submit(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err);
extern bool gr_serve_take(GrRemoteServer *server, const GrRemoteCommand *command, GrError *err);

#endif							/* GPUREG_REMOTE_SERVE_H */
