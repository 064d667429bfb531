# No item is code (docs/design.md, "What is promised"): in arithmetic it is an integer, and a place whose quotes cannot be told
# is refused, with the way out. Each in every shell that is here. What commands do with an item is their own.

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
	local command
	for command in 'echo $(( {} + 1 ))' 'echo $((1+$(echo 2)+{}))' 'echo ${x:-$(({}))}' 'echo $((${x:-{}} + 1))'; do
		no_code "$command" 'a[$(touch PWN)]' '$(touch PWN)' '`touch PWN`'
	done
	run_fairpar any -k --shell sh 'echo $(( {} + 1 ))' ::: 1 -3 0x10 010 'a[$(touch PWN)]' '1+1' '' 2
	assert_eq "$status" 3
	assert_lines 2 -2 17 9 3
	[[ $stderr == *"job #5: the item 'a[\$(touch PWN)]' is not an integer"* ]]
}

@test "so it is in the arithmetic of bash, zsh and ksh" {
	need bash
	local command
	for command in '(( {} > 1 ))' 'for ((i = 0; i < {}; i++)); do :; done' 'echo $[{}]' '[[ {} -eq 1 ]]' '[[ 1 -lt {} ]]' \
		'let x={}' 'let "x = {}"' '2>/dev/null let x={}' 'f() { let x={}; }; f' 'x=([{}]=1)' 'x[{}]=1' 'y=abc; echo ${y:{}}' 'echo ${y[{}]}'; do
		run_fairpar any --shell bash "$command" ::: 'a[$(touch PWN)]'
		[ ! -e PWN ] || fail "bash ran the item of: $command"
		[[ $stderr == *'is not an integer'* ]] || fail "no message for: $command"
	done
	run_fairpar any -q --shell bash let 'x={}' ::: 'a[$(touch PWN)]'
	[[ ! -e PWN && $stderr == *'is not an integer'* ]] || fail "$stderr"
	run_fairpar any -k --shell bash '(( {} > 1 )) && echo more; let x={}; for ((i = 0; i < {}; i++)); do echo $i; done; echo ${x:0:{}}' ::: 2
	assert_lines more 0 1 2
}

