# No item is code (DESIGN P8): in arithmetic it is an integer, where a shell takes a name it is one, and a place that shells
# do not agree about is refused, with the way out. Each in every shell that is here.

load helper

# The shells that are here, but for those that are given.
shells() {
	local shell
	for shell in dash bash zsh yash mksh ksh93; do
		[[ " $* " == *" $shell "* ]] || ! command -v "$shell" >/dev/null || echo "$shell"
	done
}

# no_code COMMAND ITEM …: in each shell the jobs of these items fail, with a message that names them, and make nothing.
no_code() {
	local command=$1 shell
	shift
	for shell in $(shells); do
		run_fairpar any --shell "$shell" "$command" ::: "$@"
		[ ! -e PWN ] || fail "$shell ran the item of: $command"
		((status != 0)) || fail "$shell took the item of: $command"
		[[ $stderr == *"job #1: the item "* ]] || fail "$shell has no message for: $command"
	done
}

# refused COMMAND PATTERN: nothing runs, and the message has the place and the way out.
refused() {
	run_fairpar any --shell "${2:-sh}" "$1" ::: 'a$(touch PWN)' x
	assert_eq "$status$output" 255
	[[ $stderr == *'an item cannot stand here: '*'^^'*'FAIRPAR_ITEM'* ]] || fail "message: $stderr"
	[ ! -e PWN ]
}

@test "an item is no reserved word and no operator of [[ ]]" {
	local shell command
	for shell in $(shells); do
		for command in 'case x in {1}) echo no;; *) echo yes;; esac' 'case x in (a|{1}) echo no;; *) echo yes;; esac' \
			'case esac in e{2}) echo yes;; esac' '{ true && {1} x || echo yes; } 2>/dev/null' '{ e{2} a || echo yes; } 2>/dev/null'; do
			run_fairpar --colsep , --shell "$shell" "$command" ::: {esac,if,then,fi,do,done,while,case,time},sac
			assert_eq "$output" "$(printf 'yes\n%.0s' {1..9})"
		done
	done
	for shell in bash zsh ksh93 mksh; do
		command -v "$shell" >/dev/null || continue
		for command in '[[ {} = Q* ]] || echo yes' '[[ ( {} = Q* ) ]] || echo yes' '[[ {} ]] && echo yes'; do
			run_fairpar --shell "$shell" "$command" ::: -e -f -n a
			assert_lines yes yes yes yes
		done
	done
}

@test "in arithmetic an item is an integer, or its job fails by name and the others run" {
	for command in 'echo $(( {} + 1 ))' 'echo $((1+$(echo 2)+{}))' 'x={}; echo $((x + 1))' 'x={}; y=$x; echo $(( $y ))' \
		'set -- {}; echo $(( $1 + 1 ))' 'f() { echo $(($1)); }; f {}' '[ {} -eq 1 ]' 'exit {}' 'printf %d {}' \
		'for i in {}; do echo $((i)); done' 'echo ${x:-$(({}))}'; do
		no_code "$command" 'a[$(touch PWN)]' '$(touch PWN)' '`touch PWN`'
	done
	run_fairpar any -k --shell sh 'echo $(( {} + 1 ))' ::: 1 -3 0x10 010 'a[$(touch PWN)]' '1+1' '' 2
	assert_eq "$status" 3
	assert_lines 2 -2 17 9 3
	[[ $stderr == *"job #5: the item 'a[\$(touch PWN)]' is no integer"* ]]
}

@test "so it is in the arithmetic of bash, zsh and ksh, and of what the variables hold" {
	command -v bash >/dev/null || skip "no bash"
	for command in '(( {} > 1 ))' 'for ((i = 0; i < {}; i++)); do :; done' 'echo $[{}]' '[[ {} -eq 1 ]]' '[[ 1 -lt {} ]]' \
		'let x={}' 'x=([{}]=1)' 'x[{}]=1' 'y=abc; echo ${y:{}}' 'declare -i x; x={}' 'declare -i x={}' 'x={}; ((x++))' \
		'printf -v x %s {}; ((x))' 'read x <<<{}; ((x))' 'printf "%s\n" {} | { read x; ((x)); }' 'RANDOM={}' 'x={}; [[ x -eq 1 ]]'; do
		run_fairpar any --shell bash "$command" ::: 'a[$(touch PWN)]'
		[ ! -e PWN ] || fail "bash ran the item of: $command"
		[[ $stderr == *'is no integer'* ]] || fail "no message for: $command"
	done
	run_fairpar any -k --shell bash '(( {} > 1 )) && echo more; let x={}; for ((i = 0; i < {}; i++)); do echo $i; done; echo ${x:0:{}}' ::: 2
	assert_lines more 0 1 2
}

