# What happens in a manifest's run: needs, items, then, emits, on_failure, finally, creates, contexts, limits.

load helper

# manifest: the batches on stdin, below "batches:", as m.yaml.
manifest() {
	{ printf 'version: 1\n%s\n' "$*" && echo 'batches:' && cat; } >m.yaml
}

# until_true COMMAND …: what another process is about to do.
until_true() {
	local tries
	for ((tries = 0; tries < 20 * patience; tries++)); do
		"$@" && return
		env -u FAIRPAR_TEST sleep 0.05
	done
	fail "never came true: $*"
}

# ---- needs ----

@test "a batch starts when all that it needs have ended" {
	manifest <<'END'
  last: {needs: [a, b], run: echo last >>order}
  a: {args: [1, 2], run: "echo a {} >>order"}
  b: {run: echo b >>order}
END
	run_fairpar -j1 -f m.yaml
	assert_eq "$(tr '\n' ' ' <order)" "a 1 b a 2 last "
}

@test "what needs a failed batch is skipped, and what needs that, and says why" {
	manifest <<'END'
  bad: {run: exit 3}
  after: {needs: [bad], args: [1, 2], run: "echo never {}"}
  later: {needs: [after], run: echo never}
  other: {run: echo other}
END
	run_fairpar 1 -f m.yaml
	assert_lines other
	assert_contains "$stderr" "batch 'after' is skipped: it needs 'bad', which failed"
	assert_contains "$stderr" "batch 'later' is skipped: it needs 'after', which is skipped"
	assert_contains "$stderr" "1 of 5 jobs failed: bad#1 (exit 3); 3 skipped"
}

@test "skipping is known at the first failure, not when the batch has ended" {
	make_fifo go
	manifest <<'END'
  bad: {commands: [exit 1, "read x <go; echo ended"]}
  after: {needs: [bad], run: echo never, finally: echo never}
END
	exec 5<>go
	start_fairpar -j2 -f m.yaml 5>&-
	until_true grep -q "'after' is skipped" "$BATS_TEST_TMPDIR/stderr"
	echo >go
	end_fairpar 1
	assert_lines ended
}

@test "a need with allow_failure is met when it fails, and does not count" {
	manifest <<'END'
  bad: {run: exit 3, allow_failure: true}
  after: {needs: [bad], run: echo after}
END
	run_fairpar -f m.yaml
	assert_lines after
	assert_contains "$stderr" "1 of 2 jobs failed: bad#1 (exit 3); 1 allowed to"
}

@test "an empty batch is a need that is met" {
	: >empty
	manifest <<'END'
  none: {args_from: {file: empty}, run: "echo {}"}
  after: {needs: [none], run: echo after}
END
	run_fairpar -f m.yaml
	assert_lines after
}

@test "naming a batch runs it with what it needs and emits into" {
	manifest <<'END'
  a: {run: echo a}
  b: {needs: [a], run: echo x, emits: c}
  c: {run: "echo c {}"}
  d: {run: echo d}
END
	run_fairpar -j1 -f m.yaml b
	assert_lines a "c x"
	run_fairpar 255 -f m.yaml nosuch
	assert_contains "$stderr" nosuch
}

@test "a chain of many batches runs, and is skipped, without trouble" {
	local i n
	n=$(long_or 5000 1000)
	for ((i = 1; i <= n; i++)); do
		echo "  b$i: {run: true, needs: [b$((i - 1))]}"
	done | { echo '  b0: {run: "true"}'; cat; } | manifest
	run_fairpar -f m.yaml
	sed -i 's/b0: .*/b0: {run: "false"}/' m.yaml
	run_fairpar 1 --quiet -f m.yaml
	run_fairpar 1 --summary=never -f m.yaml
	assert_contains "$stderr" "$n skipped"
	assert_contains "$stderr" "and $((n - 20)) more batches are skipped because of 'b0'"
	assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stderr")" 22
}

