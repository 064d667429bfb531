# A manifest is checked and listed without running anything: --check, --list and --schema.

load helper

setup() {
	helper_setup
	manifests=$BATS_TEST_DIRNAME/manifests
}

# Its batches would leave a file behind each.
write_manifest() {
	cat >nightly.yaml <<-'END'
		version: 1
		name: nightly
		batches:
		  build:
		    description: compile once
		    run: touch ran
		  items:
		    args_from: {command: touch ran; seq 3}
		    run: touch ran {}
		    emits: sink
		  sink:
		    run: touch ran {}
		  from stdin:
		    args_from: {stdin: true}
		    run: touch ran {}
		  publish:
		    needs: [build, items]
		    commands: [touch ran, touch ran]
	END
}

@test "--check says nothing about a manifest that is in order" {
	for file in "$manifests"/good/*.yaml; do
		run_fairpar -f "$file" --check
		assert_eq "$output$stderr" ''
	done
}

@test "--check shows exactly the text stored beside each bad manifest, and ends with 255" {
	cd "$manifests/bad"
	local file n=0
	for file in *.yaml; do
		status=0
		"$FAIRPAR" --check -f "$file" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
		[[ $status == 255 && ! -s $BATS_TEST_TMPDIR/stdout ]] || fail "$file: the exit status is $status"
		diff -u "${file%.yaml}.err" "$BATS_TEST_TMPDIR/stderr" || fail "$file"
		n=$((n + 1))
	done
	((n > 80))
}

@test "no job loses by its environment the mark by which it is found when fairpar is killed" {
	run_fairpar 255 --process-slot-var FAIRPAR_COOKIE 'touch ran;' ::: 1
	assert_contains "$stderr" "--process-slot-var cannot be 'FAIRPAR_COOKIE', which fairpar itself sets"
	printf 'version: 1\nbatches:\n  a:\n    env: {FAIRPAR_COOKIE: zzz}\n    run: touch ran\n' >m.yaml
	run_fairpar 255 -f m.yaml
	[[ $stderr == "m.yaml:4:11: error: fairpar itself sets the variable 'FAIRPAR_COOKIE'"* && ! -e ran ]] || fail "$stderr"
}

@test "a warning does not fail the check" {
	printf 'version: 1\nbatches:\n  a:\n    run: echo a #b\n' >warned.yaml
	run_fairpar -f warned.yaml --check
	assert_contains "$stderr" "warned.yaml:4:17: warning: '#b' is a comment"
}

@test "checking and listing run nothing and read no items" {
	write_manifest
	for option in --check --list --list=names --list=dot; do
		run_fairpar -f nightly.yaml "$option" <<<'an item'
	done
	[[ ! -e ran ]]
	{ "$FAIRPAR" -f nightly.yaml --list >/dev/null; cat; } <<<'an item' >left
	assert_eq "$(cat left)" 'an item'
}

@test "--list has a line for each batch: its jobs, what it waits for, what it is for" {
	write_manifest
	run_fairpar -f nightly.yaml --list
	assert_lines \
		'build       1 job: compile once' \
		'items       ? jobs, emits into sink' \
		'sink        0+ jobs, items from items' \
		'from stdin  ? jobs' \
		'publish     2 jobs, needs build items'
}

@test "--list=names has the bare names" {
	write_manifest
	run_fairpar -f nightly.yaml --list=names
	assert_lines build items sink 'from stdin' publish
}

@test "--list=dot is a graph, dashed where items are emitted" {
	write_manifest
	run_fairpar -f nightly.yaml --list=dot
	assert_eq "${lines[0]}" 'digraph "nightly" {'
	assert_contains "$output" '"build" -> "publish";'
	assert_contains "$output" '"items" -> "sink" [style=dashed];'
	if command -v dot >/dev/null; then
		dot -Tsvg <<<"$output" >/dev/null
	fi
	printf 'version: 1\nname: "a\\e[1m\\N\\tb"\nbatches: {x: {run: echo}}\n' >named.yaml
	run_fairpar -f named.yaml --list=dot
	assert_eq "${lines[0]}" 'digraph "a\\x1B[1m\\xC2\\x85\\tb" {'
}

@test "naming batches lists these, with what they need and emit into" {
	write_manifest
	run_fairpar -f nightly.yaml --list=names items
	assert_lines items sink
	run_fairpar --list=names -f nightly.yaml -- 'from stdin' publish
	assert_lines build items sink 'from stdin' publish
}

@test "naming a batch without items of its own lists also what emits into it" {
	write_manifest
	run_fairpar -f nightly.yaml --list=names sink
	assert_lines items sink
	cat >m.yaml <<-'END'
		version: 1
		batches:
		  z: {needs: [sink], run: ls sinkdone}
		  src: {args: [a], run: 'echo {}', emits: sink}
		  sink: {run: 'echo s {}; touch sinkdone'}
	END
	run_fairpar -f m.yaml z
	assert_set 's a' sinkdone
	run_fairpar -f m.yaml sink
	assert_lines 's a'
}

@test "a batch that is not there is an error with the names of those that are" {
	write_manifest
	for option in --check --list; do
		run_fairpar 255 -f nightly.yaml "$option" bulid
		assert_eq "$stderr" "fairpar: error: no batch is called 'bulid' in nightly.yaml; it has build, items, sink, from stdin, publish"
	done
	[[ ! -e ran ]]
}

@test "a manifest comes from stdin, too" {
	write_manifest
	sed -i '/from stdin/,+2d' nightly.yaml
	run_fairpar -f - --list=names <nightly.yaml
	assert_lines build items sink publish
	run_fairpar 255 -f - --check <<<'version: 2'
	assert_contains "$stderr" '-:1:10: error: '
}

@test "a manifest from a pipe has its directories seen from the current one" {
	mkdir gl
	text='{version: 1, batches: {a: {run: pwd, working_dir: gl}}}'
	run_fairpar -f <(printf '%s\n' "$text")
	assert_eq "$output" "$PWD/gl"
	run_fairpar -f - <<<"$text"
	assert_eq "$output" "$PWD/gl"
	run_fairpar -f /dev/stdin <<<"$text"
	assert_eq "$output" "$PWD/gl"
}

@test "a manifest that cannot be read is named, with the cause" {
	run_fairpar 255 -f none.yaml --check
	assert_eq "$stderr" "fairpar: error: cannot open 'none.yaml': No such file or directory"
	run_fairpar 255 -f . --list
	assert_contains "$stderr" "'.': Is a directory"
}

@test "a list of a bad manifest is empty" {
	run_fairpar 255 -f "$manifests/bad/needs-circle.yaml" --list=names
	assert_eq "$output" ''
}

@test "a list that cannot be written is an error" {
	write_manifest
	for option in --list --list=dot --schema; do
		status=0
		"$FAIRPAR" -f nightly.yaml "$option" >/dev/full 2>err || status=$?
		assert_eq "$status" 255
		assert_eq "$(cat err)" 'fairpar: error: cannot write to stdout: No space left on device'
	done
}

@test "a hundred thousand batches are listed" {
	{ printf 'version: 1\nbatches:\n'; seq -f '  b%.0f: {run: "true"}' 100000; } >many.yaml
	run_fairpar -f many.yaml --list=names
	assert_eq "${#lines[@]} ${lines[99999]}" '100000 b100000'
}

@test "--schema prints a JSON Schema that has every key of the table" {
	need jq
	run_fairpar --schema
	assert_eq "$(jq -r '.. | .properties? // empty | keys[]' "$BATS_TEST_TMPDIR/stdout" | sort -u | grep -vx -e exclude -e include)" \
		"$(awk -F '"' '/^KEY\(/ { print $2 }' "$BATS_TEST_DIRNAME/../src/manifest/keys.def" | sort -u)"
}

@test "what belongs in the manifest is refused on the command line, with what to do instead" {
	write_manifest
	run_fairpar 255 --timeout 3 -f nightly.yaml
	assert_eq "$stderr" "fairpar: error: --timeout cannot be combined with -f: use the key 'timeout' in the manifest, under \
'defaults' for all batches"
	run_fairpar 255 -f nightly.yaml ::: a b
	assert_eq "$stderr" "fairpar: error: ::: cannot be combined with -f: items belong in the manifest, under the key 'args' \
of a batch"
	run_fairpar 255 --check nightly.yaml
	assert_eq "$stderr" 'fairpar: error: --check needs a manifest: name it with -f FILE'
	[[ ! -e ran ]]
}

@test "options may stand behind the names of batches, and -- ends them" {
	printf 'version: "1"\nbatches:\n  a: {args: [1, 2], run: "echo a{}"}\n  -k: {run: echo k}\n  b: {run: echo b}\n' >m.yaml
	run_fairpar -f m.yaml b --dry-run a -j 1
	assert_eq "$output" $'# batch a\necho a1\n# batch b\necho b\n# batch a\necho a2'
	run_fairpar -f m.yaml b --list=names -- -k
	assert_lines -k b
	run_fairpar -f m.yaml a --version
	assert_contains "$output" 'fairpar '
	run_fairpar 255 -f m.yaml a --timeout 3
	assert_contains "$stderr" '--timeout cannot be combined with -f'
}

@test "a text that YAML takes for null is itself, %YAML 1.2 is taken, and an argument that is missing is not" {
	printf '%%YAML 1.2 # so it is\n\n---\nversion: "1"\nbatches: {a: {args: [~, null, x], run: "echo [{}]"}}\n' >m.yaml
	run_fairpar -k -f m.yaml
	assert_eq "$output" $'[~]\n[null]\n[x]'
	sed -i '1s/.*/%YAML 2.0/' m.yaml
	run_fairpar 255 -f m.yaml
	assert_contains "$stderr" "m.yaml:1:1: error: a line that starts with '%' is a directive of YAML: a manifest has '%YAML 1.2' alone, once"
}

