# fairpar: make, make check, make install PREFIX=~/.local. `make help` lists the rest.
#
# GNU make 4.2 or later. Objects lie in obj/PROFILE/; the program that `make` builds is what gets installed. Your CC,
# CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS are taken as they are, after fairpar's own; changing one rebuilds what it concerns.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

CC ?= cc
AR ?= ar
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
INSTALL ?= install

PREFIX ?= /usr/local
override PREFIX := $(patsubst ~%,$(HOME)%,$(PREFIX))
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
BASHCOMPDIR ?= $(DATADIR)/bash-completion/completions
ZSHCOMPDIR ?= $(DATADIR)/zsh/site-functions
FISHCOMPDIR ?= $(DATADIR)/fish/vendor_completions.d

FUZZ_SECONDS ?= 60
STRESS_SECONDS ?= 60
PROPERTY_RUNS ?= 1000000
PROPERTY_FROM ?= 0
SEED ?= 1
PROFILE ?= release
# Where the objects lie. The program itself is ./fairpar; with an O outside obj/ it is there, too, and the source may be read-only.
O ?= obj/$(PROFILE)
program := $(if $(filter obj/%,$O),fairpar,$O/fairpar)

ifeq ($V,1)
Q :=
say := @:
else
Q := @
say := @echo
endif

comma := ,

# What is built -------------------------------------------------------------------------------------------------------