# ---- items ----

@test "items come from args, files, patterns, commands, stdin and a matrix" {
	printf 'f 1\nf2' >lines
	printf 'z 1\nx\0z2\0' >nuls
	mkdir -p d/e && touch d/b d/a d/e/c
	manifest <<'END'
  args: {args: ["a 1", no, 010], run: "echo args {}"}
  file: {args_from: {file: lines}, run: "echo file {}"}
  nul: {args_from: {file0: nuls}, run: "echo nul {}"}
  glob: {args_from: {glob: "d/**/*"}, run: "echo glob {}"}
  command: {args_from: {command: seq 2}, run: "echo command {}"}
  stdin: {args_from: {stdin: true}, run: "echo stdin {}"}
  matrix: {matrix: {a: [1, 2], b: [x, y], exclude: [{a: 1, b: y}]}, run: "echo matrix {a}{b}"}
END
	run_fairpar -f m.yaml <<<"s 1"
	assert_set "args a 1" "args no" "args 010" "file f 1" "file f2" "nul z 1" x "nul z2" "glob d/a" "glob d/b" "glob d/e" \
		"glob d/e/c" "command 1" "command 2" "stdin s 1" "matrix 1x" "matrix 2x" "matrix 2y"
}

@test "what a command lists are items, also where jobs write directly or have the terminal" {
	manifest <<'END'
  a: {args_from: {command: "seq 2; echo told >&2"}, run: "echo item {}"}
END
	run_fairpar --ungroup -f m.yaml
	assert_set 'item 1' 'item 2'
	assert_contains "$stderr" told
	run_fairpar --tty -f m.yaml
	assert_set 'item 1' 'item 2'
	manifest <<'END'
  a: {args_from: {command: seq 2}, run: "echo item {}", output: raw}
END
	run_fairpar -f m.yaml
	assert_set 'item 1' 'item 2'
}

@test "a pattern without a match gives a warning, and an empty batch" {
	manifest <<'END'
  a: {args_from: {glob: "nope/*.c"}, run: "echo {}"}
END
	run_fairpar -f m.yaml
	assert_contains "$stderr" "batch 'a': glob 'nope/*.c' matches nothing in '$PWD'"
	mkdir -p dir/dir
	manifest <<'END'
  a: {args_from: {glob: "*.c"}, working_dir: dir, run: "echo {}"}
  b: {args_from: {glob: "/nope/*"}, run: "echo {}"}
END
	mv m.yaml dir
	run_fairpar -f dir/m.yaml
	assert_contains "$stderr" "batch 'a': glob '*.c' matches nothing in '$PWD/dir/dir'"
	assert_contains "$stderr" "batch 'b': glob '/nope/*' matches nothing
"
}

@test "a command that lists without end is ended at once, with what it has listed" {
	make_fifo up
	manifest <<'END'
  a: {args_from: {command: "yes"}, run: "echo up >up; exec sleep 100 # {}"}
END
	exec 5<>up
	start_fairpar -j2 -f m.yaml 5>&-
	await up
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_contains "$stderr" "cancelled"
}

@test "a list that cannot be had fails its batch, and what needs it is skipped" {
	manifest <<'END'
  file: {args_from: {file: nosuch}, run: "echo {}"}
  command: {args_from: {command: "echo one; exit 4"}, run: "echo {}"}
  after: {needs: [file], run: echo never}
  fine: {run: echo fine}
END
	run_fairpar 2 -f m.yaml
	assert_set one fine
	assert_contains "$stderr" "cannot open 'nosuch'"
	assert_contains "$stderr" "args_from: exit 4"
}

@test "a tree too deep to go through fails its batch, and nothing else" {
	mkdir -p "$(printf 'd/%.0s' {1..300})"
	manifest <<'END'
  deep: {args_from: {glob: "**/x"}, run: "echo {}"}
  fine: {run: echo fine}
END
	run_fairpar 1 -f m.yaml
	assert_lines fine
	assert_contains "$stderr" "File name too long"
}

