# SPDX-License-Identifier: GPL-2.0-only
# make ARCH=arm64 on another machine: Debian's cross compiler, and that architecture's libraries unpacked into SYSROOT.
# Included by the Makefile.

$(if $(filter arm64,$(ARCH)),,$(error ARCH is arm64 or $(NATIVE), which is what this machine has))

O   ?= build/$(ARCH)
# What is the same for all.
OUT := $(patsubst %/$(ARCH),%,$(O))

CROSS       := aarch64-linux-gnu
CROSS_TOOLS := gcc-$(CROSS)
SYSROOT     ?= $(HOME)/.cache/blklat/sysroot-$(ARCH)
CC          := $(CROSS)-gcc --sysroot=$(SYSROOT)
AR          := $(CROSS)-ar
PKG_CONFIG  := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_PATH= \
	       PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(CROSS)/pkgconfig:$(SYSROOT)/usr/share/pkgconfig pkg-config

.DEFAULT_GOAL := all

# The script does nothing where all of these are there; the network is needed where not.
$(SYSROOT)/complete: FORCE
	@mkdir -p $(dir $(SYSROOT)) && packaging/release/sysroot.sh $(ARCH) $(SYSROOT) \
		$(libraries) libc6-dev libgcc-12-dev libunistring-dev libcmocka-dev
