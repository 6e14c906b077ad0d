# SPDX-License-Identifier: GPL-2.0-only
# blklat: see 'make help'. Kernel module lines live in Kbuild, never here.

NATIVE := $(shell uname -m | sed -e 's/x86_64/x86/' -e 's/aarch64/arm64/')
ARCH   := $(NATIVE)
ifneq ($(ARCH),$(NATIVE))
include packaging/release/cross.mk
else
O       ?= build
OUT     := $(O)
SYSROOT :=
endif
PREFIX  ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
MANDIR  ?= $(PREFIX)/share/man
UNITDIR ?= $(PREFIX)/lib/systemd/system
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
DESTDIR ?=

CC         ?= gcc
CLANG      ?= clang
BPFTOOL    ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
PYTHON     ?= /usr/bin/python3
NODE       ?= node
NPM        ?= npm
VERSION    := 0.1.0

export O PYTHON NODE
export BLKLAT = $(abspath $(O))/blklat

# Where ccache is installed, nothing is compiled that was before, in whichever folder: objects name none (NO_PLACE).
export PATH := $(addsuffix :,$(wildcard /usr/lib/ccache))$(PATH)
export CCACHE_NOHASHDIR := 1

ifeq ($(V),1)
quiet =
else
quiet = @echo "  $(1)	$(2)";
endif

, := ,
LIBS     := libbpf json-c sqlite3 libcurl libmicrohttpd gnutls yaml-0.1 libcrypt libcap-ng libseccomp ncursesw
INCLUDES := -Iinclude -Iuserspace -I$(O)/include -I$(O)/bpf -I$(O)/userspace
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(if $(CI),-Werror)
SANITIZERS_1 := address$(,)undefined
# The fences that it does not know are against what the kernel writes, which it does not see either.
SANITIZERS_thread := thread -Wno-tsan
SANITIZE := $(if $(SAN),-fsanitize=$(or $(SANITIZERS_$(SAN)),$(error SAN is 1 or thread)) -fno-sanitize-recover=all \
	    -fno-omit-frame-pointer)
CFLAGS   ?= -O2 -g
# What distributions build programs with that read what strangers write. Sanitizers see more.
HARDENED_x86 := -fcf-protection
HARDENED_arm64 := -mbranch-protection=standard
HARDENED = $(if $(SAN)$(filter -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
	   -fstack-clash-protection $(HARDENED_$(ARCH)))
HARDENED_LINK := -Wl,-z,relro,-z,now
# Whatever the folders, the same bytes.
NO_PLACE := -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(O)/=build/
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DBLKLAT_VERSION='"$(VERSION)"' $(CFLAGS) $(HARDENED) $(NO_PLACE) $(WARNINGS) $(SANITIZE) \
	     $(INCLUDES) $(shell $(PKG_CONFIG) --cflags $(LIBS)) -MMD -MP
ALL_LDLIBS = $(HARDENED_LINK) -Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(LIBS)) -lelf -lz -lm -lpthread

SOURCES := $(wildcard userspace/*.c userspace/*/*.c)
OBJECTS := $(SOURCES:%.c=$(O)/%.o)
# All but main.c, for the unit tests to link.
LIBRARY := $(O)/libblklat.a

# How a sanitizer reports; an object by itself, since nothing refers to it.
SANITIZER_OPTIONS := $(if $(SAN),$(O)/tests/sanitizers.o)

UNIT_TESTS := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/test_*.c))

BPF_CFLAGS = -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) $(NO_PLACE) -Wall -Wextra $(if $(CI),-Werror) \
	     -Iinclude -I$(O)/include -idirafter $(SYSROOT)/usr/include/$(shell $(CC) -print-multiarch) -MMD -MP

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.PHONY: FORCE all help deps deps-demo deps-bench deps-deb deps-release deps-rpm deps-repo deps-test deps-arm64 kmod kmod-sign signing-key \
	deb-module install uninstall install-dkms uninstall-dkms clean demo deb deb-files release release-files release-source rpm rpm-files repo repo-files \
	test test-quick test-programs unit-programs threaded-programs guest-programs arm64-program arm64-guest-programs fuzz-programs \
	address-program address-programs thread-programs test-sanitized test-soak test-arm64 test-release bench bench-vm bench-serve bench-report \
	bench-web bench-programs