ROOMS := base term job shell input template engine slots process warm remote output log report draw manifest cli hosts sharing pipe state gate record exec feed run modes xargs
# YAML=no leaves libyaml out, and with it what reads manifests.
LIB_SRC := $(filter-out src/warm/server.c $(if $(filter no,$(YAML)),%/yaml.c,%/no_yaml.c),$(wildcard $(ROOMS:%=src/%/*.c)))
LIB_DATA := $(wildcard $(ROOMS:%=src/%/*.css) $(ROOMS:%=src/%/*.js) completions/skeleton.*)
YAML_UNITS := tests/unit/manifest.c tests/unit/manifest_page.c
UNIT_SRC := $(filter-out $(if $(filter no,$(YAML)),$(YAML_UNITS)),$(wildcard tests/unit/*.c))
FUZZ_SRC := $(filter-out tests/fuzz/replay.c,$(wildcard tests/fuzz/*.c))
STRESS_SRC := $(wildcard tests/stress/*.c)
PROPERTY_SRC := $(wildcard tests/property/*.c)
# Those that start machines of their own are run by `make check-cluster` alone, what takes minutes by `make check-cluster-long`, or by name.
CLUSTER_LONG_BATS := tests/cluster_long.bats
CLUSTER_BATS := $(filter-out $(CLUSTER_LONG_BATS),$(wildcard tests/cluster*.bats))
# What has only a command line, its output and its status is a line of a table (tests/table).
BATS := $(if $T,$(wildcard $(T:%=tests/%.bats) $(T:%=tests/%.table)), \
	$(filter-out $(CLUSTER_BATS) $(CLUSTER_LONG_BATS),$(wildcard tests/*.bats tests/*.table)))

LIB_OBJ := $(LIB_SRC:%.c=$O/%.o) $(LIB_DATA:%=$O/%.o) $O/src/warm/server.so.o
UNITS := $(UNIT_SRC:%.c=$O/%)
FUZZERS := $(FUZZ_SRC:%.c=$O/%)
STRESSES := $(STRESS_SRC:%.c=$O/%)
PROPERTY := $O/tests/property/property

all: $(program)
	@:

# How it is built -----------------------------------------------------------------------------------------------------

FP_DEFINES = -DNDEBUG
FP_SANITIZE =
FP_CPPFLAGS = -D_GNU_SOURCE -Isrc $(FP_DEFINES)
FP_CFLAGS = -std=c17 -pthread -fno-common -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
	-Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef -Wvla -Wno-enum-float-conversion $(if $(filter 1,$(WERROR)),-Werror)
ifneq ($(FP_SANITIZE),)
FP_CFLAGS += $(FP_SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

ifneq ($(YAML),no)
YAML_LIBS ?= $(shell $(PKG_CONFIG) --libs yaml-0.1 2>/dev/null || echo -lyaml)
endif

# A tag, or the VERSION file of a release tarball, or the commit on the way to the first release.
NEXT := 0.1.0
VERSION := $(if $(wildcard .git),$(shell git describe --tags --match 'v[0-9]*' 2>/dev/null | sed 's/^v//'),$(file <VERSION))
ifeq ($(VERSION),)
VERSION := $(NEXT)-dev$(addprefix +,$(shell git rev-parse --short HEAD 2>/dev/null))
endif

# Hardening, each flag only where this compiler takes it. FORTIFY wants optimisation, and is the user's if he names it;
# a sanitizer sees more without it. -static and PIE exclude each other.
HARDEN_C := -fstack-protector-strong -fstack-clash-protection -fcf-protection
HARDEN_LD := -Wl,-z,relro -Wl,-z,now
PIE := $(if $(filter -static -no-pie,$(CC) $(CFLAGS) $(LDFLAGS)),,-fPIE -pie)

# All goals but these compile; for them, note the flags (what differs from the last time is built again) and probe.
ifneq ($(filter-out clean help dist uninstall,$(or $(MAKECMDGOALS),all)),)
remember = $(if $(filter x$2,x$(file <$O/$1)),,$(shell mkdir -p $O)$(file >$O/$1,$2))
FLAGS := $(CC) $(FP_CPPFLAGS) $(CPPFLAGS) $(FP_CFLAGS) $(CFLAGS) : $(LDFLAGS) : $(HARDEN_C) $(HARDEN_LD) $(PIE)
FLAGS := $(subst $() $(),_,$(strip $(FLAGS)))
$(call remember,flags,$(FLAGS))
$(call remember,version,$(subst $() $(),_,$(VERSION)))
include $O/probe.mk
endif

# Under a name of this process alone until it is whole: two makes may be here at once.
$O/probe.mk: $O/flags Makefile
	$(say) PROBE $@
	$Q tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && echo 'int main(void) { return 0; }' >"$$tmp/x.c" && \
	takes() { $(CC) -Werror "$$@" -o "$$tmp/x" "$$tmp/x.c" >/dev/null 2>&1; }; \
	{ for flag in $(HARDEN_C); do takes $$flag && echo "FP_CFLAGS += $$flag"; done; \
	for flag in $(HARDEN_LD); do takes $$flag && echo "FP_LDFLAGS += $$flag"; done; \
	test -n '$(PIE)' && takes $(PIE) && echo 'FP_CFLAGS += -fPIE' && echo 'FP_LDFLAGS += -pie'; \
	echo '#include <limits.h>' | $(CC) $(CPPFLAGS) $(CFLAGS) -dM -E - 2>/dev/null | \
		awk '$$2 == "__GLIBC__" { libc = 1 } $$2 ~ /^__(x86_64|LP64)__$$|^__(aarch64__|riscv)$$/ { ++n } END { exit !(libc && n == 2) }' && \
		test -z '$(filter -static,$(CC))' && echo 'WARM := yes'; \
	macros=$$($(CC) $(CPPFLAGS) $(CFLAGS) -dM -E -x c /dev/null 2>/dev/null); \
	case "$(FP_SANITIZE)$$macros" in \
	*-fsanitize* | *_FORTIFY_SOURCE*) ;; \
	*__OPTIMIZE__*) echo 'FP_CPPFLAGS += -D_FORTIFY_SOURCE=2' ;; \
	esac; } >$@.$$$$ && mv -f $@.$$$$ $@

fairpar: $O/fairpar
	$Q cp -f $< $@.tmp && mv -f $@.tmp $@

$O/fairpar: $O/src/main.o $O/libfairpar.a
	$(say) LINK $@
	$Q$(CC) $(FP_CFLAGS) $(CFLAGS) $(FP_LDFLAGS) $(LDFLAGS) -o $@ $^ $(YAML_LIBS) $(LDLIBS)

# Everything but main.c is a library, so that unit tests, fuzzers and benchmarks link what they test.
$O/libfairpar.a: $(LIB_OBJ)
	$Q rm -f $@.$$$$ && $(AR) rcs $@.$$$$ $^ && mv -f $@.$$$$ $@

$O/src/cli/option_special.o $O/src/state/publish.o $O/src/xargs/options.o: FP_CPPFLAGS += -DFAIRPAR_VERSION='"$(VERSION)"'
$O/src/cli/option_special.o $O/src/state/publish.o $O/src/xargs/options.o: $O/version

$O/%.o: %.c $O/flags
	$(say) CC $@
	$Q mkdir -p $(@D)
	$Q$(CC) -MMD -MP $(FP_CPPFLAGS) $(CPPFLAGS) $(FP_CFLAGS) $(CFLAGS) -c -o $@ $<

# The bytes of $< as character constants, which fit a char whether it has a sign (x86_64) or not (arm64, riscv64).
chars = od -An -v -to1 $< | sed "s/[0-7]\{1,\}/'\\\\&',/g"

# A file of data becomes a string of its name: src/draw/html.css is `const char html_css[]`.
$(LIB_DATA:%=$O/%.c): $O/%.c: %
	$Q mkdir -p $(@D)
	$Q{ echo 'const char $(subst .,_,$(<F))[] = {' && $(chars) && echo '0};'; } >$@.tmp \
		&& mv -f $@.tmp $@

# What fairpar preloads into shells (src/warm/warm.h) is data, too. It is not instrumented, and empty where there is no glibc.
$O/src/warm/server.so: src/warm/server.c $O/flags
	$(say) CC $@
	$Q mkdir -p $(@D)
	$Q$(if $(WARM),$(CC) $(FP_CPPFLAGS) $(CPPFLAGS) $(filter-out $(FP_SANITIZE) -fPIE,$(FP_CFLAGS)) $(filter -m%,$(CFLAGS)) -MMD -MP -O2 -fPIC \
		-fvisibility=hidden -shared -nostdlib -s -Wl$(comma)-z$(comma)initfirst -o $@ $<,: >$@)

$O/src/warm/server.so.c: $O/src/warm/server.so
	$Q{ echo '#include "warm/warm.h"' && echo 'const char server_so[] = {' && $(chars) && \
		echo '0}; const size_t server_so_size = sizeof(server_so) - 1;'; } >$@.tmp && mv -f $@.tmp $@

$O/src/warm/server.so.o $(LIB_DATA:%=$O/%.o): %.o: %.c $O/flags
	$(say) CC $@
	$Q$(CC) $(FP_CPPFLAGS) $(CPPFLAGS) $(FP_CFLAGS) $(CFLAGS) -c -o $@ $<

link_test = $(CC) $(FP_CFLAGS) $(CFLAGS) $(FP_LDFLAGS) $(LDFLAGS) -o $@ $^ $(YAML_LIBS) $(LDLIBS)

$O/tests/unit/%: $O/tests/unit/%.o $O/libfairpar.a
	$(say) LINK $@
	$Q$(link_test)

$O/tests/stress/%: $O/tests/stress/%.o $O/libfairpar.a
	$(say) LINK $@
	$Q$(link_test)

# Tests are compiled more often than run.
$(UNIT_SRC:%.c=$O/%.o): override CFLAGS := $(CFLAGS:-O2=-O1)

# It tests fairpar from the outside, and links nothing of it.
$(PROPERTY): $(PROPERTY_SRC:%.c=$O/%.o)
	$(say) LINK $@
	$Q$(CC) $(FP_CFLAGS) $(CFLAGS) $(FP_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# In the fuzz build main() is that of clang's fuzzer.
FUZZER := $(if $(filter fuzz,$(PROFILE)),-fsanitize=fuzzer,$O/tests/fuzz/replay.o)

$O/tests/fuzz/%: $O/tests/fuzz/%.o $(filter %.o,$(FUZZER)) $O/libfairpar.a
	$(say) LINK $@
	$Q$(link_test) $(filter-out %.o,$(FUZZER))

-include $(shell find $O -name '*.d' 2>/dev/null)

units: $(UNITS)
	@:
fuzzers: $(FUZZERS)
	@:
stresses: $(STRESSES)
	@:

# The other builds, by name -------------------------------------------------------------------------------------------

# Every one of these has faults on demand (src/base/fault.h) and assertions.
faults := FP_DEFINES=-DFAIRPAR_FAULTS
profile_debug := PROFILE=debug O=obj/debug $(faults) CFLAGS='-O0 -g'
profile_asan := PROFILE=asan O=obj/asan $(faults) FP_SANITIZE=-fsanitize=address,undefined
profile_ubsan := PROFILE=ubsan O=obj/ubsan $(faults) FP_SANITIZE=-fsanitize=undefined
profile_tsan := PROFILE=tsan O=obj/tsan $(faults) FP_SANITIZE=-fsanitize=thread
# Warm by default (--warm): the tests must not see that.
profile_warm := PROFILE=warm O=obj/warm FP_DEFINES='-DFAIRPAR_FAULTS -DWARM_DEFAULT=WARM_SH'
# Another C library. Its libyaml is one that was built for it: YAML=yes CPPFLAGS=-I… YAML_LIBS=…/libyaml.a.
profile_musl := PROFILE=musl O=obj/musl CC=musl-gcc CFLAGS='-O0 -g' YAML=$(or $(YAML),no)
# For machines of any distribution; without debugging information, as it is copied there. CC=musl-gcc YAML=no works, too.
profile_static := PROFILE=static O=obj/static LDFLAGS='$(LDFLAGS) -static -s'
profile_coverage := PROFILE=coverage O=obj/coverage $(faults) CFLAGS='-O0 -g --coverage'
profile_fuzz := PROFILE=fuzz O=obj/fuzz CC=clang $(faults) CFLAGS='-O1 -g -fsanitize=fuzzer-no-link' \
	FP_SANITIZE=-fsanitize=address,undefined

# One job for each CPU, unless whoever called has decided.
parallel = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
submake = +@$(MAKE) --no-print-directory $(parallel)

debug:
	$(submake) $(profile_debug) obj/debug/fairpar

static:
	$(submake) $(profile_static) obj/static/fairpar
	@echo obj/static/fairpar

# Tests ---------------------------------------------------------------------------------------------------------------

-include tests/bench/bench.mk
-include tests/model/model.mk

# tests/run runs TAP producers side by side and ends with the line "N passed, N failed".
run_tests = @FAIRPAR_PROFILE=$(PROFILE) FAIRPAR='$(or $1,$(program))' FAIRPAR_FAULTY='$(or $1,obj/debug/fairpar)' tests/run

# The units that put faults in are run once more in the build that has them.
FAULTY_UNITS := $(patsubst %.c,obj/debug/%,$(if $(UNIT_SRC),$(shell grep -l FAIRPAR_FAULT $(UNIT_SRC))))
# The unit tests with musl in place of glibc, where its compiler is.
# "fair_worlds" searches for minutes on one thread: neither another C library nor ThreadSanitizer sees anything there.
MUSL := $(shell command -v musl-gcc)
MUSL_UNITS := $(patsubst %.c,obj/musl/%,$(filter-out %/fair_worlds.c $(if $(filter yes,$(YAML)),,$(YAML_UNITS)),$(UNIT_SRC)))
MUSL_TESTS := $(if $(MUSL),$(MUSL_UNITS),'tests/skip musl-gcc the unit tests with musl')
FUZZING := $(if $(FUZZ_SRC),'tests/fuzz/run obj/debug/tests/fuzz')
# Those that take longest begin first, so that none is waited for in the end; most of that time they wait themselves.
LONGEST := $(patsubst %,tests/%.bats,hosts pool xargs warm pool_server packing signals status joblog admission pilots pipe) %/child
longest_first = $(filter $(LONGEST),$1) $(filter-out $(LONGEST),$1)
STRESSING := $(if $(STRESS_SRC),'tests/stress/run 5 $(STRESS_SRC:%.c=obj/debug/%)')

check:
	$(submake) all units $(PROPERTY)
	$(submake) $(profile_debug) obj/debug/fairpar $(FAULTY_UNITS) stresses fuzzers
	$(if $(MUSL),$(submake) $(profile_musl) units)
	$(run_tests) -l obj/left $(AGAIN:%=-a) $(MODELLING) 'tests/torture/run --short 1' 'tests/torture/kills --short 1' 'tests/torture/ends --short 1' 'tests/torture/warm --short 1' \
		'tests/torture/slots --short 1' 'tests/torture/machines --short 1' 'tests/stress/machines --short' \
		'tests/property/run $(PROPERTY) --runs=600 --seed=6' $(STRESSING) $(FUZZING) tests/lint/run $(call longest_first,$(BATS) $(UNITS) $(FAULTY_UNITS) $(MUSL_TESTS))

check-unit:
	$(submake) units
	$(run_tests) $(UNITS)

check-bats:
	$(submake) all
	$(submake) $(profile_debug) obj/debug/fairpar
	$(run_tests) $(BATS)

check-cluster:
	$(submake) all
	$(submake) $(profile_debug) obj/debug/fairpar
	$(submake) $(profile_static) obj/static/fairpar
	$(run_tests) $(CLUSTER_BATS)

check-cluster-long: all
	$(submake) $(profile_debug) obj/debug/fairpar
	$(run_tests) $(CLUSTER_LONG_BATS)

musl:
	$(if $(MUSL),$(submake) $(profile_musl) units obj/musl/fairpar)
	$(run_tests) $(MUSL_TESTS)

lint:
	$(run_tests) tests/lint/run

# The unit tests and the bats suite with the program of this profile. Most units know nothing of warm shells.
PROFILE_UNITS := $(UNITS)
ifeq ($(PROFILE),tsan)
PROFILE_UNITS := $(filter-out %/fair_worlds,$(UNITS))
else ifeq ($(PROFILE),asan)
PROFILE_FUZZERS := $(FUZZERS)
else ifeq ($(PROFILE),warm)
PROFILE_UNITS := $(patsubst %.c,$O/%,$(if $(UNIT_SRC),$(shell grep -l warm $(UNIT_SRC))))
endif

check-profile: $(PROFILE_UNITS) $(PROFILE_FUZZERS) $O/fairpar
	$(call run_tests,$O/fairpar) $(call longest_first,$(BATS) $(PROFILE_UNITS)) $(if $(PROFILE_FUZZERS),'tests/fuzz/run $O/tests/fuzz')

asan ubsan tsan warm:
	$(submake) $(profile_$@) check-profile

# What has threads and signals in it. The rest of the bats suite runs in these builds in check-long.
SANITIZED := admission auto batches continuations control flow hostile hosts jobs jobserver memory nested orphans output pipe pool* \
	semaphore signals status trouble tty waits warm worker

check-sanitized:
	$(submake) asan T='$(SANITIZED)'
	$(submake) tsan T='$(SANITIZED)'

coverage:
	@find obj/coverage -name '*.gcda' -delete 2>/dev/null || :
	$(submake) $(profile_coverage) check-profile
	@tests/coverage obj/coverage

fuzz:
	@MAKE='$(MAKE)' tests/fuzz/run --build
	$(run_tests) -t 0 'tests/fuzz/run --seconds=$(FUZZ_SECONDS)'

fuzzers-build:
	$(submake) $(profile_fuzz) fuzzers

torture: all
	$(run_tests) -t 0 tests/torture/run tests/torture/kills tests/torture/ends tests/torture/warm tests/torture/slots tests/torture/machines

stress:
	$(submake) $(profile_debug) stresses
	$(submake) $(profile_tsan) stress-tsan
	$(run_tests) -t 0 'tests/stress/run $(STRESS_SECONDS) $(STRESS_SRC:%.c=obj/debug/%)'

stress-tsan: stresses
	$(run_tests) -t 0 'tests/stress/run $(STRESS_SECONDS) $(STRESSES)'

storm:
	$(submake) $(profile_asan) storm-runs
	$(submake) $(profile_tsan) storm-runs

storm-runs: $O/fairpar
	$(call run_tests,$O/fairpar) -t 0 tests/stress/machines

# SEED picks the commands; a long run that was interrupted goes on at PROPERTY_FROM, the number that it printed last.
property: all $(PROPERTY)
	@tests/property/run $(PROPERTY) --runs=$(PROPERTY_RUNS) --seed=$(SEED) --from=$(PROPERTY_FROM)

roots:
	@tests/roots

cross:
	+@MAKE='$(MAKE)' packaging/cross

conversations:
	$(submake) $(profile_asan) UNITS= FUZZERS= T=hostile CONVERSATIONS=10000 check-profile

# All that takes long, one after the other, and in the end the names of those that have failed.
LONG := check-unit asan tsan warm model conversations torture stress storm fuzz property check-cluster check-cluster-long roots cross

# The long forms of tests that have a short one in make check.
check-long: export LONG_TESTS := 1

check-long:
	+@failed=; for target in $(LONG); do \
		echo "== $$target"; $(MAKE) --no-print-directory $$target || failed="$$failed $$target"; \
	done; echo "failed:$${failed:- none}"; test -z "$$failed"

bench: all
	@tests/bench/run

bench-cluster: all
	tests/bench/machines
	tests/bench/cluster

model:
	$(run_tests) tests/model/run

# Installing ----------------------------------------------------------------------------------------------------------

# SOURCE=TARGET
installed := $(foreach page,$(wildcard man/*.[1-9]),$(page)=$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))

# OPTION=>TARGET: what the program prints. Where it was built for another machine, RUN is what runs it here, such as qemu-aarch64.
printed := --completions=bash=>$(BASHCOMPDIR)/fairpar --completions=zsh=>$(ZSHCOMPDIR)/_fairpar \
	--completions=fish=>$(FISHCOMPDIR)/fairpar.fish --schema=>$(DATADIR)/fairpar/manifest.schema.json

install: all
	$(INSTALL) -d '$(DESTDIR)$(BINDIR)'
	$(INSTALL) -m 755 $(STRIP) '$(program)' '$(DESTDIR)$(BINDIR)/fairpar'
	@set -e; for link in $(LINKS); do echo "link $$link"; ln -sf fairpar '$(DESTDIR)$(BINDIR)'/"$$link"; done
	@set -e; for pair in $(installed); do \
		dir=$${pair#*=} && $(INSTALL) -d "$(DESTDIR)$${dir%/*}"; \
		echo "$(INSTALL) -m 644 $${pair%%=*} '$(DESTDIR)$${pair#*=}'"; \
		$(INSTALL) -m 644 "$${pair%%=*}" "$(DESTDIR)$${pair#*=}"; \
	done
	@set -e; text=$$(mktemp); trap 'rm -f "$$text"' EXIT; for pair in $(printed:%='%'); do \
		target=$${pair#*=>} && $(INSTALL) -d "$(DESTDIR)$${target%/*}"; \
		echo "fairpar $${pair%%=>*} >'$(DESTDIR)$$target'"; \
		$(RUN) '$(if $(filter /%,$(program)),,./)$(program)' "$${pair%%=>*}" >"$$text"; \
		$(INSTALL) -m 644 "$$text" "$(DESTDIR)$$target"; \
	done

install-strip: STRIP := -s
install-strip: install

uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/fairpar' $(foreach link,$(LINKS),'$(DESTDIR)$(BINDIR)/$(link)') $(foreach pair,$(installed),'$(DESTDIR)$(lastword $(subst =, ,$(pair)))') \
		$(foreach pair,$(printed),'$(DESTDIR)$(lastword $(subst =>, ,$(pair)))')

# Releasing -----------------------------------------------------------------------------------------------------------

TARBALL := obj/dist/fairpar-$(VERSION).tar.gz

dist:
	@mkdir -p obj/dist && echo '$(VERSION)' >obj/dist/VERSION
ifneq ($(wildcard .git),)
	@git archive --prefix='fairpar-$(VERSION)/' --add-file=obj/dist/VERSION HEAD | gzip -9n >'$(TARBALL)'
else # in a release
	@tar --exclude=./obj --exclude=./coverage --exclude=./fairpar --exclude=./VERSION --transform='s,^\.,fairpar-$(VERSION),' -cf obj/dist/tree.tar . \
		&& tar --transform='s,.*/,fairpar-$(VERSION)/,' -rf obj/dist/tree.tar obj/dist/VERSION && gzip -9n <obj/dist/tree.tar >'$(TARBALL)' && rm -f obj/dist/tree.tar
endif
	@echo '$(TARBALL)'

distcheck: dist
	@packaging/distcheck '$(TARBALL)'

deb: dist
	@packaging/deb '$(TARBALL)'

clean:
	rm -rf obj coverage fairpar fairpar.tmp

help:
	@sed -n 's/^#: //p' Makefile

#: make                 build ./fairpar (-O2 -g; CC, CPPFLAGS, CFLAGS, LDFLAGS are yours; V=1 shows the commands)
#: make check           build and run every test; the last line is "N passed, N failed"
#: make check AGAIN=1   of these tests, those that have failed or were skipped the last time
#: make check-unit      the unit tests;  make check-bats T=NAME: tests/NAME.bats and tests/NAME.table, or all
#: make lint            layers, lengths, shellcheck, mandoc: those that are installed
#: make asan|ubsan|tsan the unit tests and the bats suite in a sanitizer build
#: make check-sanitized asan, then tsan, with the unit tests and the part of the bats suite that has threads and signals in it
#: make check-long      all that takes long, and the long forms of tests: asan, tsan, warm, model, conversations, torture, stress, storm, fuzz, property,
#:                      check-cluster-long, roots and cross
#: make roots           on fresh machines, Debian 12 and 13, as root and as a user: setup.sh and make check (root, debootstrap)
#: make cross           build for aarch64, riscv64 and s390x, and run the unit tests and everyday command lines under qemu-user
#: make warm            the bats suite with a program that starts the shell once and clones it for its jobs, as with --warm=sh
#: make conversations   10,000 with workers on other machines that say anything, with the address sanitizer
#: make musl            the unit tests, compiled and run with musl-gcc;  YAML=no, in any build: without libyaml and manifests
#: make static          obj/static/fairpar, which needs no library and runs on any distribution;  CC=musl-gcc YAML=no makes it smaller
#: make check-cluster   what concerns several machines, with sshd and a Slurm cluster of three nodes, started and ended by the tests
#: make check-cluster-long  the same with what takes minutes: 1 GB, 100,000 jobs, lines that fall silent, nodes that die
#: make debug           obj/debug/fairpar: assertions, and faults on demand by FAIRPAR_FAULT
#: make coverage        which lines the tests reach
#: make fuzz            FUZZ_SECONDS=60 for each fuzz target (clang)
#: make torture         each system call of a small run fails once; fairpar is killed at each, and resumes;
#:                      manifests made at random are cut short in every way; clients and servers of a pool are killed, and
#:                      what runs jobs on other machines
#: make stress          STRESS_SECONDS=60 of the stress programs, with and without the thread sanitizer
#: make storm           200 runs at random on machines that come, go, brake, lie and are killed, with each of two sanitizers
#: make property        PROPERTY_RUNS=1000000 random commands and items in the shells that are installed: no item is code;
#:                      SEED=1 picks them, PROPERTY_FROM=N goes on with an interrupted run
#: make bench           measure against xargs, GNU parallel, xe and make; make bench-cluster: the part that
#:                      serves other machines, and over ssh and on Slurm, which it starts
#: make model           check the models of the protocols with spin
#: make install         PREFIX=/usr/local BINDIR DATADIR MANDIR BASHCOMPDIR ZSHCOMPDIR FISHCOMPDIR DESTDIR
#:                      RUN=qemu-aarch64: runs a fairpar that was built for another machine, which prints its completions
#:                      LINKS=xargs: also a link of that name, with which fairpar is xargs
#: make install-strip   the same, without debugging information;  make uninstall: remove these files
#: make dist            obj/dist/fairpar-VERSION.tar.gz;  make distcheck: unpack, build, check, install, uninstall it
#: make deb             a Debian package from that tarball
#: make clean           remove all that was built
#: O=DIRECTORY          build there, and write nothing into the source
#: WERROR=1             warnings are errors

.PHONY: all check-sanitized check-long conversations roots cross units fuzzers fuzzers-build stresses stress-tsan static check check-unit check-bats check-cluster check-cluster-long check-profile lint bench bench-cluster model asan ubsan tsan warm musl \
	coverage fuzz stress storm storm-runs torture property debug install install-strip uninstall dist distcheck deb clean help
.SECONDARY:
.DELETE_ON_ERROR:
