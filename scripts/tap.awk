# SPDX-License-Identifier: GPL-2.0
#
# Count the leaf results of TAP or KTAP.  Nested results are indented (KUnit)
# or stand behind "# " (kselftest's runner); a result that follows deeper ones
# sums them up and is not counted, unless it fails while none of them did.
# Prints "passed failed skipped", then one line for each failure.  A level that
# ends before its plan, no plan at all, and no result at all are failures, but
# not yet with -v so_far=1, while the suite still runs.

function fault(text)
{
	failed++
	faults[++nfaults] = text
	from[nfaults] = depth
}

# What failed within the level that ends belongs to NAME.
function label(name,	i)
{
	for (i = nfaults; i && from[i] > depth; i--) {
		faults[i] = name "/" faults[i]
		from[i] = depth
	}
}

# The innermost level ends: compare it with its plan.
function leave()
{
	if (plan[depth] != "" && seen[depth] != plan[depth])
		fault("planned " plan[depth] " results, " seen[depth] " came")
	depth--
}

function enter(at)
{
	depth++
	indent[depth] = at
	mark[depth] = failed
	seen[depth] = 0
	plan[depth] = ""
}

# Leave the levels deeper than AT; were there any?  If so, BEFORE is what had
# failed when they began.
function leave_to(at,	any)
{
	while (depth && indent[depth] > at) {
		any = 1
		before = mark[depth]
		leave()
	}
	if (!depth || indent[depth] < at)
		enter(at)
	return any
}

function result(at, ok, name,	parent, skip)
{
	parent = leave_to(at)
	seen[depth]++
	sub(/^[0-9]+ *(- )?/, "", name)
	skip = name ~ /# *[Ss][Kk][Ii][Pp]/
	sub(/ *#.*/, "", name)
	if (parent) {
		label(name)
		if (!ok && failed == before)
			fault(name)
	} else if (skip) {
		skipped++
	} else if (ok) {
		passed++
	} else {
		fault(name)
	}
}

{
	sub(/\r$/, "")
	sub(/^\[ *[0-9]+\.[0-9]+\] ?/, "")
	match($0, /^[# \t]*/)
	at = RLENGTH
	line = substr($0, at + 1)
}

line ~ /^1\.\.[0-9]+/ {
	leave_to(at)
	if (plan[depth] != "") {
		leave()
		enter(at)
	}
	split(substr(line, 4), word, " ")
	plan[depth] = word[1] + 0
	planned = 1
	if (line ~ /^1\.\.0.*# *[Ss][Kk][Ii][Pp]/)
		skipped++
}

line ~ /^ok [0-9]/ { result(at, 1, substr(line, 4)) }
line ~ /^not ok [0-9]/ { result(at, 0, substr(line, 8)) }
line ~ /^Bail out!/ { fault(line) }

END {
	if (so_far) {
		print passed + 0, failed + 0, skipped + 0
		exit
	}
	nested = depth > 1
	while (depth)
		leave()
	if (nested)
		fault("ended within a subtest")
	if (!planned)
		fault("no plan")
	if (!(passed + failed + skipped))
		fault("no result")
	print passed + 0, failed + 0, skipped + 0
	for (i = 1; i <= nfaults; i++)
		print faults[i]
}