all: $(O)/blklat

help:
	@echo "make              build $(O)/blklat"
	@echo "make kmod         build $(O)/kmod/RELEASE/blklat.ko for the kernel of KDIR=/lib/modules/RELEASE/build"
	@echo "make kmod-sign    sign it by KEY= with its certificate CERT=, as $(O)/kmod/RELEASE/signed/blklat.ko"
	@echo "make demo         as root: install what is missing, build, watch a scratch device for 10 s"
	@echo "make test         as root: install what is missing, run every test level"
	@echo "make test-quick   tree, unit, cli, report, and counts on this machine's kernel: for each change while it is made"
	@echo "make test-tree    includes, licenses, names     (no root)"
	@echo "make test-unit    the pure parts                (no root)"
	@echo "make test-cli     replays in, golden output     (no root)"
	@echo "make test-report  recordings in, documents, findings and comparisons out   (no root)"
	@echo "make test-web     the report's page in headless Chromium (no root)"
	@echo "make test-package the service's unit, completions, Debian packages in a chroot (root)"
	@echo "make test-fuzz    each parser, 45 s in all  (no root)  FUZZ_SECONDS=600 for more"
	@echo "make test-faults  each allocation and each call for a file fails once, for record, report, compare and live  (no root)"
	@echo "make test-prom    the exposition, rules and dashboard, by a real Prometheus  (no root)"
	@echo "make test-serve   the service: what it answers, to whom, under which load; partly as root"
	@echo "make test-sanitized  unit, cli, report and serve with sanitizers: addresses, undefined behaviour, threads"
	@echo "make test-host    this machine's kernel: loop and zram, fio as load and oracle"
	@echo "make test-kunit   the kernel module's parts in a user-mode kernel with KASAN and lockdep"
	@echo "make test-vm      both engines on stock Debian kernels in an emulator;  KERNEL=6.12 for one, 6.12-arm64 an arm64 one"
	@echo "make test-soak    15 minutes of a live page, two hours of hot-plug, three days of recordings, 10^8 IOs here, 10^6 on each guest's kernel; not in 'make test'"
	@echo "make test-arm64   cross built, emulated: unit tests, replays; not in 'make test'"
	@echo "make test-release the release built again: the same bytes; in guests; Debian 13, its podman; a module signed by a token; not in 'make test'"
	@echo "make bench        as root: cost per IO beside the other tools; also $(O)/bench.json"
	@echo "make bench-serve  CPU time, memory and scrapes of a service on a host of 64 devices, replayed"
	@echo "make bench-report a report of a recording with a million slow IOs: time and memory"
	@echo "make bench-web    the page in headless Chromium: first paint, clicks, an interval by devices"
	@echo "make bench-vm     as root: instructions per IO, counted in an emulator"
	@echo "make deps         as root: install with apt what building and running takes;  deps-demo, deps-bench, deps-deb,"
	@echo "                  deps-release, deps-rpm, deps-repo, deps-test: that and what the target of this name takes"
	@echo "make install      into DESTDIR=$(DESTDIR) PREFIX=$(PREFIX);  make uninstall"
	@echo "make deb          as root: install what is missing, build Debian packages in $(O)/deb"
	@echo "make deb-module   build, sign (KEY= CERT=) and package the module for the kernel of KDIR=, in $(O)/deb-module"
	@echo "make release      as root: install what is missing, pack one static program in $(O)/release"
	@echo "make release-source  pack the sources with the page built, in $(O)/release: to build from it takes no Node.js"
	@echo "make rpm          as root: install what is missing, build RPM packages of that program in $(O)/rpm"
	@echo "make repo         as root: both kinds as a directory for apt and dnf to install from, signed: KEY= URL=, in $(O)/repo"
	@echo "make install-dkms the module's sources into DESTDIR=/usr/src, for dkms;  make uninstall-dkms"
	@echo "make clean        remove $(O)/"
	@echo
	@echo "O=DIR builds elsewhere, V=1 shows the commands, SAN=1 adds address and undefined sanitizers,"
	@echo "SAN=thread the thread sanitizer, CI=1 makes warnings errors. ARCH=arm64 builds for it, here, in build/arm64."

# --- what Debian has --------------------------------------------------------------------------