@test "where a shell takes a name, the item is one" {
	command -v bash >/dev/null || skip "no bash"
	for command in 'printf -v {} x' 'test -v {}' '[ -v {} ]' '[[ -v {} ]]' 'read {} <<<x' 'unset {}' 'declare {}=1' 'export {}=1' \
		'mapfile {} </dev/null' 'local {}' 'getopts x {}' 'x={}; echo ${!x}'; do
		run_fairpar any --shell bash "$command" ::: 'a[$(touch PWN)]'
		[ ! -e PWN ] || fail "bash ran the item of: $command"
		[[ $stderr == *'is no plain name'* ]] || fail "no message for: $command: $stderr"
	done
	run_fairpar any --shell bash 'printf -v {} 1; test -v {} && echo set; export X={}; echo $X' ::: name
	assert_lines set name
	for command in "read 'a[{}]' <<<k" "unset 'a[{}]'" 'printf -v "a[{}]" k' "test -v 'a[{}]'"; do # a subscript is arithmetic
		run_fairpar any -k --shell bash "$command; echo took {}" ::: 'a[$(touch PWN)]' name 7
		[ ! -e PWN ] || fail "bash ran the item of: $command"
		assert_lines 'took 7'
	done
}

@test "a value that is made of an item is evaluated only if nothing in the item could be code" {
	command -v bash >/dev/null || skip "no bash"
	local command
	for command in 'x=$(basename {} .txt); echo $((x+1))' '[[ $(basename {} .txt) -gt 5 ]]' 'x=`echo {}`; ((x++))' \
		'n=$(sed s/x/y/ <<< {}); echo $((n))' 'read a b < <(echo 1 {.}); ((b))' 'mapfile -t x <<< {}; ((x))' 'mapfile <<<{}; ((MAPFILE))' \
		'printf -v "$(basename {})" x' 'x={}; y=x; echo $((y))' 'f={}; n=${f:0:30}; echo $((n))' 'n=${FAIRPAR_ITEM#x}; ((n))' \
		'IFS=_ read -r a b <<< {}; echo $((a))' 'read <<<{}; ((REPLY))' 'basename {} | { read n; ((n)); }' 'echo $(( $(echo {}) ))'; do
		run_fairpar any --shell bash "$command" ::: 'a[$(touch PWN)]'
		[ ! -e PWN ] || fail "bash ran the item of: $command"
		[[ $stderr == *'job #1: the item '* ]] || fail "no message for: $command: $stderr"
	done
	run_fairpar any --shell bash 'z={2}; n={1}; n=${n#_}; ((n))' ::: _z ::: 'a[$(touch PWN)]'
	[ ! -e PWN ]
	run_fairpar -k --shell bash 'f={}; n=${#f}; echo $((n + 1))' ::: '$(x)'
	assert_lines 5
	run_fairpar -k --shell bash 'f={}; y=${f:5:3}; echo $((10#$y))' ::: file_007.txt
	assert_lines 7
	run_fairpar -k --shell bash 'f={}; n=${f##*_}; n=${n%.*}; echo $((10#$n)); IFS=_. read -r a b c <<< {}; echo $((10#$b + 1))' ::: 'my file_008.txt'
	assert_lines 8 9
	echo a >"it's [1].txt"
	run_fairpar -k --shell bash 'n=$(wc -l <{}); echo $((n + 1))' ::: "it's [1].txt"
	assert_lines 2
}

@test "what comes through a pipe or a here-document to a variable is the item's, wherever the shell reads it" {
	local command
	for command in 'echo {} | { x=$(cat); echo $((x+1)); }' 'echo {} | { x=`cat`; echo $((x+1)); }' '{ echo {}; } | { read x; echo $((x)); }' \
		'(echo {}; true) | while read x; do echo $((x)); done' 'for i in {}; do echo $i; done | { read x; echo $((x)); }' \
		'echo {} $(true) | { read x; echo $((x)); }' 'f() { x=$(cat); echo $((x)); }; echo {} | f' 'f() { echo {}; }; x=$(f); echo $((x))' \
		'f() { echo {}; }; f | { read x; echo $((x)); }' $'exec <<E\n{}\nE\nx=$(cat); echo $((x))' $'exec 3<<E\n{}\nE\nread x <&3; echo $((x))' \
		$'echo {} |\n\n while read x; do echo $((x)); done' 'true {}; x=$_; echo $((x))' 'set -- -a {}; getopts a: o; echo $((OPTARG))'; do
		no_code "$command" 'a[$(touch PWN)]'
	done
	command -v bash >/dev/null || skip "no bash"
	for command in 'while x=$(head -n 1); [ "$x" ]; do ((x)); done <<< {}' 'f() { cat; }; x=$(f <<< {}); ((x))' 'read "a[1]" <<< {}; ((a[1]))' \
		'select x in a; do ((REPLY)); break; done <<< {}' '[[ {} =~ (.*) ]]; ((${BASH_REMATCH[1]}))' 'echo {} > >(read x; ((x)))' \
		'exec 3<<< {}; x=$(</dev/fd/3); ((x))' 'printf -v "x[0]" %s {}; ((x[0]))'; do
		run_fairpar any --shell bash "$command" ::: 'a[$(touch PWN)]'
		[[ ! -e PWN && $stderr == *'job #1: the item '* ]] || fail "$command: $stderr"
	done
}

