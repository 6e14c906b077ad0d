# SPDX-License-Identifier: GPL-2.0-only
# make release: an archive with one static program, and what is inside of it (SBOM). Included by the Makefile.

RELEASE      := $(OUT)/release
RELEASE_NAME := blklat-$(VERSION)-linux-$(ARCH:arm64=aarch64)
RELEASE_NAME := $(RELEASE_NAME:x86=x86_64)
RELEASE_ARCHIVE := $(RELEASE)/$(RELEASE_NAME).tar.xz
RELEASE_SBOM := $(RELEASE)/$(RELEASE_NAME).spdx.json
STATIC       := $(O)/static/blklat
STAGE        := $(O)/static/stage

# The date of all that is inside: of the last commit, or of the last version where there is no git.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date -d "$$(sed -n 's/^ -- .*>  //p;T;q' packaging/debian/changelog)" +%s)

# p11-kit, which Debian has no static library of, is replaced (static.c). So are those that libcurl has for protocols and encodings
# which we don't use; that of Kerberos has none either.
OF_CURL      := brotlidec gssapi_krb5 lber ldap nghttp2 psl rtmp ssh2 zstd
STATIC_LDLIBS = -Wl,--start-group $(filter-out -lp11-kit -latomic $(OF_CURL:%=-l%),$(shell $(PKG_CONFIG) --static --libs $(LIBS))) \
		-lelf -lz -lm -Wl,--end-group

# Functions that nobody calls (otlp_push.c has libcurl speak HTTP/1.1 only, with no password), but for libssh2_init(): 0 is success.
$(O)/static/unused.c:
	$(call quiet,GEN,$@)mkdir -p $(@D) && nm -u $$($(CC) -print-file-name=libcurl.a) 2>/dev/null | \
		sed -nE 's/^ +U ((Brotli|GSS_|RTMP_|ZSTD_|ber_|gss_|ldap_|libssh2_|nghttp2_|psl_).*)/void *\1(void); void *\1(void) { return 0; }/p' | \
		sort -u >$@

# An address of its own at each start, as a program with libraries has; no name of a folder, no id of one build. What the
# linker says about users is seen to in static.c.
$(STATIC): $(O)/userspace/main.o $(O)/packaging/release/static.o $(O)/static/unused.o $(LIBRARY)
	$(call quiet,LD,$@)mkdir -p $(@D) && if ! $(CC) $(ALL_CFLAGS) -static-pie -s -Wl,--gc-sections -Wl,--build-id=none $(HARDENED_LINK) \
		-Wl,-Map=$@.map $(LDFLAGS) $^ $(STATIC_LDLIBS) -o $@ 2>$@.log; then cat $@.log >&2; exit 1; fi

$(STAGE)/.date: FORCE
	@mkdir -p $(@D); echo '$(SOURCE_DATE_EPOCH)' | cmp -s - $@ || echo '$(SOURCE_DATE_EPOCH)' >$@

RELEASE_DOCS := packaging/release/README.md packaging/blklat.conf packaging/back-off.conf packaging/examples packaging/grafana packaging/prometheus \
		LICENSE LICENSES $(addprefix docs/,fleet.md otlp.md prometheus.md recording.md runbooks.md serve.md)
RELEASE_FILES := $(wildcard $(RELEASE_DOCS) $(addsuffix /*,$(RELEASE_DOCS)) packaging/completion/*) $(wildcard docs/*.8) $(wildcard packaging/*.service) packaging/python/blklat.py \
		 packaging/release/licenses.sh

# The same bytes wherever and whenever it packs them.
REPRODUCIBLE_TAR = tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar --mtime=@$(SOURCE_DATE_EPOCH)

# Laid out as below a prefix.
$(RELEASE_ARCHIVE): $(STATIC) $(STAGE)/.date $(RELEASE_FILES)
	$(call quiet,TAR,$@)rm -rf $(STAGE)/$(RELEASE_NAME) $(STAGE)/root && mkdir -p $(@D) && \
		$(MAKE) -s --no-print-directory install PROGRAM=$(STATIC) PREFIX=/usr/local MANDIR=/usr/local/share/man SYSTEMD_VERSION=0 \
			DESTDIR=$(STAGE)/root CONFIG_FILE=$(STAGE)/root/usr/local/share/doc/blklat/blklat.conf >/dev/null && \
		mv $(STAGE)/root/usr/local $(STAGE)/$(RELEASE_NAME) && cd $(CURDIR) && \
		cp -R $(RELEASE_DOCS) $(STAGE)/$(RELEASE_NAME)/share/doc/blklat/ && \
		packaging/release/licenses.sh $(STATIC).map "$(SYSROOT)" $(STAGE)/$(RELEASE_NAME)/share/doc/blklat/third-party && \
		cp $(PAGE_LICENSE) $(STAGE)/$(RELEASE_NAME)/share/doc/blklat/third-party/uplot && \
		$(REPRODUCIBLE_TAR) -C $(STAGE) -c $(RELEASE_NAME) | xz -9e --threads=1 >$@

$(RELEASE_SBOM): $(RELEASE_ARCHIVE) packaging/release/sbom.py
	$(call quiet,SBOM,$@)$(PYTHON) packaging/release/sbom.py $< $(VERSION) $(SOURCE_DATE_EPOCH) $(STAGE)/$(RELEASE_NAME)/share/doc/blklat/third-party \
		userspace/report/web/package-lock.json >$@

$(RELEASE)/SHA256SUMS: $(RELEASE_ARCHIVE) $(RELEASE_SBOM)
	@cd $(@D) && sha256sum blklat-$(VERSION)-linux-* >$(@F)

release-files: $(RELEASE)/SHA256SUMS

release: deps-release
	+@$(MAKE) -s --no-print-directory release-files
	@ls -l $(RELEASE_ARCHIVE) $(RELEASE_SBOM)