# An archive of the sources has the page, built (packaging/release/source.mk).
PAGE_READY := $(wildcard page/report.html)

# To build and to run; then, for each purpose, this and more. A Node.js of one's own serves as well as Debian's.
libraries  := linux-libc-dev libbpf-dev libelf-dev zlib1g-dev libjson-c-dev libsqlite3-dev libcurl4-gnutls-dev libmicrohttpd-dev \
	      libgnutls28-dev libyaml-dev libcrypt-dev libcap-ng-dev libseccomp-dev libncurses-dev
deps       := gcc make pkg-config clang bpftool python3 $(CROSS_TOOLS) $(libraries) $(if $(PAGE_READY)$(shell command -v $(NPM)),,nodejs npm)
deps-demo  := $(deps) fio util-linux mount
deps-bench := $(deps-demo) xz-utils libbpf-tools bpftrace chromium
deps-deb   := $(deps) build-essential llvm debhelper dh-dkms dpkg-dev fakeroot
deps-release := $(deps) libunistring-dev xz-utils
deps-rpm   := $(deps-release) rpm
deps-repo  := $(deps-deb) $(deps-rpm) apt-utils createrepo-c gnupg
deps-test  := $(deps-demo) $(deps-repo) lintian rpmlint dnf zsh fish bash-completion systemd curl libcmocka-dev libclang-rt-14-dev sqlite3 \
	      python3-pytest python3-pytest-xdist jq fdisk e2fsprogs procps mandoc flex bison bc xz-utils libssl-dev \
	      mmdebstrap python3-bpfcc python3-pyflakes chromium fonts-dejavu-core python3-prometheus-client python3-yaml golang-go python3-pip \
	      bubblewrap openssl strace tmux gcc-aarch64-linux-gnu ccache

deps-arm64 := $(deps-test) qemu-user-static

# Each in one go, for two apt-get at a time get in each other's way.
deps deps-demo deps-bench deps-deb deps-release deps-rpm deps-repo deps-test deps-arm64:
	@missing=$$(for p in $($@); do dpkg -s $$p 2>/dev/null | grep -q '^Status: install ok' || echo $$p; done); \
	[ -z "$$missing" ] && exit 0; \
	[ "$$(id -u)" = 0 ] || { echo "make $@: not root, cannot install:" $$missing >&2; exit 1; }; \
	export DEBIAN_FRONTEND=noninteractive; \
	echo "installing" $$missing; \
	apt-get update -qq && apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends $$missing >/dev/null

demo: deps-demo
	+@$(MAKE) -s --no-print-directory all
	@bench/demo.sh $(O)/blklat

# --- generated -------------------------------------------------------------------------------

$(O)/include/blklat/bins_table.h: include/blklat/gen_bins.py
	$(call quiet,GEN,$@)mkdir -p $(@D) && $(PYTHON) $< >$@

# --- BPF -------------------------------------------------------------------------------------

$(O)/%.bpf.o: %.bpf.c $(O)/include/blklat/bins_table.h | $(SYSROOT:%=%/complete)
	$(call quiet,BPF,$@)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -c $< -o $(@:.o=.tmp.o) -MF $(@:.o=.d) -MT $@ \
		&& $(BPFTOOL) gen object $@ $(@:.o=.tmp.o)

$(O)/%.skel.h: $(O)/%.bpf.o
	$(call quiet,SKEL,$@)$(BPFTOOL) gen skeleton $< name $(notdir $*) >$@

# --- the page --------------------------------------------------------------------------------

