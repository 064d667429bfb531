# --help, -h, the manual and the completions say the same: what src/cli/options.def says.

load helper

setup() {
	helper_setup
	top=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	table=$top/src/cli/options.def
	man=$top/man/fairpar.1
	made=$BATS_TEST_TMPDIR/completions
}

# make_completions: the scripts, as make install puts them, in $made
make_completions() {
	[[ ! -d $made ]] || return 0
	mkdir "$made"
	"$FAIRPAR" --completions=bash >"$made/fairpar.bash"
	"$FAIRPAR" --completions=zsh >"$made/_fairpar"
	"$FAIRPAR" --completions=fish >"$made/fairpar.fish"
}

# rows: each row of the table as "NAME|OTHER NAMES|LETTERS|ARGUMENT"
rows() {
	awk -F '"' '/^OPTION\(OPT_/ { printf "%s|%s|%s|%s\n", $2, $4, $6, $8 }' "$table"
}

# headings: each row as help and manual head it, "-j, -P, --jobs, --max-procs N"
headings() {
	rows | awk -F '|' '{
		text = ""
		for (i = 1; i <= length($3); i++)
			text = text ", -" substr($3, i, 1)
		n = split($1 " " $2, name, " ")
		for (i = 1; i <= n; i++)
			text = text ", --" name[i]
		print substr(text, 3) ($4 == "" || $4 ~ /^\[=/ ? "" : " ") $4
	}'
}

# spellings: every name and letter of the table, sorted
spellings() {
	headings | grep -oE -e '(^| )-[0-9A-Za-z-]+' | tr -d ' ' | sort -u
}

options_of_man() {
	sed -n '/^\.Sh OPTIONS/,/^\.Sh [^O]/p' "$man" | grep '^\.It Fl' |
		sed 's/^\.It //; s/Fl /-/g; s/ ,/,/g; s/ Ns Op Cm = Ns Ar \(.*\)/[=\1]/; s/ Op Ar \(.*\)/ [\1]/; s/ Ns Cm = Ns Ar /=/; s/\(Ar\|Cm\) //; s/\\&//'
}

@test "the table is read by this test as it is meant" {
	assert_eq "$(rows | grep -c .)" "$(grep -c '^OPTION(' "$table")"
	assert_contains "$(headings)" '-j, -P, --jobs, --max-procs N'
	assert_contains "$(headings)" '--long-running[=B]'
}

@test "--help has every option with all its names, in the order of the table, and no other" {
	run_fairpar --help
	assert_eq "$(sed -n 's/^  \(-.*\)/\1/p' <<<"$output")" "$(headings)"
	assert_eq "$stderr" ''
}

@test "--help and -h fit 80 columns and start with the usage and two examples" {
	for option in --help -h; do
		run_fairpar "$option"
		assert_eq "$(awk 'length > 80' <<<"$output")" ''
		assert_eq "$(head -12 <<<"$output" | grep '^  [a-z]' | grep -c 'fairpar ')" 2
		assert_contains "$output" 'Usage: fairpar [options] [command'
	done
}

# topics: the topic of each section of the table
topics() {
	sed -n 's/^GROUP([A-Z_]*, "\([a-z]*\)", ".*/\1/p' "$table"
}

