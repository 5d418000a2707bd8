# Makes the files that the scripts of Debian's packages would make, as root of the new root file
# system, in a namespace that has no other user. NB: the scripts themselves are run where they only
# choose alternatives. Others give files to groups, ask questions or enable services. Left out are
# passwords (/etc/shadow), PAM, and Python's compiled files, which Python makes when it first needs
# them.
umask 022

# base-passwd, base-files
cp /usr/share/base-passwd/passwd.master /etc/passwd
cp /usr/share/base-passwd/group.master /etc/group
cp /usr/share/base-files/profile /etc/profile
cp /usr/share/base-files/dot.bashrc "$HOME/.bashrc"
cp /usr/share/base-files/dot.profile "$HOME/.profile"
ln -s debian /etc/dpkg/origins/default
rmdir /var/run /var/lock
ln -s /run /var/run
ln -s /run/lock /var/lock
mkdir -p /run/lock /media /mnt /opt /srv /var/mail /var/opt /usr/local/bin /usr/local/lib /usr/local/sbin /usr/local/share
chmod 1777 /run/lock

# mawk and others: alternatives
for package in mawk tar xz-utils debianutils; do
    "/var/lib/dpkg/info/$package.postinst" configure
done

# libc-bin
cp /usr/share/libc-bin/nsswitch.conf /etc/nsswitch.conf
ldconfig

# ca-certificates
(cd /usr/share/ca-certificates && find . -name '*.crt' | sed 's,^\./,,' | sort) >/etc/ca-certificates.conf
update-ca-certificates

# apt: Debian's archives as its own example has them, without software that is not free.
sed -n 's/^\(deb [^ ]* [^ ]* main\).*/\1/p' /usr/share/doc/apt/examples/sources.list >/etc/apt/sources.list

# Files that hold times.
rm -f /var/cache/ldconfig/aux-cache /var/log/*.log