@test "--check looks for the shells as a run does" {
	printf 'version: 1\nbatches:\n  a: {run: echo, shell: no-such-shell}\n  b: {args: [1], run: "echo {}", shell: fish}\n' >m.yaml
	run_fairpar 255 -f m.yaml --check
	assert_contains "$stderr" "m.yaml:3: batch 'a': shell: 'no-such-shell': No such file or directory"
	assert_contains "$stderr" "m.yaml:4: batch 'b': shell: 'fish': items are quoted for a Bourne shell"
	local said=$stderr
	run_fairpar 255 -f m.yaml
	assert_eq "$stderr" "$said"
	run_fairpar 255 -f m.yaml --check b
	[[ $stderr != *no-such-shell* ]]
}

@test "a file of items that is not there is named with its batch" {
	mkdir dir
	printf 'version: 1\nbatches: {a: {working_dir: dir, args_from: {file: none}, run: "echo {}"}}\n' >m.yaml
	run_fairpar 1 -f m.yaml
	assert_contains "$stderr" "batch 'a': cannot open './dir/none': No such file or directory"
}

@test "an option for a batch that is not in the manifest is mentioned before anything runs" {
	printf 'version: 1\nbatches: {a: {run: "kill -9 $PPID; sleep 100"}}\n' >m.yaml
	run_fairpar 137 -f m.yaml --weight nosuch=2 --priority '[ab]=1' --max-parallel 'b*=3'
	assert_contains "$stderr" "--weight: no batch that runs is called 'nosuch'"
	assert_contains "$stderr" "--max-parallel: no batch that runs is called 'b*'"
	[[ $stderr != *priority* ]]
}
