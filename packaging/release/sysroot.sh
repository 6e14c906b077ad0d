#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# sysroot.sh ARCH FOLDER PACKAGE...: unpacks these packages of another Debian architecture, with all that they need, into
# FOLDER for a cross compiler. Nothing is installed, and the machine's own apt learns of no other architecture. Its mirror
# is asked, by settings of our own below FOLDER.
set -eu
arch=$1 folder=$2
shift 2
layout=2 # of the folder; another one is made anew
[ -e "$folder/complete" ] && [ "$(cat "$folder/complete")" = "$layout $*" ] && exit 0
echo "unpacking libraries for $arch into $folder"
. /etc/os-release
new=$(mktemp -d -p "$(dirname "$folder")")
trap 'rm -rf "$new"' EXIT
chmod 755 "$new"
mkdir -p "$new/var/lib/dpkg/info" "$new/apt/lists/partial" "$new/apt/archives/partial"
: >"$new/var/lib/dpkg/status"
for suite in "$VERSION_CODENAME" "$VERSION_CODENAME-updates" "$VERSION_CODENAME-security"; do
	apt-get --print-uris update | sed -n "s|^'\(.*\)/dists/$suite/InRelease'.*|deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \1 $suite main|p"
done >"$new/apt/sources"
apt() {
	apt-get -qq -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o APT::Install-Recommends=false -o APT::Sandbox::User=root \
		-o "Dir::Etc::SourceList=$new/apt/sources" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
		-o "Dir::State::Lists=$new/apt/lists" -o "Dir::State::Status=$new/var/lib/dpkg/status" -o "Dir::Cache=$new/apt" "$@"
}
apt update
apt --download-only install "$@" >/dev/null
# As in a root of Debian's, where /lib is /usr/lib.
mkdir -p "$new/usr/lib" && ln -s usr/lib "$new/lib"
for deb in "$new"/apt/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar --keep-directory-symlink -xC "$new"
	# What dpkg-query needs to tell whose a file is, and dpkg-shlibdeps to name the package of a library.
	name=$(dpkg-deb -f "$deb" Package)
	dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./shlibs >>"$new/var/lib/dpkg/shlibs" 2>/dev/null || :
	{ dpkg-deb -f "$deb" && printf 'Status: install ok installed\n\n'; } >>"$new/var/lib/dpkg/status"
	dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -n 's|^\.\(/.*[^/]\)$|\1|p' >"$new/var/lib/dpkg/info/$name.list"
done
rm -rf "$new/apt"
# Links to absolute names lead out of the folder.
find "$new/usr/lib" -type l -lname '/*' | while read -r link; do ln -sfr "$new$(readlink "$link")" "$link"; done
echo "$layout $*" >"$new/complete"
rm -rf "$folder"
mv "$new" "$folder"
trap - EXIT