@test "no item of a script is refused for what commands do with it, or with what is made of it" {
	local command shell
	echo a >'report (1).txt'
	while IFS= read -r command; do
		for shell in sh bash; do
			CC=: run_fairpar any --shell "$shell" "$command" ::: 'report (1).txt' </dev/null
			[[ $stderr != *'cannot stand here'* && $stderr != *'job #1: '* ]] || fail "$shell: $command: $stderr"
		done
	done <<-'END'
		s=$(stat -c %s {}); if [ "$s" -gt 3 ]; then echo {}; fi
		eval {}
		eval "echo '{}'"
		trap {} EXIT
		trap 'rm -f tmp.$$' EXIT; cp {} tmp.$$
		read -p "name {}? " x
		k={}; ${m[$k]}
		n=$(wc -l <{}); echo $((n*2))
		echo $(( $(wc -l <{}) + 1 ))
		[[ $(stat -c %s {}) -gt 3 ]] && echo {}
		t=$(date +%s); cat {}; echo $(($(date +%s) - t))
		seq 3 | while read -r i; do echo {} $((i + 1)); done
		i=0; while read -r l; do i=$((i+1)); done <{}; echo $i
		for n in 1 2; do cat {} && break; done; echo $n
		f={}; n=${f##*(}; n=${n%%)*}; echo $((n + 1))
		x=$(basename {} .txt); echo "$x"
		echo {} | while read -r f; do ls "$f"; done
		[ {} -eq 1 ]; printf %d {}; exit {}
		$CC -c {}
		true; f() { cat "$@"; }; f {}
		IFS=. read -r a b <<< {}; echo $a
		mapfile -t L < {}; echo ${#L[@]}
		read {}; unset {}; export {}; printf -v {} x
		. <(echo {}); echo {} | . /dev/stdin
		x={}; y=${x/a/b}; echo $y ${x#re}
		PS4={}; IFS={}; PATH=$PATH:{}; ls
		[[ {} == *.txt ]] && echo txt; [[ a = {} ]]
		while IFS== read -r k v; do export "k_$k=$v"; done <{}
		echo let {}; echo do let {}; case {} in let) let x=1;; esac
		alias x={}; compgen -W {} x; history -s {}
		echo "$FAIRPAR_ITEM" {}; eval 'ls "$FAIRPAR_ITEM"'
		LC_ALL=C sort {} "{}"
	END
	run_fairpar 's=$(stat -c %s {}); if [ "$s" -gt 1 ]; then echo {}; fi' ::: 'report (1).txt'
	assert_lines 'report (1).txt'
	run_fairpar "f={}; n=\${f##*'('}; n=\${n%%')'*}; echo \$((n + 1))" ::: 'report (1).txt'
	assert_lines 2
	printf 'version: 1\nbatches:\n  b: {args: ["report (1).txt"], env: {N: "{}", BASH_ENV: "{}", PS4: "{}"}, run: "echo $N; : $((1 + 1))", then: "eval true $N"}\n' >m.yaml
	run_fairpar any -f m.yaml
	[[ $stderr != *'cannot stand here'* && $output == *'report (1).txt'* ]] || fail "$stderr"
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
	[[ $output == *2*3* && ! -e PWN && $stderr == *'is not an integer'* ]]
}

@test "an item is refused in a here-document without expansion between backticks" {
	run_fairpar 255 $'cat <<E1\n`cat <<\'E2\'\na {}\nE2\n`\nE1' ::: x '`'
	assert_contains "$stderr" 'text between backticks, and in a here-document within another, is read twice'
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
		run_fairpar any -k --shell "$shell" $'v="$(cat <<\\E\n{}\nE\n)"; printf "%s\\n" "$v"' ::: 'a\' 'a\b' # ksh93 would join the lines
		assert_eq "$output" 'a\b'
		[[ $stderr == *'job #1: the item '*' ends with a backslash'* ]]
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
	run_fairpar -q sh -c 'echo "$FAIRPAR_ITEM"' ::: 'a b'
	assert_eq "$output" 'a b'
	run_fairpar --colsep , 'echo "$FAIRPAR_ITEM_2-$FAIRPAR_ITEM_1"' ::: 'a,b c'
	assert_lines 'b c-a'
	run_fairpar 'env | grep ^FAIRPAR_ITEM; echo {}' ::: x
	assert_lines FAIRPAR_ITEM=x FAIRPAR_ITEM_1=x x
	run_fairpar "sh -c 'env | grep ^FAIRPAR_IT[E]M'; echo {}" ::: x
	assert_lines x
	run_fairpar ': "$FAIRPAR_ITEM"; "$FAIRPAR" "env | grep ^FAIRPAR_IT[E]M; echo" ::: y' ::: x
	assert_lines y
}

@test "an item that no variable can hold fails by name" {
	printf '%0140000d\nx\n' 0 >items
	run_fairpar any -k -a items 'echo ${#FAIRPAR_ITEM}'
	assert_eq "$status$output" 11
	[[ $stderr == *'job #1: an item of 140000 bytes is too long for $FAIRPAR_ITEM'* ]]
}

@test "in locales whose characters may contain ASCII bytes an item arrives byte for byte" {
	command -v localedef >/dev/null || skip "no localedef"
	local locale shell item made=$BATS_TEST_DIRNAME/../obj/locales # by tests/property/run
	mkdir loc
	for locale in zh_CN.GBK zh_CN.GB18030 zh_TW.BIG5 ja_JP.SHIFT_JIS; do
		cp -R "$made/$locale" loc/ 2>/dev/null || localedef -c -i "${locale%.*}" -f "${locale#*.}" "loc/$locale" 2>/dev/null || [ -e "loc/$locale/LC_CTYPE" ] || skip "no sources of locales"
		for shell in $(shells yash); do
			printf '%b\n' 'A\x81$(touch PWN)' 'B\x81' '\x95\\\\"x' '\x811' "\x811';touch PWN" '\x810\x810\x810' >items
			while IFS= read -r item; do
				printf 'x %s y|%s|' "$item" "$item"
			done <items >expected
			LOCPATH=$PWD/loc LC_ALL=$locale "$FAIRPAR" -k --shell "$shell" -a items 'printf "%s|" "x {} y" {}' >got 2>err
			cmp got expected || fail "$shell in $locale: $(cat err)"
			[ ! -e PWN ]
		done
	done
	run_fairpar --dry-run 'export LC_ALL=zh_CN.GBK; echo "{}"' ::: 'a b'
	assert_lines "_item1='a b'; export LC_ALL=zh_CN.GBK; echo \"\${_item1}\""
}

@test "an item that begins as a quoted delimiter is refused where dash would lose a byte of it" {
	run_fairpar any -k $'cat <<\'E1\'\n{}\nE1' ::: $'E\303\251' $'F\303\251' E2
	assert_lines $'F\303\251' E2
	assert_contains "$stderr" 'begins as its delimiter does'
}

@test "a job that its item forbids is not tried again, and the summary says so" {
	run_fairpar 1 --retries 3 --summary=always 'echo $(({}))' ::: a
	assert_eq "$(grep -c "job #1: the item 'a' is not an integer" <<<"$stderr")" 1
	[[ $stderr == *'FAILED #1: '*'the item'* && $stderr != *attempts* && $stderr != *'cannot run'* ]]
	[[ $stderr == *'is not an integer, but stands where'*'#1 (its item is refused)'* ]]
}

@test "yash runs no job with an item that it cannot read" {
	command -v yash >/dev/null || skip "no yash"
	echo 'race:__gconv_close_transform' >races # glibc's own lock around it is not seen
	export TSAN_OPTIONS=${TSAN_OPTIONS-}:suppressions=$PWD/races:print_suppressions=0
	LC_ALL=C.UTF-8 run_fairpar 1 -k --shell yash 'printf "<%s>" {}' ::: $'a\xffb' 'é b'
	assert_eq "$output" '<é b>'
	[[ $stderr == *'job #1: yash takes only characters of the locale'* ]]
}
