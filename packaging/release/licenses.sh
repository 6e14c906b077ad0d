#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# licenses.sh MAP SYSROOT OUT: the licenses of all that the linker took from static libraries, as its map tells, into the
# folder OUT: the copyright file of each Debian source package, the texts that these refer to, and the packages'
# versions in VERSIONS. SYSROOT is where packages of another architecture are unpacked, or empty.
set -eu
map=$1 sysroot=$2 out=$3

mkdir -p "$out/common"
sed -n 's|^\(/[^(]*\.a\)(.*|\1|p' "$map" | sort -u | while read -r library; do
	library=$(realpath "$library")
	case $library in
	"${sysroot:-none}"/*) root=$sysroot ;;
	*) root= ;;
	esac
	file=${library#"$root"}
	# Some packages name the place of before /lib was merged into /usr.
	owner=$(dpkg-query --admindir="$root/var/lib/dpkg" -S "$file" 2>/dev/null ||
		dpkg-query --admindir="$root/var/lib/dpkg" -S "${file#/usr}" 2>/dev/null) || {
		echo "$library is of no Debian package, so its license is not known" >&2
		exit 1
	}
	package=${owner%%:*}
	set -- $(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${source:Package} ${source:Version}\n' "$package" | head -1)
	cp -L "$root/usr/share/doc/$package/copyright" "$out/$1"
	echo "$1 $2"
done >"$out/VERSIONS.all"
sort -u "$out/VERSIONS.all" >"$out/VERSIONS"
rm "$out/VERSIONS.all"
[ -s "$out/VERSIONS" ] || { echo "$map names no static library" >&2; exit 1; }
# What Debian's files refer to instead of repeating it.
grep -ohE '/usr/share/common-licenses/[A-Za-z]+(-[0-9.]*[0-9])?' "$out"/* 2>/dev/null | sort -u | while read -r text; do
	cp -L "$text" "$out/common/"
done
