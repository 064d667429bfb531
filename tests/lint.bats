# The checks of tests/lint catch what they are there to catch.

load helper

# A small tree that keeps to its rooms.
setup() {
	helper_setup
	lint=$BATS_TEST_DIRNAME/lint
	mkdir -p src/low src/high
	cat >src/LAYERS <<-'END'
		# a comment
		low:
		high: low
		only poll.h: src/low/a.c
	END
	echo '#include <stddef.h>' >src/low/a.h
	printf '%s\n' '#include "low/a.h"' '#include <poll.h>' >src/low/a.c
	echo '#include "low/a.h"' >src/high/b.h
	printf '%s\n' '#include "high/b.h"' '#include "low/a.h"' '#include <stdio.h>' >src/high/b.c
	printf '%s\n' '#include "high/b.h"' '#include "top.h"' >src/main.c
	echo '#include "low/a.h"' >src/top.h
}

# layers_find TEXT: the layer check fails and says TEXT.
layers_find() {
	run "$lint/layers" .
	assert_eq "$status" 1
	assert_contains "$output" "$1"
}

@test "a tree that keeps to its rooms passes the layer check without a word" {
	run "$lint/layers" .
	assert_eq "$output" ""
	assert_eq "$status" 0
}

@test "the layer check finds a room that includes one above it" {
	echo '#include "high/b.h"' >>src/low/a.c
	layers_find 'src/low/a.c:3: the room low may not include high/b.h'
}

@test "the layer check finds a room that is not listed" {
	mkdir src/wild
	echo '#include "low/a.h"' >src/wild/c.c
	layers_find 'the room wild is not in src/LAYERS'
}

@test "the layer check finds a room that includes a file on top" {
	echo '  #  include "top.h"' >>src/high/b.c
	layers_find 'src/high/b.c:4: the room high includes top.h, from the top'
}

@test "the layer check finds a private header in a file that may not have it" {
	echo '#include <poll.h>' >>src/main.c
	layers_find 'src/main.c:3: poll.h is not for this file'
}

# compile: the objects of src/low and src/high.
compile() {
	need cc
	need nm
	mkdir -p obj/src/low obj/src/high
	cc -Isrc -c -o obj/src/low/a.o src/low/a.c
	cc -Isrc -c -o obj/src/high/b.o src/high/b.c
}

# symbols_find TEXT: the check of symbols fails and says TEXT.
symbols_find() {
	compile
	run "$lint/symbols" . obj
	assert_eq "$status" 1
	assert_contains "$output" "$1"
}

@test "objects that call only downwards pass the check of symbols without a word" {
	echo 'int low(void); int low(void) { return 1; }' >src/low/a.c
	echo 'int low(void); int high(void); int high(void) { return low(); }' >src/high/b.c
	compile
	run "$lint/symbols" . obj
	assert_eq "$output" ""
	assert_eq "$status" 0
}

@test "the check of symbols finds a call that goes up without an include" {
	echo 'int high(void); int low(void); int low(void) { return high(); }' >src/low/a.c
	echo 'int high(void); int high(void) { return 1; }' >src/high/b.c
	symbols_find 'src/low/a.c: the room low may not use high, of src/high/b.c'
}

@test "the check of symbols finds a call that is kept to other files" {
	echo 'only getppid(): src/low/a.c' >>src/LAYERS
	echo 'int low(void); int low(void) { return 1; }' >src/low/a.c
	echo 'int getppid(void); int high(void); int high(void) { return getppid(); }' >src/high/b.c
	symbols_find 'src/high/b.c: getppid() is not for this file'
}

@test "one line keeps several calls, headers and paths to the same files" {
	echo 'only getppid() getpgrp() stdio.h /proc/: src/low/a.c' >>src/LAYERS
	printf '%s\n' '#include "low/a.h"' '#include <stdio.h>' 'const char *path(void) { return "/proc/self"; }' >src/low/a.c
	printf '%s\n' '// /proc/ in a comment' 'const char *path = "/proc/self";' >>src/high/b.c
	layers_find 'src/high/b.c:3: stdio.h is not for this file'
	assert_contains "$output" 'src/high/b.c:5: /proc/ is not for this file'
	[[ $output != *low/a.c* ]]
	echo 'int getpgrp(void); int high(void); int high(void) { return getpgrp(); }' >src/high/b.c
	symbols_find 'src/high/b.c: getpgrp() is not for this file'
}

