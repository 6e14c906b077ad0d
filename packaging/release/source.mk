# SPDX-License-Identifier: GPL-2.0-only
# make release-source: an archive of the sources with the page built, so that nobody who builds from it needs Node.js. Included
# by the Makefile.

SOURCE_NAME    := blklat-$(VERSION)
SOURCE_ARCHIVE := $(RELEASE)/$(SOURCE_NAME).tar.xz
SOURCE_STAGE   := $(O)/source

# What git has, as it stands in the tree, and the folder page/.
release-source: $(WEB_PAGES)
	@git ls-files --error-unmatch Makefile >/dev/null 2>&1 || { echo "make release-source: no git clone, which tells what belongs" \
		"into the archive" >&2; exit 1; }
	$(call quiet,TAR,$(SOURCE_ARCHIVE))rm -rf $(SOURCE_STAGE) && mkdir -p $(RELEASE) $(SOURCE_STAGE)/$(SOURCE_NAME)/page && \
		git ls-files -z | xargs -0 cp -P --parents -t $(SOURCE_STAGE)/$(SOURCE_NAME) && \
		cp $(WEB_PAGES) $(SOURCE_STAGE)/$(SOURCE_NAME)/page/ && cp $(PAGE_LICENSE) $(SOURCE_STAGE)/$(SOURCE_NAME)/page/LICENSE.uplot && \
		$(REPRODUCIBLE_TAR) -C $(SOURCE_STAGE) -c $(SOURCE_NAME) | xz -9e --threads=1 >$(SOURCE_ARCHIVE)
	@rm -rf $(SOURCE_STAGE); ls -l $(SOURCE_ARCHIVE)
