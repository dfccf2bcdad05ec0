/*
 * names.c: what a query's columns are called.
 *
 * A target of a SELECT is found by where it stands in the text: parts of an analysed expression know that, as the
 * parsed targets do. Where it ends, the server's own scanner tells.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_target.h"
#include "parser/scanner.h"

#include "rows/columns/names.h"

/* Longer ones are cut off. */
#define NAME_LENGTH_MAX 1000

/* The SELECT that gives a statement's columns their names; NULL if they have no targets */
static const SelectStmt *
naming_select(const RawStmt *statement)
{
	const SelectStmt *select;

	if (!IsA(statement->stmt, SelectStmt))
		return NULL;
	select = (const SelectStmt *) statement->stmt;
	while (select->op != SETOP_NONE)
		select = select->larg;
	return select->valuesLists == NIL ? select : NULL;
}

/* The target that an expression, which begins there, came from; NULL if that isn't known, or is a star */
static const ResTarget *
find_target(const SelectStmt *select, int location)
{
	const ResTarget *found = NULL;
	ListCell   *cell;

	if (select == NULL || location < 0)
		return NULL;
	foreach(cell, select->targetList)
	{
		const ResTarget *target = lfirst_node(ResTarget, cell);

		if (target->location >= 0 && target->location <= location)
			found = target;
	}
	if (found != NULL && IsA(found->val, ColumnRef) && IsA(llast(((ColumnRef *) found->val)->fields), A_Star))
		return NULL;
	return found;
}

/*
 * Is there nothing in a target that would name it? The server falls back to the name of a type that the whole is cast
 * to.
 */
static bool
is_nameless(const ResTarget *target)
{
	Node	   *value = target->val;

	while (IsA(value, TypeCast))
		value = ((TypeCast *) value)->arg;
	return strcmp(FigureColname(value), "?column?") == 0;
}

/* Keywords that end a target where they stand outside brackets */
static bool
ends_target(const char *keyword, const char *before)
{
	static const char *const enders[] = {
		"as", "from", "into", "where", "group", "having", "window", "order", "limit", "offset", "fetch", "for", "union",
		"intersect", "except"
	};

	/* IS DISTINCT FROM, WITHIN GROUP */
	if (before != NULL && ((strcmp(keyword, "from") == 0 && strcmp(before, "distinct") == 0) ||
						   (strcmp(keyword, "group") == 0 && strcmp(before, "within") == 0)))
		return false;
	for (int k = 0; k < lengthof(enders); k++)
		if (strcmp(keyword, enders[k]) == 0)
			return true;
	return false;
}

/* The keyword that a token is; NULL: none */
static const char *
keyword_of(int token, const core_YYSTYPE *value)
{
	/* single characters are tokens of their own */
	if (token < 256)
		return NULL;
	for (int k = 0; k < ScanKeywords.num_keywords; k++)
		if (ScanKeywordTokens[k] == token)
			return value->keyword;
	return NULL;
}

/* The expression of the target that begins there */
static const char *
expression_at(const char *text, int location)
{
	core_yy_extra_type extra;
	core_YYSTYPE value;
	YYLTYPE		at = 0;
	core_yyscan_t scanner;
	StringInfoData expression;
	const char *before = NULL;
	int			depth = 0;
	int			end = 0;
	int			token;

	initStringInfo(&expression);
	text += location;
	scanner = scanner_init(text, &extra, &ScanKeywords, ScanKeywordTokens);
	while ((token = core_yylex(&value, &at, scanner)) != 0)
	{
		const char *keyword = keyword_of(token, &value);
		/* the scanner ends each token with a 0 while it is the last one */
		int			length = (int) strlen(extra.scanbuf + at);

		if (depth == 0 && (token == ',' || token == ';' || token == ')' ||
						   (keyword != NULL && ends_target(keyword, before))))
			break;
		depth += token == '(' || token == '[' ? 1 : token == ')' || token == ']' ? -1 : 0;
		if (expression.len > 0 && at > end)
			appendStringInfoChar(&expression, ' ');
		appendBinaryStringInfo(&expression, text + at, length);
		end = at + length;
		before = keyword;
	}
	scanner_finish(scanner);
	if (expression.len > NAME_LENGTH_MAX)
		expression.data[pg_mbcliplen(expression.data, expression.len, NAME_LENGTH_MAX)] = '\0';
	return expression.data;
}

/* Is there another column of that name? */
static bool
is_shared(const Query *tree, const TargetEntry *entry)
{
	ListCell   *cell;

	foreach(cell, tree->targetList)
	{
		const TargetEntry *other = lfirst_node(TargetEntry, cell);

		if (!other->resjunk && other != entry && strcmp(other->resname, entry->resname) == 0)
			return true;
	}
	return false;
}

const char **
gr_name_columns(const char *text, const RawStmt *statement, const Query *tree)
{
	const SelectStmt *select = naming_select(statement);
	const char **names = palloc(list_length(tree->targetList) * sizeof(char *));
	ListCell   *cell;
	int			n = 0;

	foreach(cell, tree->targetList)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);
		const ResTarget *target = find_target(select, exprLocation((Node *) entry->expr));

		if (entry->resjunk)
			continue;
		if (target != NULL && target->name == NULL && (is_nameless(target) || is_shared(tree, entry)))
			names[n] = expression_at(text, target->location);
		else
			names[n] = entry->resname;
		n++;
	}
	return names;
}
