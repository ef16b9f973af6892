// SPDX-License-Identifier: GPL-2.0
// The data in a page of massif-ctl report.

#include "selftests/lib/page_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/lib/ctl_run.h"

char *page_data_of(const char *path)
{
	static const char begin[] = "<script type=\"application/json\" id=\"data\">\n";
	char *page = ctl_read_file(path), *at = page ? strstr(page, begin) : NULL, *end;
	char *data = NULL;

	if (at && strncmp(page, "<!DOCTYPE html>\n", 16) == 0) {
		at += strlen(begin);
		end = strstr(at, "</script>");
		data = end ? strndup(at, (size_t)(end - at)) : NULL;
	}
	free(page);
	return data;
}

bool page_data_extract(const char *path, const char *to)
{
	char *data = page_data_of(path);
	bool fine = data;

	if (data)
		ctl_write_file(to, data, 0644);
	free(data);
	return fine;
}

/*
 * Both are for jq. They print for each snapshot with a tree its number and the bytes of each stack, and the counts of each
 * stack; a stack is the list of its calls without their addresses. The export repeats the last tree of a massif.out file
 * as its end.
 */
static const char of_export[] =
	"def without_copy: if $text and (.snapshots | .[-1] as $last | .[:-1] | any(. == $last))"
	"	then .snapshots |= .[:-1] else . end;"
	"without_copy | . as $d |"
	"[.stacks[] | [.[] | $d.calls[.] | [.function, .file // \"\", .line, .object // \"\"]] | reverse] as $names |"
	"[$names, ($d.stack_threads // [])] | transpose | map([.[1], .[0]]) | . as $stacks |"
	"def sums: group_by(.[0]) | map([.[0][0], (map(.[1]) | add)]) | map(select(.[1] != 0));"
	"{ trees: [$d.snapshots | to_entries[] | select(.value.tree != \"empty\") |"
	"	[.key, (.value.bytes | map([$stacks[.[0]], .[1]]) | sums)]],"
	"  counts: [range(1; 5) as $k | ($d.counts // []) | map([$stacks[.[0]], .[$k]]) | sums],"
	"  totals: [$d.snapshots[] | [.time, .heap_bytes, .extra_bytes, .stack_bytes]] }";

static const char of_page[] =
	". as $d | .sides[0].processes[0] as $p | .strings as $s |"
	"def call: . as $c | $d.calls[5 * $c:5 * $c + 4] | [$s[.[0]], $s[.[1]], .[3], $s[.[2]]];"
	"reduce range(1; $p.depth | length) as $i ({ path: [], all: [[null, []]] };"
	"	.path = .path[0:$p.depth[$i] - 1] + [$p.call[$i]] | .all += [.path]) |"
	".all | map([(map(select(type == \"number\" and . < -1)) | if length > 0 then -2 - .[0] else null end),"
	"	    map(select(type == \"number\" and . >= 0) | call)]) as $stacks |"
	"def sums: group_by(.[0]) | map([.[0][0], (map(.[1]) | add)]) | map(select(.[1] != 0));"
	"{ trees: [foreach $p.moments[] as $m ({ own: {} };"
	"	.n = -1 | reduce range(0; $m.changes | length; 2) as $i (.; .n += $m.changes[$i] |"
	"		.own[.n | tostring] = $m.changes[$i + 1]);"
	"	[$m.snapshot, (.own | to_entries | map([$stacks[.key | tonumber], .value]) | sums)])],"
	"  counts: [range(1; 5) as $k | ($p.counts // []) as $c | reduce range(0; $c | length; 5) as $i ({ n: -1, list: [] };"
	"	.n += $c[$i] | .list += [[$stacks[.n], $c[$i + $k]]]) | .list | sums],"
	"  totals: [[$p.time, $p.heap, $p.extra, $p.stacks] | transpose[]] }";

/* Writes what @argv prints to the file @to. Returns whether it succeeds. */
static bool print_to(const char *to, const char *const *argv)
{
	struct ctl_result result;
	bool fine;

	ctl_run(&result, NULL, NULL, argv);
	fine = ctl_exit_code(&result) == 0 && strlen(result.out) > 100;
	ctl_write_file(to, result.out, 0644);
	ctl_result_free(&result);
	return fine;
}

bool page_data_equal_export(const char *data, const char *json, bool is_text, char difference[static 2048])
{
	const char *expected[] = { "jq", "-S", "--argjson", "text", is_text ? "true" : "false", of_export, json, NULL };
	const char *found[] = { "jq", "-S", of_page, data, NULL };
	struct ctl_result result;
	bool fine;

	snprintf(difference, 2048, "jq fails");
	if (!print_to("out.expected", expected) || !print_to("out.found", found))
		return false;
	CTL_RUN(&result, "diff", "out.expected", "out.found");
	snprintf(difference, 2048, "%s", result.out);
	fine = ctl_exit_code(&result) == 0;
	ctl_result_free(&result);
	return fine;
}
