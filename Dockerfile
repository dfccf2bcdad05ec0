# PostgreSQL's official image with gpureg, for the CPU:
#
#   docker build -t gpureg .                            or --build-arg SERVER=16
#   docker run --rm -e POSTGRES_PASSWORD=secret gpureg
#
# script/check-dockerfile runs these steps without Docker.
ARG SERVER=17
FROM postgres:${SERVER} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends make gcc g++ libboost-dev postgresql-server-dev-$PG_MAJOR
COPY . /usr/src/gpureg
# without bitcode for the server's JIT compiler, which inlines none of it
RUN make -C /usr/src/gpureg -j"$(nproc)" CUDA=no with_llvm=no \
    && make -C /usr/src/gpureg CUDA=no with_llvm=no install DESTDIR=/gpureg

FROM postgres:${SERVER}
RUN apt-get update \
    && apt-get install -y --no-install-recommends libstdc++6 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /gpureg/ /
# in the database that the image makes when it first starts
RUN echo 'CREATE EXTENSION gpureg;' >/docker-entrypoint-initdb.d/gpureg.sql
