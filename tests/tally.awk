# Reads the TAP of one producer; prints its failures, each with the lines around it, and names what it skipped. Writes
# "passed failed skipped" to the file `counts`, and to the file `left` a line for each test that has not passed, or one
# without a name: the producer, a tab, the name. `status` is how the producer ended, `seconds` what it was allowed.
#
# What a test says may stand before its line (a unit test on stderr) or after it (bats): both are shown.

function failure(text) { broken = 1; failed++; print "    not ok " text }
function leave() { sub(/^(not )?ok [0-9]* *(- )?/, ""); sub(/ *# *[Ss][Kk][Ii][Pp].*/, ""); names = names producer "\t" $0 "\n" }
/^1\.\.0.*[Ss][Kk][Ii][Pp]/ { broken = 1; skipped++; has_plan = 1; sub(/^1\.\.0 *# */, ""); print "    skipped: " $0; next }
/^1\.\.[0-9]+/ { planned = substr($1, 4) + 0; has_plan = 1; next }
/^(not )?ok( |$)/ {
	ran++
	if (/^not/) {
		failed++
		printf "%s    %s\n", before, $0
		leave()
		after = 1
	} else {
		after = 0
		if (/# *[Ss][Kk][Ii][Pp]/) { skipped++; sub(/^ok [0-9]* *(- )?/, ""); print "    skipped: " $0; leave() } else passed++
	}
	before = ""
	next
}
after { print "    " $0; next }
/^Bail out!/ { print "    " $0 }
{ before = before "    " $0 "\n"; if (++kept > 2000) { before = ""; kept = 0 } }
END {
	if (!has_plan) planned = ran
	if (before != "" && (status || planned != ran)) printf "%s", before
	if (status == 124 || status == 137) failure("ended within the time allowed (" seconds " s)")
	else if (!has_plan) failure("printed a plan (exit status " status ")")
	else if (planned != ran) failure("ran all of its tests (planned " planned ", ran " ran + 0 ", exit status " status ")")
	else if (status && !failed) failure("exited with 0 (exit status " status ")")
	print passed + 0, failed + 0, skipped + 0 >counts
	printf "%s", broken ? "" : names ? names : producer "\t\n" >left
}
