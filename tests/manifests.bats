# The manifests in tests/manifests/good do what they say: each is run to its end, and what it has made is looked at.

load helper

good=$BATS_TEST_DIRNAME/manifests/good

# use NAME: copies that manifest here.
use() {
	cp "$good/$1.yaml" .
}

@test "a tree is compressed and its checksums are written, and the second time nothing is done" {
	need gzip
	use compress
	mkdir -p tree/sub/deep
	seq 1000 >tree/numbers
	echo blanks >'tree/sub/two blanks'
	# shellcheck disable=SC2016 # a name
	echo shell >'tree/sub/deep/$(touch ran) "it'\''s"; touch ran'
	run_fairpar --summary=never -f compress.yaml
	assert_eq "$output$stderr" ''
	[[ ! -e ran ]]
	assert_eq "$(find tree -type f | wc -l)" 9
	find tree -type f ! -name '*.gz' ! -name '*.sha256' | while IFS= read -r file; do
		cmp "$file" <(gzip -dc "$file.gz")
		assert_eq "$(cut -d ' ' -f 1 <"$file.sha256" | tr -d '\\')" "$(sha256sum <"$file" | cut -d ' ' -f 1)"
	done
	find tree -type f -exec stat -c '%Y %i %n' {} + | sort >before
	echo new >tree/new
	run_fairpar -f compress.yaml
	assert_contains "$stderr" '6 up to date'
	find tree -type f ! -name 'new*' -exec stat -c '%Y %i %n' {} + | sort >after
	cmp before after
	[[ -s tree/new.gz && -s tree/new.sha256 ]]
}

@test "a half of a compressed file does not stay when the run is interrupted" {
	need gzip
	use compress
	mkdir tree
	echo one >tree/one
	make_fifo tree/slow opened hold
	# find does not take a pipe for a file
	sed -i 's/command: find .*/command: printf "%s\\\\n" tree\/one tree\/slow/' compress.yaml
	# gzip itself would not wait for a writer; what opens the pipe to write waits until the shell opens it, with the output there by then
	sed -i 's/gzip -9 -c {} >{}.gz/gzip -9 >{}.gz <{}/' compress.yaml
	timeout "$patience" bash -c 'exec 3>tree/slow; echo >opened; read -r <hold' 3>&- &
	start_fairpar -j1 -f compress.yaml compress
	await opened
	[[ -e tree/slow.gz ]]
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	release hold
	[[ ! -e tree/slow.gz ]]
	gzip -t tree/one.gz
}

@test "a program is built by each compiler that is there, and each result is tested" {
	need gcc
	use build
	run_fairpar -f build.yaml
	[[ -x work/sum-gcc-none && ! -e work/sum-clang-undefined ]]
	assert_eq "$(sort <<<"$output")" "$(cd work && printf '%s adds up\n' sum-*-* | sort)"
	assert_eq "$(seq 10 | work/sum-gcc-none)" 55
	run_fairpar -f build.yaml
	assert_contains "$stderr" "$(find work -name 'sum-*-*' | wc -l) up to date"
}

@test "without clang the build goes on, and says what failed" {
	need gcc
	use build
	mkdir bin
	ln -s /bin/false bin/clang
	PATH=$PWD/bin:$PATH run_fairpar -f build.yaml
	[[ ! -e work/sum-clang-none ]]
	assert_contains "$stderr" '2 allowed to'
	assert_contains "$output" 'sum-gcc-none adds up'
}

@test "a crawl sees each page once, whatever links back" {
	use crawl
	for slots in 1 4; do
		rm -rf site seen
		run_fairpar -j$slots -f crawl.yaml
		assert_eq "$(tail -n 4 <<<"$output")" $'About\nHome\nNews\nOld news'
		assert_eq "$(head -n -4 <<<"$output")" 'lost is a dead link'
		assert_eq "$(ls seen)" $'about\nhome\nnews\nold'
		assert_contains "$stderr" '1 allowed to'
	done
}

@test "a crawl that was interrupted visits every page when it is started anew" {
	use crawl
	# the first page is done and has named two others, one of which is under way
	make_fifo opened hold
	cp crawl.yaml slow.yaml
	sed -i 's|^    then: sed|    then: test {} = home \|\| { echo >opened; read -r _ <hold; }; sed|' slow.yaml
	start_fairpar -j1 -f slow.yaml
	await opened
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	[[ -e seen/home/title ]]
	run_fairpar -j2 -f crawl.yaml
	assert_eq "$(tail -n 4 <<<"$output")" $'About\nHome\nNews\nOld news'
}

