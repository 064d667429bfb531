# fairpar: make, make check, make install. `make help` lists the rest.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || cat VERSION 2>/dev/null || echo unknown)

CC ?= cc
AR ?= ar
CFLAGS ?= -O2 -g
O ?= obj/release

FP_CPPFLAGS := -D_GNU_SOURCE -Isrc $(FP_DEFINES)
FP_CFLAGS := -std=c17 -pthread -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wformat=2 -Wundef -Wvla -fno-common -fstack-protector-strong $(FP_SANITIZE)

ROOMS := base job plan engine slots process output report
LIB_SRC := $(wildcard $(ROOMS:%=src/%/*.c))
TOP_SRC := $(filter-out src/main.c,$(wildcard src/*.c))
UNIT_SRC := $(wildcard tests/unit/*.c)

LIB_OBJ := $(LIB_SRC:%.c=$O/%.o)
TOP_OBJ := $(TOP_SRC:%.c=$O/%.o)
UNITS := $(UNIT_SRC:%.c=$O/%)

ifeq ($V,1)
Q :=
else
Q := @
endif

all: fairpar

fairpar: $O/fairpar
	$Q cp -f $< $@

$O/fairpar: $O/src/main.o $(TOP_OBJ) $O/libfairpar.a
	@echo LD $@
	$Q$(CC) $(FP_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$O/libfairpar.a: $(LIB_OBJ)
	$Q rm -f $@
	$Q$(AR) rcs $@ $^

$O/%.o: %.c
	@echo CC $@
	$Q mkdir -p $(@D)
	$Q$(CC) -MMD -MP $(FP_CPPFLAGS) $(CPPFLAGS) $(FP_CFLAGS) $(CFLAGS) -c -o $@ $<

$O/tests/unit/%: $O/tests/unit/%.o $O/libfairpar.a
	$Q$(CC) $(FP_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

units: $(UNITS)

check-unit: $(UNITS)
	@for t in $(UNITS); do $$t || exit 1; done

clean:
	rm -rf obj fairpar

-include $(shell find obj -name '*.d' 2>/dev/null)

.PHONY: all units check-unit clean
.SECONDARY:
