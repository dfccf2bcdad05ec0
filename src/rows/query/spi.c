/*
 * spi.c: runs an analysed query through SPI, into a receiver.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "nodes/pg_list.h"

#include "rows/query/spi.h"

void
gr_spi_check(const GrSpiRun *run)
{
	List	   *queries = run->source->query_list;

	if (list_length(queries) != 1 || !equal(linitial(queries), run->tree))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("query refers to other objects than when it was analysed"),
				 errdetail("A table, function or type that the query names was changed while the query was being "
						   "planned or run."),
				 errhint("Run the statement again.")));
}

void
gr_spi_run(GrSpiRun *run)
{
	SPIPrepareOptions prepare = {.parseMode = RAW_PARSE_DEFAULT,.cursorOptions = run->cursor_options};
	SPIExecuteOptions execute = {.read_only = true,.tcount = run->nrows_max,.dest = run->dest};
	ErrorContextCallback *own = error_context_stack;
	SPIPlanPtr	plan;
	int			result;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "cannot connect to SPI");
	error_context_stack = run->outer;
	plan = SPI_prepare_extended(run->text, &prepare);
	error_context_stack = own;
	if (plan == NULL)
		elog(ERROR, "cannot prepare the query: %s", SPI_result_code_string(SPI_result));
	if (list_length(SPI_plan_get_plan_sources(plan)) != 1)
		elog(ERROR, "query was prepared as several statements");
	run->source = linitial(SPI_plan_get_plan_sources(plan));
	gr_spi_check(run);
	error_context_stack = run->outer;
	result = SPI_execute_plan_extended(plan, &execute);
	error_context_stack = own;
	if (result < 0)
		elog(ERROR, "cannot run the query: %s", SPI_result_code_string(result));
	run->source = NULL;
	(void) SPI_finish();
}