@test "an item cannot inject a command, whatever it holds" {
	manifest <<'END'
  a: {args: ["$(touch x)", "a'; touch y; '", "-n"], run: "printf '%s\\n' {}"}
END
	run_fairpar -j1 -k -f m.yaml
	assert_lines '$(touch x)' "a'; touch y; '" -n
	[[ ! -e x && ! -e y ]]
}

@test "without items braces are text" {
	manifest <<'END'
  a: {run: "echo {} {1} {#} {a,b}", then: "echo then {}"}
END
	run_fairpar -f m.yaml
	assert_lines '{} {1} {#} {a,b}' 'then {}'
}

@test "the batches take turns in the order of the file" {
	manifest <<'END'
  a: {args: [1, 2, 3], run: "echo a{} >>order"}
  b: {args: [1, 2, 3], run: "echo b{} >>order", weight: 2}
END
	run_fairpar -j1 -f m.yaml
	assert_eq "$(tr '\n' ' ' <order)" "a1 b1 b2 a2 b3 a3 "
}

# ---- what follows ----

@test "then steps run for the item that succeeded, from the worker's own list" {
	manifest <<'END'
  a: {args: [1, 2], run: "echo a{}", then: ["echo b{}", "test {} = 1", "echo c{}"]}
END
	run_fairpar 1 -j1 --trace-service trace -f m.yaml
	assert_lines a1 b1 c1 a2 b2
	assert_eq "$(grep -c '"source":"own"' trace)" 5
}

@test "what a job emits into another batch goes to the end of its queue, while the job runs" {
	make_fifo go got
	manifest <<'END'
  from: {run: "echo x; read y <go; printf z", emits: to}
  to: {args: [own], run: "echo got {}; test {} != x || echo >got"}
END
	exec 5<>go 6<>got
	start_fairpar -j2 -f m.yaml 5>&- 6>&-
	await got
	echo >go
	end_fairpar
	assert_eq "${lines[0]}" "got own"
	assert_set "got own" "got x" "got z" # the last two may end in any order
}

@test "jobs that emit into their own batch come next on the worker; with prefer_fairness at the end" {
	manifest <<'END'
  crawl:
    args: [a, b]
    run: "echo {} >>order; test $(printf %s {} | wc -c) -ge 3 || printf '%s\\n' {}x {}y"
    emits: crawl
END
	run_fairpar -j1 -f m.yaml
	assert_eq "$(tr '\n' ' ' <order)" "a ay ayy ayx ax axy axx b by byy byx bx bxy bxx "
	rm order
	sed -i 's/emits: crawl/&\n    prefer_fairness: true/' m.yaml
	run_fairpar -j1 -f m.yaml
	assert_eq "$(tr '\n' ' ' <order)" "a b ax ay bx by axx axy ayx ayy bxx bxy byx byy "
}

@test "with retries what a failed attempt emitted is not taken" {
	manifest <<'END'
  from: {args: [2, 3], run: "echo $FAIRPAR_ATTEMPT {}; test $FAIRPAR_ATTEMPT = {}", retries: 1, emits: to}
  to: {run: "echo got {}"}
END
	run_fairpar 1 -f m.yaml
	assert_lines "got 2 2"
}

@test "a batch that others emit into waits for what it needs itself" {
	manifest <<'END'
  from: {run: "seq 2; echo from >>order", emits: to}
  slow: {needs: [from], run: echo slow >>order}
  to: {needs: [slow], run: "echo to {} >>order"}
END
	run_fairpar -j1 -f m.yaml
	assert_eq "$(tr '\n' ' ' <order)" "from slow to 1 to 2 "
}

