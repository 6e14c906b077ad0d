# SPDX-License-Identifier: GPL-2.0-only
# make repo: what 'make deb' and 'make rpm' built, for each architecture, as a directory that apt and dnf install from when it is
# served as URL. The lists, and each RPM, are signed by the key of GnuPG that KEY names. Included by the Makefile.

REPO := $(OUT)/repo

repo: deps-repo
	@[ -n "$(KEY)" ] && [ -n "$(URL)" ] || { echo "make repo: takes KEY=, of GnuPG, and URL=, where it will be served" >&2; exit 1; }
	+@$(MAKE) -s --no-print-directory repo-files
	@ls $(REPO)/*/blklat.*

# apt takes a key in the file of a source since Debian 12.
repo-files: $(DEB)/.built $(RPMS)
	$(call quiet,REPO,$(REPO))rm -rf $(REPO) && mkdir -p $(REPO)/deb $(REPO)/rpm && \
		cp $(wildcard $(OUT)/deb/*.deb $(OUT)/arm64/deb/*.deb) $(REPO)/deb && cp $(wildcard $(RPM)/*.rpm) $(REPO)/rpm && \
		gpg --batch --armor --export '$(KEY)' >$(REPO)/rpm/blklat.asc && \
		cd $(REPO)/deb && apt-ftparchive packages . >Packages && xz -k Packages && \
		apt-ftparchive -o APT::FTPArchive::Release::Origin=blklat release . >../Release && mv ../Release . && \
		gpg --batch -u '$(KEY)' --clearsign -o InRelease Release && \
		{ printf 'Types: deb\nURIs: %s\nSuites: ./\nSigned-By:\n' '$(URL)/deb'; sed 's/^$$/./; s/^/ /' ../rpm/blklat.asc; } >blklat.sources && \
		cd ../rpm && rpmsign --addsign --define '_gpg_name $(KEY)' --define "__gpg $$(command -v gpg)" *.rpm >/dev/null && createrepo_c -q . && \
		gpg --batch -u '$(KEY)' --detach-sign --armor repodata/repomd.xml && \
		printf '%s\n' '[blklat]' name=blklat baseurl=$(URL)/rpm gpgkey=$(URL)/rpm/blklat.asc gpgcheck=1 repo_gpgcheck=1 >blklat.repo