@test "-h has the thirty options of every day on a screen, as the table marks them, and the topics of --help" {
	run_fairpar -h
	[[ ${#lines[@]} -le 45 ]] || fail "${#lines[@]} lines"
	assert_eq "$(grep -oE '^  (-.,|   ) --[a-z0-9-]+' <<<"$output" | tr -d ' ')" "$(awk '
		/^OPTION\(/ { split($0, part, "\""); name[$2] = (part[6] == "" ? "" : "-" substr(part[6], 1, 1) ",") "--" part[2] }
		/^LIST\(EVERYDAY/ { everyday = 1 }
		everyday { for (i = 1; i <= NF; i++) if ($i in name) print name[$i] }
		/\)$/ { everyday = 0 }' FS='[(),"[:space:]]+' "$table")"
	assert_eq "$(grep -cE '^  (-.,|   ) --' <<<"$output")" 30
	assert_contains "$(tr '\n' ' ' <<<"$output")" "--help=TOPIC some of them: $(topics | tr '\n' ' ')"
}

@test "--help=TOPIC prints a section of --help, and all of them make it up" {
	local all=''
	assert_eq "$(topics | wc -l)" "$(grep -c '^GROUP(' "$table")"
	for topic in $(topics); do
		run_fairpar --help="$topic"
		all+=$output$'\n\n'
	done
	run_fairpar --help
	assert_contains "$output" "$all"
}

@test "a topic that --help does not have is answered with those that it has" {
	run_fairpar 255 --help=nonsense
	assert_contains "$stderr" "--help has no topic and no option 'nonsense'; the topics are $(topics | tr '\n' ' ' | sed 's/ $//')"
	assert_eq "$output" ''
}

@test "the manual has every option with all its names, in the order of the table, and no other" {
	assert_eq "$(options_of_man)" "$(headings)"
}

@test "the manual names no option that there is not" {
	assert_eq "$(grep -ohE 'Fl -[a-z0-9-]+' "$man" "$top"/man/fairpar-{nested,records,pipe}.7 "$top/man/fairpar-sem.1" | sed 's/Fl -/--/' | sort -u | grep -vxF -e -- -f <(spellings))" ''
}

@test "a key of the manifest that an option names is there" {
	local keys
	keys=$(grep -oE 'MANIFEST_KEY\("[a-z_]+"' "$table" | cut -d '"' -f 2)
	[[ $(wc -w <<<"$keys") -ge 6 ]] || fail "the keys are not read"
	assert_eq "$(grep -vxF -f <(sed -n 's/^KEY([A-Z_]*, "\([a-z_]*\)".*/\1/p' "$top/src/manifest/keys.def") <<<"$keys")" ''
}

@test "README names no option that there is not" {
	grep -oE -e '(^|[ `(])--[a-z][a-z0-9-]+' "$top/README.md" | tr -d ' `(' | sort -u >named
	[[ $(wc -l <named) -gt 20 ]] || fail "the options are not read"
	printf '%s\n' --no-install --test-deps --cluster-deps >of_setup # .ci/setup.sh
	assert_eq "$(grep -vxF -e --xargs -f <(spellings) named | grep -vxF -f of_setup)" ''
}

# The table and the list of fairpar-parallel(7): the options of both, as words.
listed() {
	sed -n "/^\.Ss Options that are $1/,/^\.El/p" "$top/man/fairpar-parallel.7" |
		sed -n 's/ Ta .*//; /^\.It/p' | grep -oE 'Fl [A-Za-z0-9-]+' | sed 's/Fl /-/'
}

# The names of each option that GNU parallel has, and the letters and names that xargs has, a line for each.
names_of_parallel() {
	{
		awk -F '"' '/^OPTION\(OPT_/ && !/, OWN,/ { print $2, $4, $10 }' "$table"
		printf '%s\n' max-procs open-tty compress gnu silent # which GNU parallel has as options of their own
		sed -n '/^FOREIGN(/,/)$/p' "$table" | tr -d '\n' | sed 's/FOREIGN(/\n/g' | sed 's/", ".*//; s/"[ \t]*"//g; s/"//; s/  /\n/g'
	} | grep . | sed -E 's/ +/ /g; s/ $//; s/(^| )/\1--/g'
}

names_of_xargs() {
	sed -n "s/^\t{\"\([^\"]*\)\", .*_argument, .*/--\1/p" "$top/src/xargs/options.c"
}

@test "what fairpar-parallel(7) lists as taken is taken, and what it lists as left out is refused with what to do" {
	assert_eq "$(listed taken | grep -vxF -e -- -f <(spellings))" ''
	[[ $(listed taken | wc -l) -gt 60 && $(listed left | wc -l) -gt 20 ]] || fail "the lists are not read"
	for option in $(listed left); do
		run_fairpar 255 "$option" x ::: a
		assert_contains "$stderr" "$option is not in fairpar; "
	done
}

@test "fairpar-parallel(7) has each option of GNU parallel and of xargs: as taken, or as left out" {
	[[ $(names_of_parallel | wc -l) -gt 130 && $(names_of_xargs | wc -l) -ge 18 ]] || fail "the options are not read"
	listed taken >table
	listed left >left
	spellings >ours
	local missing=''
	while read -r -a names; do
		printf '%s\n' "${names[@]}" >row
		if grep -qxF -f row ours; then
			grep -qxF -f row table || missing+=" ${names[*]}"
		else
			grep -qxF -f row left || missing+=" ${names[*]}"
		fi
	done < <(names_of_parallel; names_of_xargs)
	assert_eq "$missing" ''
}

@test "the manual is clean for mandoc" {
	need mandoc
	run mandoc -Tlint -W warning "$top"/man/*
	assert_eq "$output" ''
}

@test "the manual is clean for groff" {
	need groff
	run groff -mdoc -Tutf8 -ww -W break -z "$top"/man/*
	assert_eq "$output" ''
}

@test "the examples of the manual are commands that fairpar takes" {
	need mandoc
	mkdir bin
	ln -s "$FAIRPAR" bin/fairpar
	printf '%s\n' a b >all.txt
	for list in now.txt a.txt b.txt; do
		cp all.txt "$list"
	done
	printf 'host\tname\nlocalhost\tself\n' >hosts.tsv
	touch 'x y.wav' big.log
	sed -n '/^\.Ss Examples/,/^\.S[sh] I/p' "$man" |
		sed -n 's/^\.Dl //p; /^\.Bd/,/^\.Ed/{/^\./!p}' |
		sed 's/\\&//g; s/\\e/\\/g; s/\(^\|| \)fairpar /\1fairpar --dry-run /' >examples
	assert_eq "$(grep -c 'fairpar --dry-run' examples)" 12
	PATH=$PWD/bin:$PATH run -0 sh -e examples
	assert_contains "$output" "lame './x y.wav' -o mp3/'x y'.mp3"
}

@test "the completions are scripts that their shells take" {
	make_completions
	bash -n "$made/fairpar.bash"
	! command -v zsh >/dev/null || zsh -f -n "$made/_fairpar"
	! command -v fish >/dev/null || fish --no-config -n "$made/fairpar.fish"
}

@test "the completions have every spelling of every option, and no other" {
	make_completions
	bash_words() { sed -n "/local options='/,/'/p" "$made/fairpar.bash" | grep -oE -e '(\s)-[0-9A-Za-z-]+'; }
	zsh_words() { grep -oE "^\s+'\*-[0-9A-Za-z-]+" "$made/_fairpar" | tr -d "'*" | sed -E 's/^(\s*-[^-]).*/\1/; s/-$//'; }
	fish_words() { grep '^complete' "$made/fairpar.fish" | grep -oE -e ' -(s .|l [a-z0-9-]+)' | sed 's/-s /-/; s/-l /--/'; }
	for words in bash_words zsh_words fish_words; do
		assert_eq "$("$words" | tr -d ' \t' | sort -u)" "$(spellings)"
	done
}

# complete_bash WORD …: what the function offers for the last word, in $output
complete_bash() {
	make_completions
	output=$(bash --norc -c '
		. "$1"
		shift
		COMP_WORDS=(fairpar "$@")
		COMP_CWORD=$#
		_fairpar
		printf "%s\n" "${COMPREPLY[@]}"' bash "$made/fairpar.bash" "$@")
	printf '%s: %s\n' "$*" "${output:0:200}"
}

@test "bash completes options, their values, commands and files" {
	touch items.txt
	mkdir dir
	complete_bash --keep
	assert_eq "$output" --keep-order
	complete_bash --fair ''
	assert_set turns time
	complete_bash --fair = ti
	assert_eq "$output" time
	complete_bash --exit-status =
	assert_set gnu xargs first max any
	complete_bash -a it
	assert_eq "$output" items.txt
	complete_bash -ka it
	assert_eq "$output" items.txt
	complete_bash --batch docs = it
	assert_eq "$output" items.txt
	complete_bash --weight docs = 3 -k --qui
	assert_eq "$output" --quiet
	complete_bash -j2 -k seq it
	assert_eq "$output" items.txt
	complete_bash -j 2 print
	assert_contains "$output" printf
	complete_bash -- print
	assert_contains "$output" printf
	complete_bash printf {} ::: it
	assert_eq "$output" items.txt
	complete_bash printf --keep
	assert_eq "$output" ''
	complete_bash --then prin
	assert_contains "$output" printf
	complete_bash --help = se
	assert_eq "$(sort -u <<<"$output" | xargs)" 'semaphore semaphore-timeout seqreplace'
	complete_bash --timeout ''
	assert_eq "$output" ''
	complete_bash ./di
	assert_eq "$output" ./dir
}

# manifest FILE: one with three batches.
manifest() {
	printf 'version: 1\nbatches: {build: {run: "true"}, "big one": {run: "true"}, test: {run: "true"}}\n' >"$1"
}

# In each shell: a file for -f, manifests first; the forms of a list; and then names of batches in place of a command.
use_manifests() {
	mkdir bin dir
	ln -s "$FAIRPAR" bin/fairpar
	PATH=$PWD/bin:$PATH
	manifest many.yaml
	manifest 'my own.yml'
	touch many.txt other.txt
	mkfifo pipe.yaml
}

@test "bash completes manifests, and the names of their batches" {
	use_manifests
	complete_bash -f ''
	assert_set many.yaml 'my own.yml' pipe.yaml bin dir
	complete_bash --manifest = many
	assert_eq "$output" many.yaml
	complete_bash -f oth
	assert_eq "$output" other.txt
	complete_bash --list =
	assert_set names dot
	complete_bash -f many.yaml ''
	assert_set build 'big\ one' test
	complete_bash -kfmany.yaml -j 2 b
	assert_set build 'big\ one'
	complete_bash --manifest = many.yaml build te
	assert_eq "$output" test
	complete_bash -f 'my\ own.yml' te
	assert_eq "$output" test
	complete_bash -f "'my own.yml'" te
	assert_eq "$output" test
	complete_bash -f many.yaml --che
	assert_eq "$output" --check
	complete_bash -f pipe.yaml b # which nobody writes to
	assert_eq "$output" ''
	complete_bash -f - b
	assert_eq "$output" ''
	complete_bash -f none.yaml b
	assert_eq "$output" ''
}

@test "bash completes what the command takes where bash-completion is there" {
	make_completions
	output=$(bash --norc -c '
		. "$1"
		_command_offset() { COMPREPLY=("the words from $1 on"); }
		COMP_WORDS=(fairpar -j 2 git che)
		COMP_CWORD=4
		_fairpar
		printf "%s\n" "${COMPREPLY[@]}"' bash "$made/fairpar.bash")
	assert_eq "$output" 'the words from 3 on'
}

# complete_fish LINE: what fish offers for the line, in $output
complete_fish() {
	make_completions
	output=$(HOME=$PWD XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD fish --no-config -c '
		source $argv[1]
		complete -C $argv[2]' "$made/fairpar.fish" "$1" | cut -f 1)
	printf '%s: %s\n' "$1" "${output:0:200}"
}

@test "fish completes options, their values, commands and files" {
	need fish
	touch items.txt
	complete_fish 'fairpar --keep'
	assert_eq "${output%%$'\n'*}" --keep-order # fish 4 adds what has that elsewhere
	complete_fish 'fairpar --fair '
	assert_set turns time
	complete_fish 'fairpar --exit-status=f'
	assert_eq "$output" --exit-status=first
	complete_fish 'fairpar --help=se'
	assert_set --help=semaphore --help=semaphore-timeout --help=seqreplace
	complete_fish 'fairpar -a it'
	assert_eq "$output" items.txt
	complete_fish 'fairpar -j 2 printe'
	assert_contains "$output" printenv
	complete_fish 'fairpar -k cat it'
	assert_eq "$output" items.txt
	complete_fish 'fairpar cat {} ::: it'
	assert_eq "$output" items.txt
	complete_fish 'fairpar printenv --keep'
	assert_eq "$output" ''
}

@test "fish completes manifests, and the names of their batches" {
	need fish
	use_manifests
	complete_fish 'fairpar -f '
	assert_contains "${output%%other.txt*}" many.yaml
	complete_fish 'fairpar --manifest=oth'
	assert_eq "$output" --manifest=other.txt
	complete_fish 'fairpar --list='
	assert_set --list=names --list=dot
	complete_fish 'fairpar -f many.yaml '
	assert_set build 'big one' test
	complete_fish 'fairpar -kfmany.yaml -j 2 bu'
	assert_eq "$output" build
	complete_fish 'fairpar --manifest=many.yaml build te'
	assert_eq "$output" test
	complete_fish "fairpar -f 'my own.yml' te"
	assert_eq "$output" test
	complete_fish 'fairpar -f many.yaml --che'
	assert_eq "${output%%$'\n'*}" --check
	complete_fish 'fairpar -f pipe.yaml bu'
	assert_eq "$output" ''
	complete_fish 'fairpar -f - bu'
	assert_eq "$output" ''
}

# complete_zsh LINE: types it and a tab into a zsh; what the line has become, in $output
complete_zsh() {
	cat >type.zsh <<'END'
zmodload zsh/zpty
export TERM=dumb
zpty z zsh -f -i
zpty -w z "PS1= RPS1= PROMPT_EOL_MARK=; stty -echo; unsetopt zle_bracketed_paste beep; fpath=(${(q)1:h} \$fpath)"
zpty -w z 'autoload -Uz compinit; compinit -u -D; LISTMAX=9999'
zpty -w z 'show() { print -r -- "<<$BUFFER>>"; BUFFER=; zle accept-line }; zle -N show; bindkey "^G" show'
zpty -w z 'print -r rea""dy'
zpty -r z line '*ready*'
zpty -wn z "$2"$'\t\a'
zpty -r z line '*<<*>>*'
line=${line##*<<}
print -r -- "${line%%>>*}"
zpty -d z
END
	make_completions
	output=$(timeout "$patience" zsh -f type.zsh "$made/_fairpar" "$1")
	printf '%s: %s\n' "$1" "${output:0:200}"
}

@test "zsh completes options, their values, commands and files" {
	need zsh
	need_terminal
	touch items.txt
	complete_zsh 'fairpar --keep'
	assert_eq "$output" 'fairpar --keep-order '
	complete_zsh 'fairpar --fair ti'
	assert_eq "$output" 'fairpar --fair time '
	complete_zsh 'fairpar --exit-status=f'
	assert_eq "$output" 'fairpar --exit-status=first '
	complete_zsh 'fairpar --help=replacem'
	assert_eq "$output" 'fairpar --help=replacement '
	complete_zsh 'fairpar -ka it'
	assert_eq "$output" 'fairpar -ka items.txt '
	complete_zsh 'fairpar --batch docs=it'
	assert_eq "$output" 'fairpar --batch docs=items.txt '
	complete_zsh 'fairpar -j2 cat it'
	assert_eq "$output" 'fairpar -j2 cat items.txt '
	complete_zsh 'fairpar cat {} ::: it'
	assert_eq "$output" 'fairpar cat {} ::: items.txt '
}

@test "zsh completes manifests, and the names of their batches" {
	need zsh
	need_terminal
	use_manifests
	complete_zsh 'fairpar -f man'
	assert_eq "$output" 'fairpar -f many.yaml '
	complete_zsh 'fairpar --manifest=oth'
	assert_eq "$output" 'fairpar --manifest=other.txt '
	complete_zsh 'fairpar --list=na'
	assert_eq "$output" 'fairpar --list=names '
	complete_zsh 'fairpar -f many.yaml te'
	assert_eq "$output" 'fairpar -f many.yaml test '
	complete_zsh 'fairpar -f many.yaml test bi'
	assert_eq "$output" 'fairpar -f many.yaml test big\ one '
	complete_zsh 'fairpar -k --manifest=many.yaml -j 2 te'
	assert_eq "$output" 'fairpar -k --manifest=many.yaml -j 2 test '
	complete_zsh 'fairpar -fmany.yaml te'
	assert_eq "$output" 'fairpar -fmany.yaml test '
	complete_zsh 'fairpar -f my\ own.yml te'
	assert_eq "$output" 'fairpar -f my\ own.yml test '
	complete_zsh 'fairpar -f many.yaml --che'
	assert_eq "$output" 'fairpar -f many.yaml --check '
	complete_zsh 'fairpar -f pipe.yaml te'
	assert_eq "$output" 'fairpar -f pipe.yaml te'
}

@test "--version is in the form that GNU asks for" {
	run_fairpar --version
	[[ ${lines[0]} =~ ^fairpar\ [^\ ]+$ ]]
	assert_contains "${lines[1]}" 'MIT License'
	run_fairpar -V
	assert_contains "$output" "${lines[0]}"
}

@test "a help that cannot be written is an error" {
	status=0
	"$FAIRPAR" --help >/dev/full 2>err || status=$?
	assert_eq "$status" 255
	assert_contains "$(cat err)" 'cannot write to stdout: No space left on device'
}

@test "without command and input, on a terminal, fairpar says what it is for and does not wait" {
	need script
	status=0
	output=$(timeout "$patience" script -qec "$FAIRPAR" /dev/null </dev/null) || status=$?
	assert_eq "$status" 255
	assert_contains "$output" 'Usage: fairpar'
	[[ $(wc -l <<<"$output") -lt 20 ]]
}

@test "the hints of options that are left out are commands that work" {
	local hint
	hint=$("$FAIRPAR" --tmpl x 2>&1) || :
	[[ $hint =~ "as in fairpar '"(.*)"'"$ ]]
	run_fairpar "${BASH_REMATCH[1]}" ::: a.txt
	assert_eq "$(cat a.conf)" a.txt
}

@test "the example for --rpl makes the same files before and after" {
	local before after
	before=$(grep -E "^parallel --rpl" "$top/man/fairpar-parallel.7")
	after=$(grep -A1 -E "^parallel --rpl" "$top/man/fairpar-parallel.7" | tail -n 1)
	mkdir in out
	touch in/{a_1_x,b_2}.txt
	ln -s "$FAIRPAR" fairpar
	PATH=$PWD:$PATH bash -c "${after//\\e/\\}"
	assert_eq "$(cd out && echo *)" "a b"
	need parallel
	rm out/*
	bash -c "${before//\\e/\\}" 2>/dev/null
	assert_eq "$(cd out && echo *)" "a b"
}

@test "the status line's example in the manual is counted as fairpar counts" {
	[[ $(grep -o '\[ *[0-9]*/[0-9]* [0-9]*%\]' "$top/man/fairpar-records.7") =~ ([0-9]+)/([0-9]+)\ ([0-9]+)% ]]
	assert_eq "${BASH_REMATCH[3]}" $((100 * BASH_REMATCH[1] / BASH_REMATCH[2]))
}

@test "make dist makes the same of a release as of the repository" {
	need git
	git -C "$top" rev-parse --git-dir >/dev/null 2>&1 || skip "this is no repository"
	git -C "$top" archive --prefix=tree/ HEAD | tar -x
	echo 1.2.3 >tree/VERSION
	mkdir -p tree/obj/junk
	cp "$top/Makefile" tree
	tarball=$(env -u MAKEFLAGS make -s --no-print-directory -C tree dist | tail -n 1)
	assert_eq "$tarball" obj/dist/fairpar-1.2.3.tar.gz
	assert_eq "$(tar -tzf "tree/$tarball" | sed 's,^fairpar-1.2.3,tree,; s,/$,,' | sort)" \
		"$(find tree ! -path 'tree/obj*' | sort)"
	assert_eq "$(tar -xzOf "tree/$tarball" fairpar-1.2.3/VERSION)" 1.2.3
}

@test "fish completes a prefix of an option without a message" {
	need fish
	complete_fish 'fairpar --ba' 2>err
	assert_set --bar --basefile --basenameextensionreplace --basenamereplace --batch --batch-by
	complete_fish 'fairpar -' 2>>err
	assert_eq "$(cat err)" ""
	touch log.txt
	complete_fish 'fairpar --joblog l'
	assert_eq "$output" log.txt
	complete_fish 'fairpar -- --ba'
	assert_eq "$output" ''
}

@test "fairpar suggests the option that is nearest" {
	run_fairpar 255 --quite echo ::: a
	assert_eq "$stderr" "fairpar: error: unknown option --quite; did you mean --quiet?"
	run_fairpar 255 --tarce echo ::: a
	assert_eq "$stderr" "fairpar: error: unknown option --tarce; did you mean --trace?"
	run_fairpar 255 --quoet echo ::: a
	assert_contains "$stderr" "did you mean --quote?"
	run_fairpar 255 --attempts=3 echo ::: a
	assert_eq "$stderr" "fairpar: error: unknown option --attempts; did you mean --retries?"
	run_fairpar 255 --retry-failed=3 echo ::: a
	assert_contains "$stderr" "--retry-failed takes no value"
}

@test "the manual has every frame of a line to a worker, with its fields, and every field of a job" {
	man=$(sed 's/\\-/-/g' "$BATS_TEST_DIRNAME/../man/fairpar-worker.7")
	rows=$(sed -nE 's/^FRAME\([A-Z]+, "([a-z]+)", [A-Z]+, "([a-z ]*)".*/\1 \2/p' "$BATS_TEST_DIRNAME/../src/remote/frames.def")
	[[ -n $rows ]] || fail "frames.def has no rows"
	while read -r frame fields; do
		section=$(awk -v frame="$frame" '/^\.S[hs]/ { on = $0 == ".Ss " frame } on' <<<"$man")
		[[ -n $section ]] || fail "fairpar-worker(7) has no frame $frame"
		for field in $fields; do
			grep -qE "^\.It Li .*\b$field\b" <<<"$section" || fail "fairpar-worker(7) has no $field of $frame"
		done
	done <<<"$rows"
	for field in $(grep -oE '\] = "[a-z-]+"' "$BATS_TEST_DIRNAME/../src/remote/payload.c" | cut -d'"' -f2); do
		grep -qE "^\.It Li (.* )?$field( |$)" <<<"$man" || fail "fairpar-worker(7) has no field $field of a job"
	done
}