@test "a batch is skipped with those that were to emit into it" {
	manifest <<'END'
  bad: {run: exit 1}
  from: {needs: [bad], run: echo x, emits: to}
  to: {run: "echo {}"}
  after: {needs: [to], run: echo never}
END
	run_fairpar 1 -f m.yaml
	assert_lines ""
	assert_contains "$stderr" "batch 'to' is skipped: its items come from 'from', which is skipped"
	assert_contains "$stderr" "batch 'after' is skipped"
}

@test "what needs a batch whose emitter failed is skipped, for items may be lacking; those there are run" {
	manifest <<'END'
  from: {run: "echo x; exit 3", emits: to}
  to: {run: "echo got {}"}
  after: {needs: [to], run: echo never}
END
	run_fairpar 1 -f m.yaml
	assert_lines "got x"
	assert_contains "$stderr" "batch 'after' is skipped: it needs 'to', which lacks items"
}

@test "on_failure runs once for a job, after its last attempt" {
	manifest <<'END'
  a: {args: [1, 2], run: "test {} = 1", retries: 2, on_failure: "echo failed {} $FAIRPAR_EXIT $FAIRPAR_ATTEMPT"}
END
	run_fairpar 1 -f m.yaml
	assert_lines "failed 2 1 3"
}

@test "finally runs once when the batch has ended, and is told how" {
	manifest <<'END'
  a: {args: [1, 2], run: "echo a{}", then: "echo then{}", finally: "echo end-a $FAIRPAR_OUTCOME {}"}
  b: {run: exit 7, finally: "echo end-b $FAIRPAR_OUTCOME $FAIRPAR_EXIT"}
  c: {needs: [b], run: echo never, finally: echo never}
  d: {needs: [a], run: echo d}
END
	run_fairpar 1 -j1 -f m.yaml
	assert_lines "end-b failed 7" a1 then1 a2 then2 "end-a ok {}" d
}

@test "a finally that fails is reported, and changes nothing else" {
	manifest <<'END'
  a: {run: echo a, finally: exit 3}
  b: {needs: [a], run: echo b}
END
	run_fairpar -f m.yaml
	assert_lines a b
	assert_contains "$stderr" "batch 'a': its finally command failed: exit 3"
}

@test "finally runs after a cancel too, for the batches that had begun" {
	make_fifo up
	manifest <<'END'
  a: {run: "echo up >up; exec sleep 100", finally: "echo end $FAIRPAR_OUTCOME"}
  b: {needs: [a], run: echo never, finally: echo never}
END
	exec 5<>up
	start_fairpar -f m.yaml 5>&-
	await up
	kill -INT "$fairpar_pid"
	end_fairpar 130
	assert_lines "end cancelled"
}

@test "a second signal ends a finally" {
	make_fifo up cleaning
	manifest <<'END'
  a: {run: "echo up >up; exec sleep 100", finally: "echo >cleaning; exec sleep 100"}
END
	exec 5<>up 6<>cleaning
	start_fairpar -f m.yaml 5>&- 6>&-
	await up
	kill -INT "$fairpar_pid"
	await cleaning
	kill -INT "$fairpar_pid"
	end_fairpar 130
}

# ---- retries ----

@test "a pause before a retry holds no slot" {
	manifest <<'END'
  a: {run: "echo try $FAIRPAR_ATTEMPT; test $FAIRPAR_ATTEMPT = 2", retries: 1, retry_delay: 200ms}
  b: {args: [1, 2, 3], run: "echo b{}"}
END
	run_fairpar -j1 -f m.yaml
	assert_set b1 b2 b3 "try 2"
	assert_eq "${lines[0]}" b1 # on a slow machine the pause may be over before b3
}

@test "a run that is cut short does not wait for pauses" {
	make_fifo up
	manifest <<'END'
  a: {run: "echo up >up; exit 1", retries: 3, retry_delay: 1h, finally: "echo end"}
  b: {run: "exec sleep 100"}
END
	exec 5<>up
	start_fairpar -j2 -f m.yaml 5>&-
	await up
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_lines end
}