@test "arithmetic beside an item that does not flow there takes any item" {
	local command
	echo a >"it's [1].txt"
	for command in 't=$(date +%s); cat {}; echo $(($(date +%s) - t))' 'seq 3 | while read i; do echo {} $((i + 1)); done' \
		"printf '%s\n' {} | while read -r f; do n=\$(wc -l <\"\$f\"); echo \$((n)); done" 'cat {} | sort; n=$(ls | wc -l); echo $((n))' \
		'i=0; for x in a b; do i=$((i + 1)); echo {} $i; done' 'x=$(mktemp -p .); cp {} "$x"; s=$(stat -c %s "$x"); echo $((s / 2))'; do
		run_fairpar --shell sh "$command" ::: "it's [1].txt"
	done
}

@test "a command whose name comes out of an expansion gets an item as one word, as any other does" {
	local command
	for command in 'e=echo; $e {}' '{echo,} {}' '"$(echo echo)" {}' 'ec$x"ho" {}' '${x:-echo} {}' 'set -- echo; "$@" {}' 'f() { "$@"; }; f echo {}' \
		'$ECHO {}' 'x={}; echo "$x"' 'function g { echo "$1"; }; g {}'; do
		ECHO='echo' run_fairpar --shell bash "$command" ::: 'x; touch PWN'
		[[ ! -e PWN && ${output# } == 'x; touch PWN' ]] || fail "$command: $stderr$output"
	done
	for command in '2>/dev/null eval {}' '{fd}>/dev/null eval {}'; do
		refused "$command" bash
	done
	run_fairpar any -j1 --shell bash 'true; {1} {2}' ::: eval trap command echo :::+ 'touch PWN' 'touch PWN' eval 'a b'
	[[ ! -e PWN && $output == 'a b' && $stderr == *"job #1: the item 'eval' is the name of a command by which"*'job #3: '* ]] || fail "$stderr"
	E="echo" run_fairpar '"$PWD"/none {} 2>/dev/null || ${E:-echo} {}; cd . && ${FAIRPAR_NONE-echo} {}' ::: 'x;touch PWN'
	assert_lines 'x;touch PWN' 'x;touch PWN'
}

@test "what the shell reads as commands from its input or from a list of completions is refused" {
	local command
	for command in '. <(echo {})' 'source <(echo {})' 'source /dev/stdin <<< {}' 'echo {} | . /dev/stdin' $'. /dev/fd/0 <<E\n{}\nE' \
		'eval "$(cat)" <<< {}' 'echo {} | { x=$(cat); eval "$x"; }' 'echo {} | while read x; do eval "$x"; done' 'compgen -W {} x' \
		'compgen -C {} x' 'mapfile -C {} -c 1 a <<< x' 'history -s {}; fc -s' "eval 'eval \"\$FAIRPAR_ITEM\"'" "trap 'eval \"\$FAIRPAR_ITEM\"' EXIT"; do
		refused "$command" bash
	done
	no_code "x={}; eval 'echo \$((x))'" 'a[$(touch PWN)]'
	no_code 'eval "echo \$((FAIRPAR_ITEM))"' 'a[$(touch PWN)]'
	no_code "trap 'echo \$((FAIRPAR_ITEM))' EXIT; true" 'a[$(touch PWN)]'
	printf 'echo "$1"\n' >lib.sh
	run_fairpar '. ./lib.sh; echo {}' ::: 'a b'
	assert_lines '' 'a b'
}

@test "the operator of a test and the format of printf are not made of an item that would have others evaluated" {
	refused '[ 1 {} "a[x]" ]'
	refused 'test "$a" {}'
	no_code 'op=-eq; [ {} $op 1 ]' 'a[$(touch PWN)]'
	no_code 'printf {1} {1}' '%d a[$(touch PWN)]'
	no_code 'printf %d ""{}' 'a[$(touch PWN)]'
	no_code 'fmt=%d; printf "$fmt" {}' 'a[$(touch PWN)]'
	no_code "printf '%1\$d' {}" 'a[$(touch PWN)]'
	for shell in zsh ksh93 mksh; do
		command -v "$shell" >/dev/null || continue
		run_fairpar any --shell "$shell" 'print -f %d {}' ::: 'a[$(touch PWN)]'
		[[ ! -e PWN && $stderr == *'job #1: the item '* ]] || fail "$shell: $stderr"
	done
	run_fairpar 'printf {}; [ -e {} -o ! {} = x ] && printf "$none%s" {}' ::: 'a b'
	assert_eq "$output" 'a ba b'
}

@test "a variable that shells evaluate, or find programs by, gets no item, whatever assigns it" {
	local command
	for command in 'PS4={}; :' 'for PS4 in {}; do set -x; :; done' 'set -- {}; for PS4; do set -x; done' 'f() { for PS4; do set -x; done; }; f {}' \
		'printf -v PS4 %s {}; set -x; :' 'printf -vPS4 %s {}' 'print -rv PS4 {}' 'read -r PS4 <<< {}; set -x; :' 'echo {} | { read PS4; set -x; }' \
		'while read PS4; do set -x; done < <(echo {})' 'mapfile -t PS4 <<< {}; set -x; :' 'select PS4 in {}; do break; done <<< 1' \
		'x={}; : "${PS4:=$x}"' ': ${PS4={}}' 'PS4=$(echo {})' 'export PS4={}' 'declare "PS4={}"' 'x={}; local PS4=$x' 'PS4="$FAIRPAR_ITEM"' \
		'for x PS4 in a {}; do set -x; done' 'for BASH_ENV in {}; do export BASH_ENV; bash -c :; done' 'echo {} | { read ENV; export ENV; sh -ic :; }' \
		'PROMPT_COMMAND={}' 'x={}; COMMAND_NOT_FOUND_HANDLER=$x; none' 'YASH_AFTER_CD={}; cd .' 'NULLCMD={}; <x' 'BASH_ALIASES[x]={}; x' \
		'PATH={}; ls' 'x={}; PATH=$x; ls' 'for PATH in {}; do ls; done' 'PATH=$PATH:{}' 'LD_PRELOAD={} /bin/true' 'LD_LIBRARY_PATH={} ls' \
		'FPATH={}; f' 'BASH_CMDS[ls]={}; ls' 'read -r PATH <<< {}; ls' \
		'n=PS4; printf -v $n %s {}' 'n=PS4; read "$n" <<< {}' 'n=PS4; mapfile -t $n <<< {}' 'n=PS4; : ${!n:={}}' 'n=PS4; declare "$n={}"' \
		'n=PS4; set -A $n {}' 'printf -v {1} %s {2}'; do
		refused "$command" bash
	done
	for command in 'PATH=/opt/bin:$PATH; printf "%s\n" {}' 'IFS=. read -r a b <<< {}; echo $a.$b' 'printf -v x %s {}; echo $x' \
		'set -A x {} 2>/dev/null; echo {}' 'for f in {}; do echo $f; done' 'echo {} | { read -r -t "${T:-9}" x; echo $x; }' \
		'functions={}; path=$functions; echo $path' 'read x <<< {}; unset "$y"; echo $x' 'export "$x"=1 2>/dev/null; echo {}'; do
		run_fairpar any --shell bash "$command" ::: 'it.s'
		assert_lines 'it.s'
	done
}

@test "a variable that shells reckon with gets an integer, whatever assigns it" {
	local shell name how command item
	for shell in $(shells dash yash ksh93); do
		item='a[$(touch PWN)]'
		[ "$shell" != zsh ] || item='path[$(touch PWN)1]'
		for name in RANDOM SECONDS OPTIND COLUMNS LINES TMOUT HISTSIZE FUNCNEST HISTCMD KSHUID; do
			for how in '%s={}' 'for %s in {}; do :; done' $'read -r %s <<E\n{}\nE' 'echo {} | { read %s; }' ': ${%s:={}}' 'x={}; %s=$x'; do
				# shellcheck disable=SC2059 # a format
				printf -v command "$how" "$name"
				run_fairpar any --shell "$shell" "$command" ::: "$item"
				[[ ! -e PWN && $stderr == *'job #1: the item '* ]] || fail "$shell: $command: $stderr"
			done
		done
	done
	for command in 'declare -i x; for x in {}; do :; done' 'declare -i x; read x <<< {}' 'declare -i x; printf -v x %s {}' 'integer x; : ${x:={}}'; do
		run_fairpar any --shell bash "$command" ::: 'a[$(touch PWN)]'
		[[ ! -e PWN && $stderr == *'job #1: the item '* ]] || fail "$command: $stderr"
	done
	printf 'version: 1\nbatches:\n  b: {args: ["a[$(touch PWN)]"], env: {COLUMNS: "{}"}, shell: mksh, run: "echo $COLUMNS; :"}\n' >m.yaml
	if command -v mksh >/dev/null; then
		run_fairpar any -f m.yaml
		[[ ! -e PWN && $stderr == *'is no integer'* ]] || fail "$stderr"
	fi
}

@test "what zsh alone evaluates is refused" {
	need zsh
	local command
	for command in 'emulate sh -c {}' 'emulate -R zsh -c {}' 'emulate sh -c "$FAIRPAR_ITEM"' 'noglob eval {}' 'true; - eval {}' 'zstyle -e x y {}' \
		'functions[x]={}; x' 'functions=(x {}); x' 'functions+=(x {}); x' 'x={}; functions[y]=$x; y' 'set -A functions x {}; x' 'dis_functions[x]={}' \
		'aliases[x]={}; eval x' 'galiases[x]={}; eval x' 'path=({}); ls' 'commands[ls]={}; ls'  \
		'x={}; echo ${(l:x:)y}' 'x={}; echo ${(l:$x:)y}' 'x={}; echo ${(r:x:)y}' 'x={}; echo ${(P)${x}}' 'x={}; echo ${(kv)${(P)x}}' \
		'x={}; echo ${${x}}' 'cat =(eval {})' 'while [[ x ]] { eval {}; break }' \
		'x={}; : ${functions[q]:=$x}; q' 'getln PS4 <<< {}' "alias q='eval \"\$FAIRPAR_ITEM\"'; eval q" "PS4='\$(eval \"\$FAIRPAR_ITEM\")'; :" 'x={}; $=x' 'x={}; echo $~x' 'x={}; echo "${~x}"' 'x={}; echo ${(e)x}' 'echo {} | { read -A functions; }'; do
		refused "$command" zsh
		run_fairpar any -q --shell zsh emulate sh -c {} ::: 'touch PWN'
		[[ $status == 255 && ! -e PWN ]]
	done
	for command in 'x={}; set -A $x y' 'set -A {} y' 'x={}; integer y; y=$x'; do
		run_fairpar any --shell zsh "$command" ::: 'path[$(touch PWN)1]'
		[[ ! -e PWN && $stderr == *'job #1: the item '* ]] || fail "$command: $stderr"
	done
	run_fairpar --shell zsh 'set -A x {} b; echo $x; [[ {} == (a|b) ]] && echo $#x; echo *.(x|{})(N) cost$=1' ::: a
	assert_lines 'a b' 2 cost
}

@test "everyday commands are taken with any name of a file" {
	local command shell
	echo a >"it's [1].txt"
	while IFS= read -r command; do
		for shell in sh bash; do
			CC=: run_fairpar any --shell "$shell" "$command" ::: "it's [1].txt"
			[[ $stderr != *'cannot stand here'* && $stderr != *'job #1: the item'* ]] || fail "$shell: $command: $stderr"
		done
	done <<-'END'
		n=$(wc -l <{}); echo $((n*2))
		x=$(basename {} .txt); echo "$x"
		echo {} | while read -r f; do ls "$f"; done
		size=$(stat -c %s <{}); [ "$size" -gt 100 ] || echo small
		$CC -c {}
		f={}; echo ${f%.*}
		for f in {}*; do echo "$f"; done
		i=0; while read -r l; do i=$((i+1)); done <{}; echo $i
		IFS=. read -r a b <<< {}; echo $a
		mapfile -t L < {}; echo ${#L[@]}
		ls -l {} | { read -r p rest; echo $p; }
		trap 'rm -f tmp.$$' EXIT; cp {} tmp.$$
		for n in 1 2; do cat {} && break; done; echo $n
		x={}; y=${x/a/b}; echo $y
		PATH=/opt/bin:$PATH; ls {}
		[[ {} == *.txt ]] && echo txt
		export F={}; sh -c 'ls "$F"'
		lines=$(grep -c . <{} || true); echo $((lines + 1))
		while IFS== read -r k v; do export "k_$k=$v"; done <{}
	END
}

@test "a variable of a manifest's env that holds an item is one to the command" {
	for run in 'echo $((N + 1))' 'x=$N; echo $(($x))' 'echo $(basename $N) $((N))'; do
		printf 'version: 1\nbatches:\n  b: {args: ["1", "a[$(touch PWN)]"], env: {N: "{}"}, run: "%s #{}"}\n' "$run" >m.yaml
		run_fairpar any -k -f m.yaml
		[[ ! -e PWN && $stderr == *"the item 'a["* ]] || fail "$run: $stderr"
	done
	printf 'version: 1\nbatches:\n  b: {args: ["1", abc], env: {N: "{}", abc: "7"}, run: "echo $((N + 1))"}\n' >m.yaml
	run_fairpar any -k -f m.yaml
	assert_lines 2
	[[ $stderr == *"the item 'abc' is no integer"* ]]
	refused 'BASH_ENV={} bash -c true'
	refused 'ENV={} sh -c true'
}

@test "a manifest's variable that the shell or the loader obeys holds no item" {
	local name
	for name in BASH_ENV ENV PS4 PROMPT_COMMAND BASH_FUNC_x%% SHELLOPTS IFS ZDOTDIR LD_PRELOAD LD_LIBRARY_PATH PATH; do
		printf 'version: 1\nbatches:\n  b:\n    args: [x]\n    env:\n      "%s": "a{}"\n    run: echo {}\n' "$name" >m.yaml
		run_fairpar 255 -f m.yaml --check
		[[ $stderr == "m.yaml:6:"*"error: an item cannot stand here: "*"'$name'"*'^^'* ]] || fail "$name: $stderr"
	done
	printf 'version: 1\nenv: {ENV: "{}"}\nbatches: {b: {args: [x], run: "echo {}"}}\n' >m.yaml
	run_fairpar 255 -f m.yaml --check
	[[ $stderr == 'm.yaml:2:13: error: '* ]]
	printf 'version: 1\nbatches:\n  b: {matrix: {v: [a, b]}, env: {PATH: "/opt/{v}/bin:/usr/bin:/bin"}, run: "echo {v} $PATH"}\n' >m.yaml
	run_fairpar -k -f m.yaml
	assert_lines 'a /opt/a/bin:/usr/bin:/bin' 'b /opt/b/bin:/usr/bin:/bin'
	printf 'version: 1\nbatches:\n  b: {args: [x], env: {N: "{}"}, run: '"'eval \"\$N\"'"', then: "eval $N"}\n' >m.yaml
	run_fairpar 255 -f m.yaml --check
	[[ $stderr == *'eval reads its words'*'eval reads its words'* ]] || fail "$stderr"
}

@test ">& and <& are refused with the way to write it" {
	refused 'make >&{}.log' bash
	refused 'make 1>&{}' bash
	refused 'make >& "{}.log"' bash
	[[ $stderr == *'write >{} 2>&1'* ]]
	refused 'cat <&{}'
	run_fairpar any --shell sh 'echo a >&{%}; echo b >{}.log 2>&1' ::: x
	assert_eq "$output $(cat x.log)" 'a b'
}

@test "what evaluates its words again is refused, however its name is written" {
	local command
	for command in 'eval echo {}' 'eval echo "{}"' 'eval -- echo {}' 'X=1 eval echo {}' 'command eval echo {}' 'builtin eval echo {}' \
		'time eval echo {}' '\eval echo {}' "e'val' echo {}" '"eval" echo {}' 'echo "$(eval echo {})"' 'if eval test -n {}; then :; fi' \
		'eval "x=1" {}' 'eval {}' 'eval "{}"' 'eval "$(echo {})"' 'x={}; eval echo $x' 'f() { eval "$@"; }; f {}' ': ; - eval echo {}' \
		'trap {} EXIT' 'trap -- {} 0' 'trap "{}" EXIT' 'trap $x {} EXIT'; do
		refused "$command" bash
		[[ $stderr == *"eval reads its words"* || $stderr == *'trap reads its action'* ]]
		run_fairpar any --then "$command" true ::: 'a$(touch PWN)'
		[[ $status == 255 && ! -e PWN ]] || fail "--then: $command"
		run_fairpar any --on-failure "$command" false ::: 'a$(touch PWN)'
		[[ $status == 255 && ! -e PWN ]] || fail "--on-failure: $command"
	done
	refused 'eval echo' bash
	for command in '-q eval echo {}' '-X eval echo' '-q eval echo' '-q trap {} EXIT' '-q -X command eval echo {}'; do
		# shellcheck disable=SC2086 # words
		run_fairpar any $command ::: 'a$(touch PWN)'
		[[ $status == 255 && ! -e PWN && $stderr == *'an item cannot stand here: '* ]] || fail "$command: $stderr"
	done
	no_code 'trap - {}' 'a[$(touch PWN)]'
	no_code "trap : {}" '$(touch PWN)'
	run_fairpar "eval 'echo \"\$FAIRPAR_ITEM\"'" ::: 'a$(touch PWN)'
	assert_lines 'a$(touch PWN)'
}

@test "what reads its words as commands is refused" {
	refused 'eval "echo {}"'
	refused 'trap "rm -f {}.tmp" EXIT; x'
	refused 'alias x={}; y {}'
	run_fairpar -k '{}' ::: 'echo a; echo b' 'x=1; echo $x'
	assert_lines a b 1
	run_fairpar "trap 'echo \"\$FAIRPAR_ITEM\"' EXIT; true" ::: 'a $(touch PWN)'
	assert_lines 'a $(touch PWN)'
}

@test "a place that shells do not agree about is refused, before anything runs" {
	refused "printf %s \"\$(case x in x) printf %s '{}' ;; esac)\""
	refused $'cat <<{}\nx\n{}'
	refused $'cat <\\\n<E\n{}\nE'
	refused 'echo $((echo {}) | cat) {}'
	refused 'echo "${x:-'"'"'}'"'"'}" {}'
	refused $'x=$(echo a # it\'s\n); echo {}'
	refused 'echo ${{}}x'
	refused "echo \$'it\\'s {}'"
	for shell in $(shells); do
		run_fairpar any -k --shell "$shell" "printf '<%s>' \"\$(case x in (x) printf %s '{}' ;; esac)\" {}" ::: 'a b;c' "it's"
		assert_eq "$output" "<a b;c><a b;c><it's><it's>"
	done
	refused $'cat <<E\n$(cat <<\'F\'\n{}\nF\n)\nE' # some take a \ at the end of the item's line away
	refused $'echo "`cat <\\\\\n<E\n{}\nE\n`"'    # the operator goes on in the next line, once the backticks are read
}

@test "in a manifest the refusal has the line, and nothing runs" {
	printf 'version: 1\nbatches:\n  a: {run: touch ran}\n  b:\n    args: [x]\n    run: |\n      echo a\n      make >&{}.log\n' >m.yaml
	run_fairpar any -f m.yaml
	assert_eq "$status" 255
	[[ $stderr == 'm.yaml:8:14: error: an item cannot stand here: '*'^^'* ]] || fail "$stderr"
	[ ! -e ran ]
	printf 'version: 1\nbatches:\n  b: {args: ["1", "$(touch PWN)"], run: "echo $(({}+1))", then: "echo $(({}+2))"}\n' >m.yaml
	run_fairpar any -k -f m.yaml --quiet
	[[ $output == *2*3* && ! -e PWN && $stderr == *'is no integer'* ]]
}

@test "an item is refused in a here-document without expansion between backticks" {
	run_fairpar 255 $'cat <<E1\n`cat <<\'E2\'\na {}\nE2\n`\nE1' ::: x '`'
	assert_contains "$stderr" 'what stands between backticks is read twice'
	run_fairpar $'cat <<\'E2\'\na {}\nE2' ::: '`'
	assert_lines 'a `'
}

@test "an item does not end the here-document that it stands in" {
	for shell in $(shells); do
		run_fairpar any -k --shell "$shell" $'cat <<E\n{}\nE\ncat <<\\E\nx{}\nE' ::: E 'E
touch PWN' $'\tE'
		[ ! -e PWN ] || fail "$shell"
		assert_eq "$output" $'E\nxE\n\tE\nx\tE'
		[[ $stderr == *'job #2: the item '*'has more than one line'* ]]
		run_fairpar any -k --shell "$shell" $'cat <<\\E\n{}\nE\necho end' ::: a E b
		assert_lines a end b end
	done
}

@test "an item does not become part of a variable's name" {
	for shell in $(shells); do
		run_fairpar any --shell "$shell" 'x=1; echo $x{} "$x{}" $#{}' ::: y
		assert_lines '1y 1y 0y'
	done
}

@test "\$FAIRPAR_ITEM holds the item in a job whose command names it, and in no other" {
	run_fairpar -k 'printf "%s|" "$FAIRPAR_ITEM"; env | grep -c ^FAIRPAR_ITEM' ::: 'a b' '$(touch PWN)' ''
	assert_lines 'a b|2' '$(touch PWN)|2' '|2'
	run_fairpar --colsep , 'echo "$FAIRPAR_ITEM_2-$FAIRPAR_ITEM_1"' ::: 'a,b c'
	assert_lines 'b c-a'
	run_fairpar 'env | grep ^FAIRPAR_ITEM; echo {}' ::: x
	assert_lines FAIRPAR_ITEM=x FAIRPAR_ITEM_1=x x
	run_fairpar "sh -c 'env | grep ^FAIRPAR_IT[E]M'; echo {}" ::: x
	assert_lines x
	run_fairpar ': "$FAIRPAR_ITEM"; "$FAIRPAR" "env | grep ^FAIRPAR_IT[E]M; echo" ::: y' ::: x
	assert_lines y
	no_code 'echo $((FAIRPAR_ITEM + 1))' 'a[$(touch PWN)]'
	no_code 'echo $(($FAIRPAR_ITEM + 1))' 'a[$(touch PWN)]'
}

@test "an item that no variable can hold fails by name" {
	printf '%0140000d\nx\n' 0 >items
	run_fairpar any -k -a items 'echo ${#FAIRPAR_ITEM}'
	assert_eq "$status$output" 11
	[[ $stderr == *'job #1: an item of 140000 bytes is too long for $FAIRPAR_ITEM'* ]]
}

@test "in locales whose characters may contain ASCII bytes an item arrives byte for byte" {
	command -v localedef >/dev/null || skip "no localedef"
	local locale shell
	mkdir loc
	for locale in zh_CN.GBK zh_CN.GB18030 zh_TW.BIG5 ja_JP.SHIFT_JIS; do
		localedef -c -i "${locale%.*}" -f "${locale#*.}" "loc/$locale" 2>/dev/null || [ -e "loc/$locale/LC_CTYPE" ] || skip "no sources of locales"
		for shell in $(shells yash); do
			printf 'A\x81$(touch PWN)\nB\x81\n\x95\\"x\n' >items
			printf 'x A\x81$(touch PWN) y|A\x81$(touch PWN)|x B\x81 y|B\x81|x \x95\\"x y|\x95\\"x|' >expected
			LOCPATH=$PWD/loc LC_ALL=$locale "$FAIRPAR" -k --shell "$shell" -a items 'printf "%s|" "x {} y" {}' >got 2>err
			cmp got expected || fail "$shell in $locale: $(cat err)"
			[ ! -e PWN ]
		done
	done
	local command
	for command in $'cat <<E\n\\`{}\\`\nE' $'printf %s \\\n{}' 'echo "`echo \\$x {}`"'; do # a yen sign escapes nothing
		LOCPATH=$PWD/loc LC_ALL=ja_JP.SHIFT_JIS run_fairpar any "$command" ::: x
		assert_eq "$status$output" 255
	done
	LOCPATH=$PWD/loc LC_ALL=zh_CN.GB18030 run_fairpar any 'printf "%s\n" {};' ::: $'\2011' $'\260\241'
	assert_eq "$output" $'\260\241'
	assert_contains "$stderr" 'the item has half a character of GB18030'
}

@test "an item that begins as a quoted delimiter is refused where dash would lose a byte of it" {
	run_fairpar any -k $'cat <<\'E1\'\n{}\nE1' ::: $'E\303\251' $'F\303\251' E2
	assert_lines $'F\303\251' E2
	assert_contains "$stderr" 'begins as its delimiter does'
}

@test "a job that its item forbids is not tried again, and the summary says so" {
	run_fairpar 1 --retries 3 --summary=always 'return {}' ::: a
	assert_eq "$(grep -c "job #1: the item 'a' is no integer" <<<"$stderr")" 1
	[[ $stderr == *'FAILED #1: '*'the item'* && $stderr != *attempts* && $stderr != *'cannot run'* ]]
	run_fairpar 1 'printf %d {}' ::: a
	[[ $stderr == *'is no number, but stands where a command takes one'*'#1 (its item is refused)'* ]]
}

@test "yash runs no job with an item that it cannot read" {
	command -v yash >/dev/null || skip "no yash"
	echo 'race:__gconv_close_transform' >races # glibc's own lock around it is not seen
	export TSAN_OPTIONS=${TSAN_OPTIONS-}:suppressions=$PWD/races:print_suppressions=0
	LC_ALL=C.UTF-8 run_fairpar 1 -k --shell yash 'printf "<%s>" {}' ::: $'a\xffb' 'é b'
	assert_eq "$output" '<é b>'
	[[ $stderr == *'job #1: yash takes only characters of the locale'* ]]
}
