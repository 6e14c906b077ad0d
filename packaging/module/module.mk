# SPDX-License-Identifier: GPL-2.0-only
# make kmod-sign, deb-module: the built module, signed, and a Debian package of it for one kernel. Included by the Makefile.

KEY  ?=
CERT ?=
SIGNED    = $(KMOD)/signed/blklat.ko
SIGN_FILE = $(KDIR)/scripts/sign-file
# As the kernel is configured to sign its own.
SIGN_HASH = $(or $(shell sed -n 's/^CONFIG_MODULE_SIG_HASH="\(.*\)"/\1/p' $(KDIR)/include/config/auto.conf 2>/dev/null),sha256)

FAIL = fail() { echo "make $(or $(FOR),$@): $$*" >&2; exit 1; }

# A token's key has no file: pkcs11:...
signing-key:
	@$(FAIL); \
	[ -n "$(KREL)" ] || fail "no kernel headers in $(KDIR): say by KDIR= where those of the kernel are"; \
	[ -n "$(KEY)" ] || fail "no key: KEY= names the file of the private key, in PEM"; \
	[ -n "$(CERT)" ] || fail "no certificate: CERT= names the file of the key's X.509 certificate"; \
	case "$(KEY)" in pkcs11:*) ;; *) [ -f "$(KEY)" ] && [ -r "$(KEY)" ] || fail "could not read the key $(KEY)" ;; esac; \
	[ -f "$(CERT)" ] && [ -r "$(CERT)" ] || fail "could not read the certificate $(CERT)"; \
	[ -x "$(SIGN_FILE)" ] || fail "no $(SIGN_FILE): install the kernel's kbuild package (linux-kbuild)"

# sign-file does not give KBUILD_SIGN_PIN to OpenSSL's provider of tokens, which therefore reads it from a pipe: in the URI, every
# user of the machine could see it. A PIN that KEY= has or names goes first.
PIN_SOURCE = pin-source=file:/dev/stdin

# The built module stays as it is, to be signed again, by another key. Debugging information goes first: to strip a signed
# module takes the signature away. When a token gives no key, for whatever reason, sign-file says only that it does not match.
kmod-sign: FOR = kmod-sign
kmod-sign: signing-key
	@$(FAIL); \
	[ -f "$(KMOD)/blklat.ko" ] || fail "the module is not built for $(KREL): run make kmod KDIR=$(KDIR)"; \
	key="$(KEY)"; \
	[ -z "$$KBUILD_SIGN_PIN" ] || case "$$key" in \
		*pin-source=*|*pin-value=*) ;; \
		pkcs11:*\?*) key="$$key&$(PIN_SOURCE)" ;; \
		pkcs11:*) key="$$key?$(PIN_SOURCE)" ;; \
	esac; \
	mkdir -p $(dir $(SIGNED)) && objcopy --strip-debug $(KMOD)/blklat.ko $(SIGNED).new && \
	said=$$(printf %s "$$KBUILD_SIGN_PIN" | $(SIGN_FILE) $(SIGN_HASH) "$$key" "$(CERT)" $(SIGNED).new 2>&1) || { rm -f $(SIGNED).new; \
		case "$$key $$said" in \
			*"try_load(pkcs11)"*) fail "could not sign with $(KEY): OpenSSL has no pkcs11 provider; install it (pkcs11-provider)" ;; \
			*OSSL_STORE_open*) fail "could not sign with $(KEY): OpenSSL's pkcs11 provider could not open it; check the URI, and that" \
				"PKCS11_PROVIDER_MODULE names the token's library" ;; \
			pkcs11:*"does not match"*) fail "could not sign with $(KEY): the token has no such key, does not take the PIN, or has another" \
				"key than $(CERT) is for; check KEY=, KBUILD_SIGN_PIN and CERT=" ;; \
		esac; \
		fail "could not sign with $(KEY) and $(CERT): $$(echo "$$said" | sed -n 's/.*SSL error:[^:]*:[^:]*:[^:]*:\([^:]*\):.*/\1/p' | tail -1)"; }; \
	mv $(SIGNED).new $(SIGNED); echo "  SIGN	$(patsubst $(abspath $(O))/%,$(O)/%,$(SIGNED))"

# --- a Debian package --------------------------------------------------------------------------

MODULE_PACKAGE = blklat-modules-$(KREL)
MODULE_ARCH    = $(ARCH:x86=amd64)
MODULE_DEB     = $(O)/deb-module/$(MODULE_PACKAGE)_$(VERSION)_$(MODULE_ARCH).deb
MODULE_STAGE   = $(KMOD)/package

deb-module: FOR = deb-module
deb-module: signing-key
	+@$(MAKE) -s --no-print-directory kmod
	+@$(MAKE) -s --no-print-directory kmod-sign
	@rm -rf $(MODULE_STAGE) && mkdir -p $(MODULE_STAGE)/DEBIAN $(dir $(MODULE_DEB))
	@install -D -m 644 $(SIGNED) $(MODULE_STAGE)/lib/modules/$(KREL)/updates/blklat.ko
	@install -D -m 644 packaging/debian/copyright $(MODULE_STAGE)/usr/share/doc/$(MODULE_PACKAGE)/copyright
	@sed 's/^blklat /$(MODULE_PACKAGE) /' packaging/debian/changelog | gzip -9n >$(MODULE_STAGE)/usr/share/doc/$(MODULE_PACKAGE)/changelog.gz
	@for file in control postinst postrm; do \
		sed -e 's/@KREL@/$(KREL)/g' -e 's/@VERSION@/$(VERSION)/' -e 's/@ARCH@/$(MODULE_ARCH)/' packaging/module/$$file \
			>$(MODULE_STAGE)/DEBIAN/$$file; \
	done
	@cd $(MODULE_STAGE) && chmod 755 DEBIAN/post* && chmod 644 DEBIAN/control && find lib usr -type f -exec md5sum {} + >DEBIAN/md5sums
	$(call quiet,DEB,$(MODULE_DEB))SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) dpkg-deb --root-owner-group -b $(MODULE_STAGE) $(MODULE_DEB) >/dev/null
	@rm -rf $(MODULE_STAGE)