@test "fail_fast does not wait for pauses, nor for batches that have not begun" {
	manifest 'fail_fast: true' <<'END'
  a: {run: "exit 1", retries: 3, retry_delay: 1h}
  b: {run: "exit 2"}
  c: {needs: [a], args: [1, 2], run: "echo {}", finally: echo never}
END
	run_fairpar any -j1 -f m.yaml
	assert_lines ""
	assert_contains "$stderr" "2 of 4 jobs failed: b#1 (exit 2), a#1 (exit 1); 2 skipped"
}

@test "a job that loses its next attempt has failed, and finally is told so" {
	make_fifo up
	manifest <<'END'
  a: {run: "exit 3", retries: 3, retry_delay: 1h, finally: "echo $FAIRPAR_OUTCOME $FAIRPAR_EXIT"}
  b: {run: "echo up >up; exec sleep 100"}
  c: {needs: [a], run: echo never}
END
	exec 5<>up
	start_fairpar -j1 --joblog rows -f m.yaml 5>&- # one slot: when b has it, a waits for its next attempt
	await up
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_lines 'failed 3'
	assert_contains "$stderr" '1 of 3 jobs failed: a#1 (exit 3); 1 skipped; 1 cancelled'
	assert_eq "$(cut -f 7,9 rows)" $'Exitval\tCommand\n3\texit 3'
}

@test "a halt ends at once what waits for its next attempt" {
	make_fifo go up hold
	manifest $'slots: 3\nfail_fast: true' <<'END'
  a: {run: "exit 3", retries: 1, retry_delay: 1h}
  b: {run: "read x <go; exit 1"}
  c: {run: "echo >up; read x <hold"}
END
	start_fairpar --log run.jsonl -f m.yaml
	await up
	until_true grep -q '"why":"retry"' run.jsonl
	release go
	until_true grep -q '"job":"a#1".*"start":null' run.jsonl
	release hold
	end_fairpar 1
	assert_contains "$stderr" '2 of 3 jobs failed: b#1 (exit 1), a#1 (exit 3)'
}

@test "a job may emit when the batch that it feeds has ended" {
	make_fifo begun gone
	manifest $'slots: 4\nfail_fast: true' <<'END'
  list: {args: [1, 2], run: "[ {} = 1 ] && { read p <begun; exit 1; }; echo >begun; read p <gone; while kill -0 $p; do :; done; sh -c \"echo x{}\"", emits: work}
  work: {run: "true {}", finally: "echo $$ >gone"}
END
	run_fairpar 1 --joblog rows -f m.yaml
	assert_contains "$stderr" '1 of 3 jobs failed: list#1 (exit 1); 1 cancelled'
	run_fairpar 1 --resume-failed --joblog rows -f m.yaml
	assert_contains "$stderr" '1 of 3 jobs failed: list#1 (exit 1); 1 cancelled'
}

@test "a batch that needs a cancelled one is skipped, and the message says that it was cancelled" {
	manifest <<'END'
  a: {run: exit 1}
  b: {run: echo b}
  c: {needs: [b], run: echo c}
END
	run_fairpar 1 -j1 --halt soon,fail=1 -f m.yaml
	assert_contains "$stderr" "batch 'c' is skipped: it needs 'b', which was cancelled"
}

# ---- creates ----

@test "a job whose product is there is done without running, and its then too" {
	touch b.out
	manifest <<'END'
  a: {args: [a, b], run: "echo {} >{}.out; echo made {}", creates: "{}.out", then: "echo then {}"}
  b: {needs: [a], run: echo after}
END
	run_fairpar -f m.yaml
	assert_lines "made a" "then a" after
	assert_contains "$stderr" "1 up to date"
	run_fairpar -f m.yaml
	assert_lines after
}

