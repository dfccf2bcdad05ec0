-- Functions and a cast for pgvector's type vector. To be run once, by the owner of the type, in a database that has
-- gpureg and pgvector 0.7 or later:
--
--     psql -d mine -f docs/howto/pgvector.sql
--
-- pgvector itself casts vector to real[] wherever that is wanted, and real[] to vector where it is asked to. What is
-- made here spares such casts. The functions have names of their own, so that calls of gpu_project with a literal stay
-- what they are.
\set QUIET on

-- a vector in k dimensions
CREATE FUNCTION vector_project(v vector, k int, seed bigint DEFAULT 0, density float8 DEFAULT NULL) RETURNS vector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN gpu_project(v::real[], k, seed, density)::vector;

-- signs after a random rotation; as bit(k) they go into an index by bit_hamming_ops
CREATE FUNCTION vector_project_bits(v vector, k int, seed bigint DEFAULT 0) RETURNS bit varying
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN gpu_project_bits(v::real[], k, seed);

-- the prediction of a model whose features are the vector's elements
CREATE FUNCTION vector_predict(m gpu_model, v vector) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN gpu_predict(m, v::real[]);

-- for the aggregates, whose features are float8: gpu_ols_array_agg(y, embedding::float8[])
CREATE FUNCTION vector_to_float8(v vector) RETURNS float8[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN v::real[]::float8[];
CREATE CAST (vector AS float8[]) WITH FUNCTION vector_to_float8(vector) AS ASSIGNMENT;
