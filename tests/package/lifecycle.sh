#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Run in the chroot: installs, tries, removes the packages in /out, and leaves there what was to be seen.
set -eu
cd /out

state() {
	# Of a path its kind, mode, owner; caches of apt, dpkg and ldconfig are not of interest.
	find / -xdev \( -path /out -o -path /ccache -o -path /proc -o -path /sys -o -path /tmp -o -path /var/cache -o -path /var/lib/dpkg -o -path /var/log \
		-o -path /var/lib/apt \) -prune -o -printf '%p %y %m %u:%g\n' | sort
}

state >before
dpkg -i blklat_*.deb >install.log 2>&1
state >installed
dpkg -L blklat >files

{
	blklat --version
	blklat list >/dev/null
	status=0
	blklat check >check.out 2>check.err || status=$?
	echo "check $status"
	man -w blklat-top
	systemctl is-enabled blklat.service || :
	bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader blklat; complete -p blklat'
} >tried 2>tried.err

echo '# changed' >>/etc/blklat/blklat.conf
dpkg -r blklat >remove.log 2>&1
state >removed
dpkg -P blklat >purge.log 2>&1
state >purged

dpkg -i blklat-dkms_*.deb >dkms-install.log 2>&1
dkms status >dkms.status
find /lib/modules -name 'blklat.ko*' -exec modinfo -F version {} \; -exec modinfo -F vermagic {} \; >dkms.module
ls /lib/modules >kernels
dpkg -P blklat-dkms >dkms-remove.log 2>&1
dkms status >dkms.status.removed
state >dkms.purged