@test "a job that fails removes what it created, also in its working directory" {
	mkdir dir
	manifest <<'END'
  a: {args: [a, b], run: "echo {} >{}.out; test {} = a", creates: "{}.out", working_dir: dir}
  b: {run: "echo half >c.out; exec sleep 100", creates: c.out, timeout: 100ms}
END
	run_fairpar 2 -f m.yaml
	assert_eq "$(ls dir)" a.out
	[[ ! -e c.out ]]
}

@test "a job that fails does not remove what another one has made, or is making" {
	make_fifo go
	manifest <<'END'
  good: {run: "until test -e bad; do :; done; echo good >out; read x <go", creates: out}
  bad: {run: ": >bad; until test -e out; do :; done; exit 1", creates: out, allow_failure: true, on_failure: "test -e out && echo there; echo >go"}
END
	exec 5<>go
	run_fairpar -j2 -f m.yaml 5>&-
	assert_lines there
	assert_eq "$(cat out)" good
}

@test "a link to nowhere that was there before is not a product" {
	ln -s /nowhere link
	manifest <<'END'
  a: {run: exit 1, creates: link}
END
	run_fairpar 1 -f m.yaml
	assert_eq "$(readlink link)" /nowhere
}

@test "100,000 jobs whose products are there cost no process and no slot" {
	need strace
	touch made
	seq 100000 >items
	manifest <<'END'
  a: {args_from: {file: items}, run: "touch {}", creates: made}
END
	traced --seccomp-bpf -f -e trace=execve,vfork,clone,fork -o calls "$FAIRPAR" -f m.yaml 2>err
	assert_contains "$(cat err)" "100000 up to date"
	assert_eq "$(grep -cE '(execve|vfork|clone|fork)\(' calls)" 1 # its own start
}

@test "kill -9 leaves no half product that the next run takes for a whole one" {
	make_fifo up
	manifest <<'END'
  a: {run: "echo half >out; echo up >up; exec sleep 100", creates: out}
  b: {run: "mkdir dir; echo up >up; exec sleep 100", creates: dir}
END
	exec 5<>up
	start_fairpar -j2 -f m.yaml 5>&-
	await up
	await up
	kill -KILL "$fairpar_pid"
	end_fairpar 137
	until_true test ! -e out
	until_true test ! -e dir
}

# ---- contexts ----

@test "each batch has its own environment, directory, umask, niceness and shell" {
	mkdir sub
	manifest 'env: {A: top, B: top, C: top}
defaults: {env: {B: default, C: default}}' <<'END'
  a:
    args: [1]
    env: {C: "item {}", A: no}
    working_dir: sub
    umask: 027
    nice: 3
    shell: bash
    run: "echo $A $B $C; basename $PWD; umask; nice; echo ${BASH_VERSION:+bash} {}"
  b: {run: "echo $A $B $C; basename $PWD; umask; nice; echo ${BASH_VERSION:+bash}"}
END
	umask 022
	run_fairpar -j1 -f m.yaml
	assert_lines "no default item 1" sub 0027 $(($(nice) + 3)) "bash 1" "top default default" work 0022 "$(nice)" ""
}

@test "working_dir is seen from the manifest's directory, and may be made by the run" {
	mkdir -p proj
	cat >proj/m.yaml <<'END'
version: 1
batches:
  make: {run: mkdir -p proj/new}
  use: {needs: [make], working_dir: new, run: "basename $PWD"}
END
	run_fairpar -f proj/m.yaml
	assert_lines new
}

@test "a missing working_dir fails the job, and is named" {
	manifest <<'END'
  a: {working_dir: nosuch, run: echo never}
END
	run_fairpar 1 -f m.yaml
	assert_contains "$stderr" "cannot start in './nosuch': No such file or directory"
}

