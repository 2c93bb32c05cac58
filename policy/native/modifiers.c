/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The modifiers' tables, from the same lists that the machine is made from. */
#define DIVVY_POLICY rr
#include "host.h"
#include "select/rr.h"
#include "machine.h"

#define PARAM_ROW(name, kind, unit, dflt, min, max, help) { #name, unit, help, kind, dflt, min, max },

#define TABLES(UPPER, lower) static const struct param lower##_params[] = { UPPER##_PARAMS(PARAM_ROW){ 0 } };
MODIFIERS(TABLES)

#define ROW(UPPER, lower) \
	{ #lower, UPPER##_TITLE, lower##_params, sizeof(lower##_params) / sizeof(lower##_params[0]) - 1, UPPER },

const struct modifier divvy_modifiers[] = { MODIFIERS(ROW){ 0 } };
