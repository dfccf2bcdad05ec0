/*
 * kept_name.c: how SQL refers to kept rows; see kept_name.h.
 *
 * The privileges are asked for before anybody looks whether there are such rows, so that no message tells more of
 * another role's rows than that role's name.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "run/kept_name.h"

static void raise_form(const char *reference) __attribute__((noreturn));

static void
raise_form(const char *reference)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_NAME),
			 errmsg("\"%s\" does not name kept rows", reference),
			 errdetail("The form is name or owner.name."),
			 errhint("Put double quotes around a name with dots or quotes, as quote_ident() does.")));
}

static void raise_length(void) __attribute__((noreturn));

static void
raise_length(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_NAME),
			 errmsg("name of kept rows must have 1 to %d bytes", NAMEDATALEN - 1)));
}

/* Reads a part up to the next dot or the end into part, and returns what follows; ERROR if it has no such form. */
static const char *
read_part(const char *reference, const char *at, char part[NAMEDATALEN])
{
	bool		quoted = *at == '"';
	bool		closed = !quoted;
	int			nbytes = 0;

	for (at += quoted; *at != '\0' && (quoted || *at != '.'); at++)
	{
		if (*at == '"' && !quoted)
			raise_form(reference);
		if (*at == '"' && *++at != '"')
		{
			closed = true;
			break;
		}
		if (nbytes == NAMEDATALEN - 1)
			raise_length();
		part[nbytes++] = *at;
	}
	if (!closed || (*at != '\0' && *at != '.'))
		raise_form(reference);
	if (nbytes == 0)
		raise_length();
	part[nbytes] = '\0';
	return at;
}

/* The role of that name, whose privileges the current role has */
static Oid
find_owner(const char *reference, const char *owner)
{
	Oid			role = get_role_oid(owner, true);

	if (!OidIsValid(role))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"%s\" does not exist", owner),
				 errhint("Kept rows are named name or owner.name. A name that has a dot is quoted: %s.",
						 quote_identifier(reference))));
	if (!has_privs_of_role(GetUserId(), role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for kept rows of role \"%s\"", owner)));
	return role;
}

void
gr_kept_resolve(const char *reference, GrKeptName *resolved)
{
	char		owner[NAMEDATALEN];
	const char *rest = read_part(reference, reference, resolved->name);

	resolved->owner = GetUserId();
	resolved->qualified = *rest == '.';
	if (!resolved->qualified)
		return;
	strlcpy(owner, resolved->name, sizeof(owner));
	rest = read_part(reference, rest + 1, resolved->name);
	if (*rest != '\0')
		raise_form(reference);
	resolved->owner = find_owner(reference, owner);
}