@test "without a shell a command is split into words, and nothing else happens to it" {
	manifest <<'END'
  a: {shell: none, args: ["x y"], run: "printf '[%s]' {} '$HOME' a\\ b \"c d\" | >f"}
  b: {shell: none, run: "echo '{}' *"}
  c: {shell: none, run: nosuch-program}
END
	run_fairpar 1 -j1 -f m.yaml
	assert_eq "$output" '[x y][$HOME][a b][c d][|][>f]{} *'
	assert_contains "$stderr" "'nosuch-program': command not found"
}

@test "a shell that is not there, or cannot read the quotes of items, is told before anything runs" {
	manifest <<'END'
  fine: {run: echo never}
  a: {run: echo $x, shell: nosuchshell}
  b: {args: [1], run: "print({})", shell: python3}
  c: {run: "print(1)", shell: none}
END
	run_fairpar 255 -f m.yaml
	assert_lines ""
	assert_contains "$stderr" "batch 'a': shell: 'nosuchshell': No such file or directory"
	assert_contains "$stderr" "batch 'b': shell: 'python3': items are quoted for a Bourne shell"
}

@test "--tag puts the item, or the batch's name, in front of each line" {
	manifest <<'END'
  a: {args: [x], run: "echo {}"}
  b: {run: echo b}
END
	run_fairpar -j1 --tag -f m.yaml
	assert_lines "x	x" "b	b"
}

@test "the PATH of a batch is the one its commands are looked up in" {
	mkdir bin
	printf '#!/bin/sh\necho mine\n' >bin/seq
	chmod +x bin/seq
	manifest "env: {PATH: \"$PWD/bin:/usr/bin:/bin\"}" <<'END'
  a: {run: seq 2}
  b: {run: seq 2, shell: none}
END
	run_fairpar -f m.yaml
	assert_lines mine mine
}

@test "output is whole, line by line or raw, as the batch says" {
	manifest <<'END'
  a: {run: "echo a; echo b", output: raw}
  b: {run: "echo a; echo b", output: line}
  c: {run: "echo a; echo b", output: group}
END
	run_fairpar -j1 -f m.yaml
	assert_lines a b a b a b
}

# ---- limits ----

@test "no more than max_parallel jobs of a batch run at once" {
	manifest <<'END'
  a: {args: [1, 2, 3, 4], max_parallel: 1, run: "mkdir lock && rmdir lock # {}"}
END
	run_fairpar -j4 -f m.yaml
}

@test "a wide job waits for its slots, and what comes later does not keep it waiting" {
	make_fifo a b wide
	manifest <<'END'
  narrow: {args: [a, b, c, d], run: "echo {} >>order; case {} in a|b) read x <{};; esac"}
  wide: {run: "echo wide >>order", slots_per_job: 2, priority: 1}
END
	exec 5<>a 6<>b
	start_fairpar -j2 -f m.yaml 5>&- 6>&-
	echo >a
	echo >b
	end_fairpar
	assert_eq "$(head -1 order)" wide
}

@test "short jobs pass a wide one that waits for a long one, and log and trace tell of it" {
	local passed='' seconds
	need jq
	for seconds in 0.1 1 5; do # as long as it takes: if a thread is slower than the long jobs, no short job is there to pass
		manifest <<-END
			  long: {args: [1, 2, 3, 4], max_parallel: 1, run: "sleep $seconds # {}"}
			  short: {args_from: {command: seq 100}, max_parallel: 1, run: ": {}"}
			  wide: {args: [1, 2, 3], run: ": {}", slots_per_job: 2}
		END
		run_fairpar -j2 --log log --trace-service trace -f m.yaml
		passed=$(jq -r 'select(.ev == "job_start" and .source == "backfill").batch' log | sort -u)
		[[ -z $passed ]] || break
	done
	assert_eq "$passed" short
	assert_eq "$(grep -c '"source":"backfill"' trace)" "$(jq -r 'select(.source == "backfill").ev' log | grep -c .)"
}

