# shellcheck shell=bash
# Roots of other distributions, and commands in them; to be sourced by bash, after lib.sh. Needs root and debootstrap.
#
# A command in a root shares this machine's processors and network, but has processes, mounts and shared memory of its
# own, which end with the command.

# make_root SUITE DIRECTORY LOG: makes the smallest system of the distribution, or keeps an existing one. debootstrap
# must know the suite's name; old ones know "testing" as well.
make_root() {
    [ ! -e "$2/.made" ] || return 0
    rm -rf "$2"
    logged "$3" debootstrap --variant=minbase "$1" "$2" || return
    # a mirror of a moving suite may be older than its lists allow
    echo 'Acquire::Check-Valid-Until "false";' >"$2/etc/apt/apt.conf.d/50mirrors"
    # keeps installed packages from starting servers
    printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d"
    chmod 755 "$2/usr/sbin/policy-rc.d"
    touch "$2/.made"
}

# in_root DIRECTORY COMMAND...: runs a command in an environment of its own
in_root() {
    # shellcheck disable=SC2016  # expanded by the shell inside
    unshare --mount --pid --fork --kill-child bash -ec '
        mount -t proc proc "$0/proc"
        mount --rbind /dev "$0/dev"
        mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
        exec chroot "$0" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"' "$@"
}

# copy_root FROM TO: copies a root, for changes that must not stay in it
copy_root() {
    rm -rf "$2"
    cp -a --reflink=auto "$1" "$2"
}

# put_sources DIRECTORY: copies the tree to /usr/src/gpureg there
put_sources() {
    rm -rf "$1/usr/src/gpureg"
    copy_sources "$1/usr/src/gpureg"
}

need_roots() {
    if [ "$(id -u)" != 0 ]; then
        say "$1 makes roots of other systems, and must be run as root" >&2
        exit 2
    elif ! have debootstrap || ! have unshare; then
        say "$1 needs debootstrap and unshare (util-linux)" >&2
        exit 2
    fi
}
