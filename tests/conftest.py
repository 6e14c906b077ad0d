# SPDX-License-Identifier: GPL-2.0-only
"""pytest puts this file's folder into the path, so that the tests of all levels find the modules there."""