@test "slots_per_job above the slots is cut, with a warning" {
	manifest <<'END'
  a: {run: echo ran, slots_per_job: 9}
END
	run_fairpar -j2 -f m.yaml
	assert_lines ran
	assert_contains "$stderr" "batch 'a': slots_per_job: 9 is cut to the 2 slots there are"
}

@test "a long-running batch runs beside the slots" {
	make_fifo go
	manifest <<'END'
  server: {run: "read x <go; echo server $FAIRPAR_SLOT", long_running: true}
  a: {args: [1, 2], run: "echo a{}", finally: "echo >go"}
END
	exec 5<>go
	run_fairpar -j1 -f m.yaml 5>&-
	assert_lines a1 a2 "server 2"
}

@test "memory is a job's limit in a cgroup of its own, where there is one to make it in" {
	mkdir root
	echo memory | tee root/cgroup.controllers >root/cgroup.subtree_control
	export FAIRPAR_CGROUP_ROOT=$PWD/root
	manifest <<'END'
  a: {run: "cat root/fairpar-*/memory.max", memory: 64M}
END
	run_fairpar -f m.yaml
	assert_lines 67108864
}

@test "memory without a cgroup only delays a job, and that is said once" {
	export FAIRPAR_CGROUP_ROOT=$PWD/nosuch
	manifest <<'END'
  a: {args: [1, 2], run: "echo {}", memory: 1M}
END
	run_fairpar -j1 -f m.yaml
	assert_lines 1 2
	assert_contains "$stderr" "nosuch"
	assert_eq "$(grep -c 'memory' "$BATS_TEST_TMPDIR/stderr")" 1
}

@test "fail_fast starts nothing more after the first failure; a --halt given wins" {
	manifest 'fail_fast: true' <<'END'
  a: {args: [1, 2, 3], run: "echo {}; exit 1"}
END
	run_fairpar any -j1 -f m.yaml
	assert_lines 1
	assert_contains "$stderr" "1 of 3 jobs failed: a#1 (exit 1); 2 cancelled"
	run_fairpar 3 --halt never -j1 -f m.yaml
	assert_lines 1 2 3
}

@test "slots and fair of the manifest hold, unless the options say otherwise" {
	manifest 'slots: 1
fair: time' <<'END'
  a: {args: [1, 2], run: "echo $FAIRPAR_SLOT # {}"}
END
	run_fairpar -f m.yaml
	assert_lines 1 1
	run_fairpar --weight a=3 -j2 --fair turns --trace-service trace -f m.yaml
	assert_contains "$(cat trace)" '"virt":0.333'
}

@test "--dry-run prints what would run, in order, and runs nothing" {
	manifest <<'END'
  b: {needs: [a], run: echo b >made}
  a: {args: [1, 2], run: "touch {}", then: "rm {}", finally: rm x}
END
	run_fairpar --dry-run -f m.yaml
	assert_lines "# batch a" "touch 1" "rm 1" "touch 2" "rm 2" "rm x" "# batch b" "echo b >made"
	assert_eq "$(ls)" m.yaml
}

@test "--dry-run does not fail for what an earlier batch would make" {
	manifest 'slots: 4' <<'END'
  a: {run: mkdir out, slots_per_job: 2}
  b: {needs: [a], args_from: {file: out/list}, run: "echo {}"}
  c: {needs: [a], args_from: {glob: "*/x"}, working_dir: out, run: "echo {}"}
END
	run_fairpar --dry-run -f m.yaml
	assert_lines "# batch a" "mkdir out"
	assert_eq "$(grep -c 'are not known yet' "$BATS_TEST_TMPDIR/stderr")" 2
	[[ $stderr != *cut* ]]
}

@test "a manifest with errors runs nothing" {
	manifest <<'END'
  a: {run: echo never}
  b: {run: echo never, neds: [a]}
END
	run_fairpar 255 -f m.yaml
	assert_lines ""
	assert_contains "$stderr" "did you mean 'needs'?"
	assert_contains "$stderr" "nothing was run"
}
