/* theta_table.c: the table of each thread; see theta_table.h. */
#include "compute/glm/theta_table.h"

#include <string.h>

GrThetaTable *
gr_theta_table(double theta)
{
	static _Thread_local GrThetaTable table;

	if (table.theta != theta)
	{
		memset(table.known, 0, sizeof(table.known));
		table.theta = theta;
	}
	return &table;
}