WEB         := $(OUT)/web
WEB_SOURCES := $(wildcard userspace/report/web/*.ts userspace/report/web/charts/*.ts) \
	       $(addprefix userspace/report/web/,page.css template.html build.mjs bundler.mjs)
NPM_FILES   := $(addprefix userspace/report/web/,package.json package-lock.json .npmrc)

# Beside the sources' link the compiler finds the modules; nothing is installed into the tree.
$(WEB)/node_modules/.installed: $(NPM_FILES)
	@command -v $(NPM) >/dev/null || { echo "make: no $(NPM), which fetches what the report's page is made of:" \
		"make deps installs it" >&2; exit 1; }
	$(call quiet,NPM,$(@D))mkdir -p $(WEB) && cp $(NPM_FILES) $(WEB)/ && ln -sfn $(abspath userspace/report/web) $(WEB)/src \
		&& cd $(WEB) && $(NPM) ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error >/dev/null \
		&& touch node_modules/.installed

# The grid of the bins: a module that the compiler and the bundler find by the name that it has there.
WEB_GRID := $(WEB)/generated/bins_table.ts

$(WEB_GRID): include/blklat/gen_bins.py
	$(call quiet,GEN,$@)mkdir -p $(@D) && $(PYTHON) $< --typescript >$@

WEB_PAGES := $(addprefix $(WEB)/,report.html live.html live.policy)

ifneq ($(PAGE_READY),)
PAGE_LICENSE := page/LICENSE.uplot

$(WEB_PAGES): $(WEB)/%: page/%
	$(call quiet,COPY,$@)mkdir -p $(@D) && cp $< $@
else
PAGE_LICENSE := $(WEB)/node_modules/uplot/LICENSE

$(WEB_PAGES) &: $(WEB_SOURCES) $(WEB_GRID) $(WEB)/node_modules/.installed
	$(call quiet,WEB,$(WEB))$(NODE) userspace/report/web/build.mjs userspace/report/web $(WEB)/node_modules $(WEB)
endif

# --- userspace -------------------------------------------------------------------------------

$(O)/userspace/report/html.o $(O)/userspace/service/routes.o: private INCLUDES += -Wa,-I$(WEB)/..
$(O)/userspace/report/html.o $(O)/userspace/service/routes.o: $(WEB_PAGES)
WITH_SKELETON := bpf.o bpf_cgroups.o bpf_programs.o bpf_setup.o bpf_slow.o
$(addprefix $(O)/userspace/engine/,$(WITH_SKELETON)): $(O)/bpf/blklat.skel.h
$(O)/userspace/engine/bpf_find.o: $(O)/bpf/find.skel.h

# The commands' flags decide the objects too: a change of SAN, CI or CFLAGS rebuilds.
$(O)/flags: FORCE | $(SYSROOT:%=%/complete)
	@mkdir -p $(@D); echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' >$@

$(O)/%.o: %.c $(O)/flags | $(O)/include/blklat/bins_table.h
	$(call quiet,CC,$@)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c $< -o $@

$(O)/%.o: $(O)/%.c $(O)/flags
	$(call quiet,CC,$@)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(LIBRARY): $(filter-out $(O)/userspace/main.o,$(OBJECTS))
	$(call quiet,AR,$@)rm -f $@ && $(AR) rcs $@ $^

# Stubs in place of the libraries that few commands need (userspace/util/lazy.h), found by what their functions' names begin with.
LAZY := libcurl=curl libmicrohttpd=MHD gnutls=gnutls

$(O)/lazy.c: $(LIBRARY)
	$(call quiet,GEN,$@)echo '#include "util/lazy.h"' >$@; for l in $(LAZY); do \
		file=$$($(PKG_CONFIG) --libs-only-l $${l%=*} | sed 's/^-l\([^ ]*\).*/lib\1.so/') && \
		soname=$$(readelf -d $$($(CC) -print-file-name=$$file) | sed -n 's/.*soname: \[\(.*\)\]/\1/p') && [ -n "$$soname" ] && \
		nm -u $< | sed -n "s/^ *U \($${l#*=}_.*\)/LAZY(\"$$soname\", \1)/p" | sort -u >>$@ || exit 1; done

# Its functions are in assembly, which optimization of the whole program does not see.
$(O)/lazy.o: private CFLAGS += -fno-lto

MAIN := $(O)/userspace/main.o $(O)/lazy.o

$(O)/blklat: $(MAIN) $(SANITIZER_OPTIONS) $(LIBRARY)
	$(call quiet,LD,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(ALL_LDLIBS) -o $@

# For dpkg-shlibdeps, which does not see what the program loads.
$(O)/linked/blklat: $(O)/userspace/main.o $(LIBRARY)
	$(call quiet,LD,$@)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(ALL_LDLIBS) -o $@

# --- kernel module ---------------------------------------------------------------------------

# Built in a copy, so that several kernels' modules stand side by side and the tree stays clean.
KDIR ?= /lib/modules/$(shell uname -r)/build
KREL  = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
KMOD  = $(abspath $(O))/kmod/$(KREL)
# The kernel's own makefiles have an O= too, which is not ours.
KBUILD = MAKEFLAGS='$(filter-out O=%,$(MAKEFLAGS))' $(MAKE)

kmod: $(O)/include/blklat/bins_table.h
	@[ -n "$(KREL)" ] || { echo "make kmod: no kernel headers in $(KDIR): install those of the kernel" \
		"(linux-headers-$$(uname -r)) or say where they are by KDIR=" >&2; exit 1; }
	@mkdir -p $(KMOD)
	@cp -pu --parents Kbuild $(wildcard kmod/*.[ch] include/blklat/*.*) $(KMOD)
	@cp -u $< $(KMOD)/include/blklat/
	$(call quiet,KMOD,$(O)/kmod/$(KREL)/blklat.ko)$(KBUILD) $(if $(V),,-s) -C $(KDIR) M=$(KMOD) $(CROSS:%=CROSS_COMPILE=%-) \
		$(if $(CI),KCFLAGS=-Werror) modules

include packaging/module/module.mk

# What DKMS builds the module from, for each kernel that is installed; bins_table.h as made here.
DKMS_DIR = $(DESTDIR)/usr/src/blklat-$(VERSION)
install-dkms: $(O)/include/blklat/bins_table.h
	install -d $(DKMS_DIR)/kmod $(DKMS_DIR)/include/blklat
	install -m 644 Kbuild packaging/dkms/dkms.conf $(DKMS_DIR)
	install -m 644 $(filter-out %kunit.c kmod/kunit_%,$(wildcard kmod/*.[ch])) $(DKMS_DIR)/kmod
	install -m 644 $(addprefix include/blklat/,abi.h bins.h parts.h slow.h gen_bins.py) $< $(DKMS_DIR)/include/blklat

uninstall-dkms:
	rm -rf $(DKMS_DIR)

# The unit names the program where it is; what is in /etc may have been changed, and is then left alone.
PROGRAM      = $(O)/blklat
MANUAL      := $(wildcard docs/*.8)
UNITS       := blklat.service blklat-record@.service
CONFIG_FILE = $(DESTDIR)/etc/blklat/blklat.conf
# To an older systemd the settings of back-off.conf are unknown, and it warns of each.
BACK_OFF = $(DESTDIR)$(UNITDIR)/blklat.service.d/back-off.conf
SYSTEMD_VERSION ?= $(shell systemctl --version 2>/dev/null | sed -n 's/^systemd \([0-9]*\).*/\1/p')
install: $(PROGRAM)
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(SBINDIR)/blklat
	install -d $(DESTDIR)$(MANDIR)/man8
	install -m 644 $(MANUAL) $(DESTDIR)$(MANDIR)/man8
	install -D -m 644 packaging/completion/blklat.bash $(DESTDIR)$(BASHDIR)/blklat
	install -D -m 644 packaging/completion/_blklat $(DESTDIR)$(ZSHDIR)/_blklat
	install -D -m 644 packaging/completion/blklat.fish $(DESTDIR)$(FISHDIR)/blklat.fish
	install -d $(DESTDIR)$(UNITDIR)
	for unit in $(UNITS); do sed 's|/usr/sbin/|$(SBINDIR)/|' packaging/$$unit >$(DESTDIR)$(UNITDIR)/$$unit && \
		chmod 644 $(DESTDIR)$(UNITDIR)/$$unit || exit 1; done
	install -D -m 644 packaging/python/blklat.py $(DESTDIR)$(PREFIX)/share/blklat/blklat.py
	[ 0$(SYSTEMD_VERSION) -lt 254 ] || install -D -m 644 packaging/back-off.conf $(BACK_OFF)
	[ -e $(CONFIG_FILE) ] || install -D -m 644 packaging/blklat.conf $(CONFIG_FILE)

uninstall:
	rm -f $(DESTDIR)$(SBINDIR)/blklat $(MANUAL:docs/%=$(DESTDIR)$(MANDIR)/man8/%) $(DESTDIR)$(BASHDIR)/blklat \
		$(DESTDIR)$(ZSHDIR)/_blklat $(DESTDIR)$(FISHDIR)/blklat.fish $(UNITS:%=$(DESTDIR)$(UNITDIR)/%) $(BACK_OFF) $(DESTDIR)$(PREFIX)/share/blklat/blklat.py
	@if cmp -s packaging/blklat.conf $(CONFIG_FILE); then rm -f $(CONFIG_FILE); \
	elif [ -e $(CONFIG_FILE) ]; then echo "make uninstall: $(CONFIG_FILE) was changed and stays" >&2; fi

clean:
	rm -rf $(O)

# --- Debian packages -------------------------------------------------------------------------

DEB         := $(O)/deb
DEB_SOURCES := Kbuild Makefile README.md bpf docs include kmod packaging userspace $(PAGE_READY:%/report.html=%)
# For a Node.js of one's own, or none.
OWN_NODE := --build-profiles=pkg.blklat.own-node

deb: deps-deb
	+@$(MAKE) -s --no-print-directory deb-files
	@ls $(DEB)/*.deb

deb-files: $(DEB)/.built

# In a copy of the sources. Where Node.js is not Debian's, its package is not asked for. For another architecture, libraries are
# not packages of this machine, and what is for all is not built again.
DEB_BUILD := $(if $(SYSROOT),--host-arch=$(ARCH) --build=any --no-check-builddeps,--build=binary)
$(DEB)/.built: $(shell find $(DEB_SOURCES) -type f) $(if $(SYSROOT),$(SYSROOT)/complete)
	@command -v dh >/dev/null || { echo "make: no debhelper, which builds the packages: make deb installs it" >&2; exit 1; }
	$(call quiet,DEB,$(DEB))rm -rf $(DEB) && mkdir -p $(DEB)/blklat && cp -a $(DEB_SOURCES) $(DEB)/blklat/ \
		&& mv $(DEB)/blklat/packaging/debian $(DEB)/blklat/debian && cd $(DEB)/blklat \
		&& if ! env -u MAKEFLAGS -u MAKELEVEL -u O -u BLKLAT -u WITNESS SYSROOT=$(SYSROOT) dpkg-buildpackage $(DEB_BUILD) --unsigned-changes \
			--unsigned-source $(if $(PAGE_READY),$(OWN_NODE),$(if $(shell dpkg -s npm 2>/dev/null),,$(OWN_NODE))) \
			>../log 2>&1; then tail -40 ../log >&2; exit 1; fi
	@rm -rf $(DEB)/blklat && touch $@

# --- one static program ----------------------------------------------------------------------

include packaging/release/release.mk
include packaging/release/source.mk
include packaging/rpm/rpm.mk
include packaging/release/repo.mk

# --- bench -----------------------------------------------------------------------------------

$(O)/bench/floor.o: private INCLUDES += -I$(O)/bench
$(O)/bench/floor.o: $(O)/bench/floor.skel.h

$(O)/bench/floor: $(O)/bench/floor.o
	$(call quiet,LD,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(ALL_LDLIBS) -o $@

$(O)/bench/drain $(O)/bench/recording $(O)/bench/exposition $(O)/bench/scale: $(O)/bench/%: $(O)/bench/%.o $(LIBRARY)
	$(call quiet,LD,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(ALL_LDLIBS) -o $@

# A tool to compare with that can't be had is skipped by name.
bench: deps-bench
	+@$(MAKE) -s --no-print-directory bench-programs
	@$(PYTHON) -B bench/bench.py --build $(O) $(BENCH)

# Counted, not timed: the cost in instructions, in an emulated machine.
bench-vm: deps-bench
	+@$(MAKE) -s --no-print-directory bench-programs
	@$(PYTHON) -B bench/bench_vm.py $(BENCH)

bench-serve: all
	@$(PYTHON) -B bench/serve.py --build $(O) $(BENCH)

bench-report: all
	@$(PYTHON) -B bench/slow_report.py --build $(O) $(BENCH)

bench-web: all
	@WEB=$(abspath $(WEB)) $(NODE) --test --test-reporter=spec bench/web.mjs

bench-programs: $(O)/blklat $(addprefix $(O)/bench/,floor drain recording exposition scale)

# --- tests -----------------------------------------------------------------------------------

$(O)/tests/sanitizers.o: private CFLAGS += -DREPORTS='"$(abspath $(O))/reports"'

# What the bounds of bins have to be, by other arithmetic than gen_bins.py's.
$(O)/tests/vectors/bins_vectors.h: tests/vectors/gen_vectors.py
	$(call quiet,GEN,$@)mkdir -p $(@D) && $(PYTHON) $< >$@

$(O)/tests/unit/test_bins.o: private INCLUDES += -I$(O)/tests/vectors
$(O)/tests/unit/test_bins.o: | $(O)/tests/vectors/bins_vectors.h

$(O)/tests/unit/test_bpf_slow.o: | $(O)/bpf/blklat.skel.h

# The models of memory order run code of the kernel in every order; what sanitizers would see of it, KASAN and the verifier do
# (kunit, host). They would take five times as long.
$(O)/tests/unit/%_order.o: private SANITIZE :=

$(O)/tests/unit/%: $(O)/tests/unit/%.o $(SANITIZER_OPTIONS) $(LIBRARY)
	$(call quiet,LD,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(ALL_LDLIBS) -lcmocka -o $@

# The host tests' second opinion, a BPF program of its own.
export WITNESS = $(abspath $(O))/tests/host/witness

$(O)/tests/host/%.o: private INCLUDES += -I$(O)/tests/host
$(O)/tests/host/witness.o: | $(O)/tests/host/witness.skel.h

$(O)/tests/host/witness: %: %.o
	$(call quiet,LD,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(ALL_LDLIBS) -o $@

# Somebody else's code in the service, to be preloaded.
export INTRUDER = $(abspath $(O))/tests/serve/intruder.so

$(INTRUDER): tests/serve/intruder.c $(O)/flags
	$(call quiet,LD,$@)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -O2 $(WARNINGS) -shared -fPIC $< -o $@ -ldl

# The program with other BPF programs: see tests/vm/altered.h.
export ALTERED = $(abspath $(O))/tests/altered
ALTERED_BUILDS := atomic plain first_skipped end_skipped
ALTERED_PROGRAMS := $(ALTERED_BUILDS:%=$(O)/tests/altered/%/blklat)

$(O)/tests/altered/%/bpf/blklat.bpf.o: bpf/blklat.bpf.c tests/vm/altered.h $(O)/include/blklat/bins_table.h
	$(call quiet,BPF,$@)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -DALTERED_$* -include linux/bpf.h -include bpf/bpf_helpers.h \
		-include tests/vm/altered.h -c $< -o $(@:.o=.tmp.o) -MF $(@:.o=.d) -MT $@ && $(BPFTOOL) gen object $@ $(@:.o=.tmp.o)

define altered_objects
$(O)/tests/altered/$(1)/%.o: userspace/engine/%.c $(O)/tests/altered/$(1)/bpf/blklat.skel.h $(O)/flags
	$$(call quiet,CC,$$@)$$(CC) -I$(O)/tests/altered/$(1)/bpf $$(ALL_CFLAGS) -c $$< -o $$@

$(O)/tests/altered/$(1)/blklat: $(addprefix $(O)/tests/altered/$(1)/,$(WITH_SKELETON)) $(MAIN) $(LIBRARY)
	$$(call quiet,LD,$$@)$$(CC) $$(ALL_CFLAGS) $$(LDFLAGS) $$^ $$(ALL_LDLIBS) -o $$@
endef
$(foreach build,$(ALTERED_BUILDS),$(eval $(call altered_objects,$(build))))

# What a scrape would get, for the tests with Prometheus.
export EXPOSITION = $(abspath $(O))/tests/prom/exposition
export NO_MEMORY = $(abspath $(O))/tests/faults/no_memory.so

# Preloaded, so no sanitizer and nothing of ours is in it.
$(NO_MEMORY): tests/faults/no_memory.c
	$(call quiet,CC,$@)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARNINGS) -shared -fPIC $< -o $@

export EXPOSITION_BENCH = $(abspath $(O))/bench/exposition

$(O)/tests/prom/exposition: $(O)/tests/prom/exposition.o $(LIBRARY)
	$(call quiet,LD,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $^ $(ALL_LDLIBS) -o $@

# Parsers, with sanitizers, for libFuzzer; objects of their own, built with clang.
FUZZERS := $(patsubst tests/fuzz/%.c,$(O)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SOURCES := $(wildcard userspace/util/*.c userspace/core/*.c userspace/recording/*.c userspace/report/condition_parse.c \
		  userspace/service/accept.c userspace/service/address.c userspace/service/protobuf.c userspace/service/web_config.c)
FUZZ_FLAGS = -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all

$(O)/fuzz/%.o: %.c $(O)/flags | $(O)/include/blklat/bins_table.h
	$(call quiet,CC,$@)mkdir -p $(@D) && $(CLANG) -std=gnu11 -D_GNU_SOURCE $(FUZZ_FLAGS) $(INCLUDES) -MMD -MP \
		-fsanitize=fuzzer-no-link,address,undefined -c $< -o $@

$(FUZZERS): $(O)/tests/fuzz/%: $(O)/fuzz/tests/fuzz/%.o $(FUZZ_SOURCES:%.c=$(O)/fuzz/%.o)
	$(call quiet,LD,$@)mkdir -p $(@D) && $(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined $^ $(ALL_LDLIBS) -o $@

fuzz-programs: $(FUZZERS) address-program

# The Debian packages that are tested.
export DEBS = $(abspath $(DEB))
# The archive that is tested, with the static program, and the packages of that program.
export RELEASE_ARCHIVE
export RPMS

LEVELS := tree unit cli report web prom package fuzz faults serve host kunit vm
RUN_TESTS = $(PYTHON) tests/run.py $(O)

# In 'make test' these are not run plain: with sanitizers they find the same and more.
SANITIZED := unit cli report serve
WITH_SANITIZERS := $(SANITIZED:%=%@address) threaded@thread
ADDRESS = O=$(O)/address SAN=1 WEB=$(abspath $(WEB))
THREAD = O=$(O)/thread SAN=thread WEB=$(abspath $(WEB))

address-program: all
	+@$(MAKE) -s --no-print-directory $(ADDRESS) all

address-programs: all
	+@$(MAKE) -s --no-print-directory $(ADDRESS) unit-programs

thread-programs: all
	+@$(MAKE) -s --no-print-directory $(THREAD) threaded-programs

# What else the levels need they have built (tests/run.py).
READY = +@$(MAKE) -s --no-print-directory -j$(shell nproc) test-programs

# One guest says most; 'make test-vm' takes all of them.
test: export KERNEL ?= 6.1
test: deps-test
	$(READY)
	@$(RUN_TESTS) tree $(WITH_SANITIZERS) $(filter-out tree $(SANITIZED),$(LEVELS))

# A few minutes, for each change while it is made.
test-quick: deps-test
	$(READY)
	@$(RUN_TESTS) tree unit cli report counts

unit-programs: all $(UNIT_TESTS)

threaded-programs: all $(patsubst %.c,$(O)/%,$(shell grep -l pthread_create tests/unit/test_*.c))

test-programs: unit-programs $(INTRUDER) $(ALTERED_PROGRAMS) $(O)/tests/host/witness $(O)/tests/prom/exposition $(O)/bench/exposition $(NO_MEMORY)

# What guests of another architecture run: the program, and in all of their tests more builds of it.
guest-programs: $(O)/blklat $(ALTERED_PROGRAMS)

arm64-program: all
	+@$(MAKE) -s --no-print-directory ARCH=arm64 O=$(O)/arm64 all

arm64-guest-programs: all
	+@$(MAKE) -s --no-print-directory ARCH=arm64 O=$(O)/arm64 guest-programs

$(LEVELS:%=test-%): test-%: test-programs
	@$(RUN_TESTS) $*

test-sanitized: test-programs
	@$(RUN_TESTS) $(WITH_SANITIZERS)

test-soak: test-programs
	@$(RUN_TESTS) soak

# Another make, that knows of the other architecture; it builds below this one's folder.
test-arm64: deps-arm64 all
	+@$(MAKE) -s --no-print-directory deb-files
	+@$(MAKE) -s --no-print-directory ARCH=arm64 O=$(O)/arm64 unit-programs release-files deb-files
	@$(RUN_TESTS) arm64

test-release: release-files deb-files
	+@$(MAKE) -s --no-print-directory ARCH=arm64 O=$(O)/arm64 release-files
	@$(RUN_TESTS) release

FORCE:

-include $(shell find $(O) -type f -name '*.d' 2>/dev/null)
