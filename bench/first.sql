-- The first fit of a session over gpureg_bench (rows.sql), and the median of five more. The table has been read before,
-- as in a session that did other work first. Prints both in seconds. Variables: rows, workers, device.
\ir common.sql
SET gpureg.device = :device;
SELECT pg_temp.seconds('SELECT sum(x1), sum(y) FROM gpureg_bench') \g /dev/null
\set fit 'SELECT gpu_ols_fit(''SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM gpureg_bench'')'
SELECT pg_temp.seconds(:'fit') AS first_seconds \gset
\pset fieldsep ' '
SELECT :first_seconds, percentile_cont(0.5) WITHIN GROUP (ORDER BY pg_temp.seconds(:'fit')) FROM generate_series(1, 5);