@test "in a pipeline each file goes through all steps, and one that fails is set aside" {
	need gzip
	use pipeline
	run_fairpar -f pipeline.yaml
	assert_set 'out/1.txt.gz: OK' 'out/2.txt.gz: OK' 'out/3.txt.gz: OK'
	assert_eq "$(cd out && ls)" "$(printf '%s\n' {1,2,3}.txt.{gz,sum})"
	assert_eq "$(gzip -dc out/2.txt.gz)" "$(seq 2 20 | sort -rn)"
	assert_eq "$(cat bad/4.txt)" 'no number'
	[[ ! -e in/4.txt ]]
	assert_contains "$stderr" '1 of 9 jobs failed: convert#4 (exit 1); 1 allowed to'
}

@test "the example of most keys runs" {
	need gzip
	use example
	run_fairpar -f example.yaml
	assert_eq "$(cd out && ls)" "$(printf '%s\n' log-{1,6,9}-{first,last} log-6-none photos thumbs | sort)"
	for i in 1 2 3 4 5 6; do
		cmp <(seq "$i" 400) <(gzip -dc "out/thumbs/$i.gz")
	done
	assert_eq "$(grep -E '^(seen|all)' <<<"$output" | sort)" $'all seen\nseen 0\nseen 1\nseen 2\nseen 3'
	assert_contains "$output" '400 out/photos/1.txt'
	assert_contains "$output" $'1.gz\n2.gz\n3.gz\n4.gz\n5.gz\n6.gz'
}

@test "what needs others comes after them, and finally after all" {
	use order
	run_fairpar -k -f order.yaml
	assert_lines one two three 'done' 'done, slowly'
	assert_eq "$(ls)" order.yaml
	assert_contains "$stderr" 'flaky#1 (exit 1)'
}

@test "anchors and merges give what they stand for" {
	use anchors
	run_fairpar -k -j1 -f anchors.yaml
	assert_set 'special a' 'special b' 'special c' 'special a' 'special b' 'special c'
}

@test "a batch named on the command line runs with what it needs, and no other" {
	need gzip
	use pipeline
	run_fairpar -f pipeline.yaml convert
	assert_eq "$output" ''
	assert_eq "$(cd out && ls)" "$(printf '%s\n' {1,2,3}.txt.{gz,sum})"
	use order
	run_fairpar -f order.yaml fetch
	assert_eq "$(cat one.txt two.txt three.txt)" $'one\ntwo\nthree'
}

@test "a dry run of any of them prints commands and makes nothing" {
	mkdir work                # of build
	touch words.txt words.0
	for name in compress build crawl pipeline example order anchors words; do
		use "$name"
		run_fairpar --dry-run -f "$name.yaml" </dev/null
		[[ -n $output$stderr ]]
		rm "$name.yaml"
		assert_eq "$(ls)" $'words.0\nwords.txt\nwork'
	done
	assert_eq "$(ls work)" ''
}

@test "a dry run shows batches that run long in the order of turns, too" {
	{
		printf 'version: 1\nbatches:\n'
		printf '  %s: {long_running: true, args_from: {file: items}, run: "echo {}"}\n' a b c d
	} >long.yaml
	seq 200 >items
	run_fairpar --dry-run -f long.yaml
	assert_eq "$output" "$(for i in {1..200}; do printf "# batch %s\necho $i\n" a b c d; done)"
}

@test "the first manifest of the tutorial runs as it says" {
	cat >first.yaml <<-'EOF'
		version: 1
		batches:
		  write:
		    commands:
		      - echo some words >one.txt
		      - echo and some more >two.txt
		  words:
		    needs: [write]
		    args: [one.txt, two.txt]
		    run: wc -w {}
	EOF
	run_fairpar -k -f first.yaml
	assert_lines '2 one.txt' '3 two.txt'
}

@test "a manifest with a mistake, or a name that is none, runs nothing" {
	printf 'version: 1\nbatches: {a: {run: touch ran}, b: {run: touch ran, tiemout: 3}}\n' >bad.yaml
	run_fairpar 255 -f bad.yaml
	assert_contains "$stderr" "unknown key 'tiemout' in batch 'b'"
	assert_contains "$stderr" 'fairpar: 1 error in bad.yaml, nothing was run'
	sed -i 's/, tiemout: 3//' bad.yaml
	run_fairpar 255 -f bad.yaml a d
	assert_contains "$stderr" "no batch is called 'd' in bad.yaml"
	[[ ! -e ran ]]
	run_fairpar -f bad.yaml a
	[[ -e ran ]]
}