@test "the check of symbols finds a circle of four files in a room" {
	need cc
	mkdir -p obj/src/low
	for i in 1 2 3 4; do
		echo "int f$i(void); int f$((i % 4 + 1))(void); int f$i(void) { return f$((i % 4 + 1))(); }" >"src/low/f$i.c"
		cc -c -o "obj/src/low/f$i.o" "src/low/f$i.c"
	done
	symbols_find '4 files call each other in a circle:'
	echo 'circle low: 4' >>src/LAYERS
	run "$lint/symbols" . obj
	assert_eq "$status" 0
	run "$lint/layers" .
	assert_eq "$status" 0
}

@test "the layer check finds an include that does not name its room" {
	echo '#include "a.h"' >>src/low/a.c
	layers_find 'src/low/a.c:3: there is no src/a.h'
}

@test "the layer check finds a source file that does not include its own header first" {
	printf '%s\n' '#include <stdio.h>' '#include "high/b.h"' >src/high/b.c
	layers_find 'src/high/b.c:1: the first include is neither its own header high/b.h'
}

@test "the layer check finds headers that include one another in a circle" {
	echo '#include "low/c.h"' >>src/low/a.h
	echo '#include "low/a.h"' >src/low/c.h
	layers_find 'in a circle'
	assert_contains "$output" 'low/c.h'
}

@test "the layer check finds rooms that include one another" {
	sed -i 's/^low:/low: high/' src/LAYERS
	layers_find 'src/LAYERS:2: low is to include high'
}

# text_finds CHECK TEXT: the check fails on the file x.c in the way TEXT says.
text_finds() {
	run "$lint/text" "$1" x.c
	assert_eq "$status" 1
	assert_contains "$output" "$2"
}

@test "the text checks find blanks at line ends, blanks as indentation, and a last line without an end" {
	printf 'int a; \n' >x.c
	text_finds space 'x.c:1: blank at the end'
	printf 'void f(void) {\n    g();\n}\n' >x.c
	text_finds space 'x.c:2: indented with blanks'
	printf 'int a;' >x.c
	text_finds space 'x.c: the last line has no end'
	printf 'int f(int a,\n      int b) {\n\treturn a;\n}\n' >x.c
	"$lint/text" space x.c
}

@test "the text checks find long functions" {
	{ echo 'static int f(void) {'; seq 98; echo '}'; } >x.c
	"$lint/text" function x.c
	{ echo 'static int f(void) {'; seq 99; echo '}'; } >x.c
	text_finds function '101 lines'
	{ echo 'struct x table[] = {'; seq 99; echo '};'; } >x.c
	"$lint/text" function x.c
}

@test "the text checks find a file without a purpose, and a mark of unfinished work" {
	printf '#include <stdio.h>\n' >x.c
	text_finds purpose 'x.c:1:'
	printf '// FIX%s: later\n' ME >x.c
	text_finds marks 'x.c:1:'
}

@test "the text checks find a section of the design that is cited and not there" {
	local design=docs/design.md
	mkdir docs
	printf '%s\n' '# The design' '## Slots and leases' >$design
	echo "// Lends slots ($design, \"Slots and leases\")." >x.c
	"$lint/text" marks x.c
	echo "// Lends slots ($design, \"Slots\")." >x.c
	text_finds marks 'x.c:1: docs/design.md has no section Slots'
	echo "// Lends slots (DES""IGN §9)." >x.c
	text_finds marks 'x.c:1: cites a document'
}

@test "the text checks find a tag that is defined twice, in one file or two" {
	printf 'struct a { int x; };\nstruct a *f(struct a *b) {\n}\n' >y.c
	printf 'enum b {\n\tC,\n};\nstruct a {\n\tstruct d { int e; } *d;\n};\n' >x.c
	"$lint/text" tags x.c
	run "$lint/text" tags y.c x.c
	assert_eq "$status $output" "1 x.c:4: the tag a is defined in y.c:1 too"
	printf 'union d {\n\tint e;\n};\n' >>x.c
	text_finds tags 'x.c:7: the tag d is defined in x.c:5 too'
}
