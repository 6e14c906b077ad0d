# SPDX-License-Identifier: GPL-2.0-only
# make rpm: packages for distributions with RPM, of the static program. Included by the Makefile.

RPM       := $(OUT)/rpm
RPM_ARCH  := $(patsubst arm64,aarch64,$(ARCH:x86=x86_64))
RPM_STAGE := $(O)/rpm-stage
RPMS      := $(RPM)/blklat-$(VERSION)-1.$(RPM_ARCH).rpm $(RPM)/blklat-dkms-$(VERSION)-1.noarch.rpm
# Of the release: its documents, laid out, and what else is inside.
RPM_DOCS  = $(addprefix $(STAGE)/$(RELEASE_NAME)/share/doc/blklat/,back-off.conf examples grafana prometheus fleet.md otlp.md prometheus.md \
	    recording.md runbooks.md serve.md)
RPM_LICENSES = $(addprefix $(STAGE)/$(RELEASE_NAME)/share/doc/blklat/,LICENSE LICENSES third-party)

rpm: deps-rpm
	+@$(MAKE) -s --no-print-directory rpm-files
	@ls $(RPMS)

rpm-files: $(RPMS)

$(RPMS) &: $(RELEASE)/SHA256SUMS packaging/rpm/blklat.spec $(wildcard kmod/*.[ch] include/blklat/*) Kbuild packaging/dkms/dkms.conf
	@command -v rpmbuild >/dev/null || { echo "make: no rpmbuild, which builds the packages: make rpm installs it" >&2; exit 1; }
	$(call quiet,RPM,$(RPM))rm -rf $(RPM_STAGE) && mkdir -p $(RPM) $(addprefix $(RPM_STAGE)/root/usr/share/,doc/blklat licenses/blklat) && \
		$(MAKE) -s --no-print-directory install PROGRAM=$(STATIC) PREFIX=/usr MANDIR=/usr/share/man UNITDIR=/usr/lib/systemd/system \
			SYSTEMD_VERSION=0 DESTDIR=$(abspath $(RPM_STAGE))/root >/dev/null && \
		$(MAKE) -s --no-print-directory install-dkms DESTDIR=$(abspath $(RPM_STAGE))/root >/dev/null && \
		gzip -9n $(RPM_STAGE)/root/usr/share/man/man8/*.8 && \
		cp -R $(RPM_DOCS) $(RPM_STAGE)/root/usr/share/doc/blklat/ && cp -R $(RPM_LICENSES) $(RPM_STAGE)/root/usr/share/licenses/blklat/ && \
		chmod -R u=rwX,go=rX $(RPM_STAGE)/root && \
		if ! SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) rpmbuild -bb --target $(RPM_ARCH)-linux --define '_topdir $(abspath $(RPM_STAGE))' \
			--define '_rpmdir $(abspath $(RPM_STAGE))' --define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
			--define 'version $(VERSION)' --define 'stage $(abspath $(RPM_STAGE))/root' packaging/rpm/blklat.spec \
			>$(RPM_STAGE)/log 2>&1; then tail -40 $(RPM_STAGE)/log >&2; exit 1; fi && \
		mv $(RPM_STAGE)/*.rpm $(RPM)/ && rm -rf $(RPM_STAGE)/root
