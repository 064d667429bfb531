# make bench: what tests/bench/run measures with. The comparers are built where g++, oneTBB and GLib are installed.

# What tests/bench/machines measures with.
MACHINE_BENCHES := $O/tests/bench/answering $O/tests/bench/dispatcher $O/tests/bench/stall.so
BENCHES := $O/tests/bench/bare $O/tests/bench/cpu $O/tests/bench/engine $O/tests/bench/manifest $O/tests/bench/eventlog $O/tests/bench/hold $(MACHINE_BENCHES)
ifeq ($(filter bench bench-programs,$(MAKECMDGOALS)),)
else
BENCHES += $(shell $(PKG_CONFIG) --exists glib-2.0 2>/dev/null && echo $O/tests/bench/glib)
BENCHES += $(shell command -v $(CXX) >/dev/null && $(PKG_CONFIG) --exists tbb 2>/dev/null && echo $O/tests/bench/tbb)
endif

bench: $(BENCHES)
bench: export BENCH_OBJ = $O

bench-cluster: $(MACHINE_BENCHES)
bench-cluster: export BENCH_OBJ = $O

bench-programs: $(BENCHES)

$O/tests/bench/%: $O/tests/bench/%.o $O/libfairpar.a
	$(say) LINK $@
	$Q$(link_test)

$O/tests/bench/stall.so: tests/bench/stall.c tests/bench/counters.h $O/flags
	$(say) LINK $@
	$Q mkdir -p $(@D)
	$Q$(CC) $(FP_CPPFLAGS) $(CPPFLAGS) $(FP_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ $< -ldl

# -isystem: their headers are not ours to warn about
$O/tests/bench/glib: tests/bench/glib.c tests/bench/meter.h $O/flags
	$(say) CC $@
	$Q mkdir -p $(@D)
	$Q$(CC) $(FP_CPPFLAGS) $(CPPFLAGS) $(FP_CFLAGS) $(CFLAGS) \
		$(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags glib-2.0)) -o $@ $< \
		$(shell $(PKG_CONFIG) --libs glib-2.0)

CXX ?= c++
$O/tests/bench/tbb: tests/bench/tbb.cpp tests/bench/meter.h $O/flags
	$(say) CXX $@
	$Q mkdir -p $(@D)
	$Q$(CXX) -std=c++17 -pthread -Wall -Wextra $(CFLAGS) $(shell $(PKG_CONFIG) --cflags tbb) -o $@ $< \
		$(shell $(PKG_CONFIG) --libs tbb)

.PHONY: bench-programs
