# shellcheck shell=bash
# Shared by script/bootstrap, script/demo and script/test; to be sourced by bash.
#
# Finds PostgreSQL, builds the extension, and makes a private installation with a throw-away server in a temporary
# directory, so that no root's rights and no change of the system's PostgreSQL are needed.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
JOBS=$(nproc 2>/dev/null || echo 2)

TEMP=           # the temporary directory, once it exists
CHILD=          # the running process group, if any
AS_SERVER=()    # prefix that runs a command as the user who owns the server

say() { printf '%s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }

#
# PostgreSQL
#

# True if this pg_config belongs to a PostgreSQL with a server, its headers and PGXS.
pg_is_complete() {
    local paths
    mapfile -t paths <<<"$("$1" --bindir --includedir-server --pgxs 2>/dev/null)"
    [ -x "${paths[0]:-}/postgres" ] && [ -x "${paths[0]}/initdb" ] &&
        [ -f "${paths[1]:-}/postgres.h" ] && [ -f "${paths[2]:-}" ]
}

# Prints the pg_config to build with: $PG_CONFIG if set, else Debian's newest complete version, else the one on PATH.
find_pg_config() {
    local candidate
    if [ -n "${PG_CONFIG:-}" ]; then
        candidate=$(command -v "$PG_CONFIG") && pg_is_complete "$candidate" && say "$candidate"
        return
    fi
    for candidate in $(printf '%s\n' /usr/lib/postgresql/*/bin/pg_config | sort -rV) $(command -v pg_config); do
        if [ -x "$candidate" ] && pg_is_complete "$candidate"; then
            say "$candidate"
            return
        fi
    done
    return 1
}

#
# The build
#

have_gpu() { have nvidia-smi && nvidia-smi -L 2>/dev/null | grep -q '^GPU '; }

# Prints the value of a Makefile's variable, in the directory given.
make_value() {
    make -s --no-print-directory -C "$1" --eval="gpureg-value: ; @echo \$($2)" gpureg-value
}

# Prepares the environment; called once before the first build. One GPU architecture is enough for a throw-away build,
# and saves a minute. Without a GPU kernels are compiled but never run, so they are hardly optimised, which saves
# another.
prepare_build() {
    local name
    # The caller's connection settings must not reach our server's clients.
    for name in $(compgen -e | grep -E '^PG[A-Z]+$'); do
        unset "$name"
    done
    umask 022
    PG_CONFIG=$(find_pg_config) || { say "no PostgreSQL server with its headers found (PG_CONFIG=${PG_CONFIG:-})" >&2; return 1; }
    if have_gpu; then
        NVCC_ARCH=${NVCC_ARCH:-native}
    else
        # for any GPU, whose driver compiles it further
        NVCC_ARCH=${NVCC_ARCH:-compute_90}
        export NVCC_OPTIMIZE=${NVCC_OPTIMIZE:-1}
    fi
    export PG_CONFIG NVCC_ARCH
}

# build DIRECTORY LOG [make's arguments]: runs make
build() {
    local directory=$1 log=$2
    shift 2
    logged "$log" make -C "$directory" -j"$JOBS" "$@"
}

# Copies the sources without build products.
copy_sources() {
    mkdir -p "$1"
    tar -C "$ROOT" --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.d' --exclude='*.bc' --exclude='*.so' -cf - . |
        tar -C "$1" -xf -
}

#
# Processes and clean-up
#

# logged LOG COMMAND...: runs a program in a process group of its own, with its output in a file. It runs in the
# background, so that a signal to the script is not delayed; the group lets clean-up reach the program's children.
logged() {
    local log=$1 status=0
    shift
    setsid "$@" </dev/null >"$log" 2>&1 3>&- &
    CHILD=$!
    wait "$CHILD" || status=$?
    CHILD=
    return "$status"
}

stop_child() {
    [ -z "$CHILD" ] || kill -TERM -- "-$CHILD" 2>/dev/null || true
}

# Stops everything that runs from the temporary directory, a test's forgotten servers included, and removes the
# directory.
cleanup() {
    local file
    trap '' INT TERM HUP
    stop_child
    if [ -n "$TEMP" ] && [ -d "$TEMP" ]; then
        find "$TEMP" -name postmaster.pid 2>/dev/null | while IFS= read -r file; do
            stop_postmaster "$file"
        done
        rm -rf "$TEMP" || { sleep 1; rm -rf "$TEMP"; } || true
    fi
}

# Stops a server by SIGQUIT, its immediate shutdown: the server ends its children, which takes a moment, and removes its
# file. The process itself may stay as a zombie in a container whose first process reaps nothing, so this waits for the
# file.
stop_postmaster() {
    local pid
    pid=$(head -n 1 "$1" 2>/dev/null) || return 0
    [ "$pid" -gt 1 ] 2>/dev/null && kill -QUIT "$pid" 2>/dev/null || return 0
    for _ in $(seq 100); do
        [ -e "$1" ] || return 0
        sleep 0.05
    done
    kill -KILL "$pid" 2>/dev/null || true
}

trap_exit() {
    # shellcheck disable=SC2064  # the argument is what to run
    trap "$1" EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# Makes the temporary directory. A socket's path may have about 100 characters, so a long TMPDIR is not used.
make_temp() {
    local parent=${TMPDIR:-/tmp}
    [ ${#parent} -le 40 ] || parent=/tmp
    TEMP=$(mktemp -d "$parent/gpureg.XXXXXX")
    chmod 755 "$TEMP"
    set_server_user "$TEMP"
    if ! "${AS_SERVER[@]}" test -x "$TEMP"; then
        rm -rf "$TEMP"
        TEMP=$(mktemp -d /tmp/gpureg.XXXXXX)
        chmod 755 "$TEMP"
        set_server_user "$TEMP"
    fi
    mkdir "$TEMP/socket" "$TEMP/tmp"
    give_to_server "$TEMP/socket" "$TEMP/tmp"
    export TMPDIR=$TEMP/tmp
    chmod 1777 "$TMPDIR"
}

# Sets AS_SERVER. PostgreSQL refuses to run as root: for root, the server and its clients run as the user postgres.
set_server_user() {
    local environment=(env "HOME=$1" "LC_ALL=C.UTF-8")
    if [ "$(id -u)" != 0 ]; then
        AS_SERVER=("${environment[@]}")
        return
    fi
    SERVER_USER=postgres
    id -u "$SERVER_USER" >/dev/null 2>&1 || SERVER_USER=nobody
    environment+=("USER=$SERVER_USER" "LOGNAME=$SERVER_USER")
    if have setpriv; then
        AS_SERVER=(setpriv "--reuid=$SERVER_USER" "--regid=$(id -g "$SERVER_USER")" --init-groups "${environment[@]}")
    else
        AS_SERVER=(runuser -u "$SERVER_USER" -- "${environment[@]}")
    fi
}

give_to_server() {
    [ "$(id -u)" != 0 ] || chown -R "$SERVER_USER:$(id -g "$SERVER_USER")" "$@"
}

#
# The private installation and its server
#

# install_private SOURCES PREFIX: makes an installation below PREFIX. PostgreSQL finds its share and library directories
# relative to its programs, so a copy of the three at the same relative places below another root is an installation of
# its own. The programs must be copies: a link would be followed back.
install_private() {
    local sources=$1 prefix=$2 bindir pkglibdir sharedir
    bindir=$("$PG_CONFIG" --bindir)
    pkglibdir=$("$PG_CONFIG" --pkglibdir)
    sharedir=$("$PG_CONFIG" --sharedir)
    mkdir -p "$prefix$bindir" "$prefix$pkglibdir" "$prefix$sharedir"
    tar -C "$bindir" -cf - . | tar -C "$prefix$bindir" -xf -
    tar -C "$pkglibdir" --exclude=./pgxs --exclude=./bitcode --exclude='*.a' --exclude='./gpureg*' -cf - . |
        tar -C "$prefix$pkglibdir" -xf -
    tar -C "$sharedir" --exclude=./man --exclude='./extension/gpureg*' -cf - . | tar -C "$prefix$sharedir" -xf -
    check_relocated "$prefix" "$bindir" "$sharedir"
    logged "$prefix/install.log" make -C "$sources" install "DESTDIR=$prefix" ||
        { cat "$prefix/install.log"; return 1; }
}

check_relocated() {
    local found
    found=$("$1$2/pg_config" --sharedir)
    [ "$found" = "$1$3" ] || { say "the private installation looks for its files in $found" >&2; return 1; }
}

# start_server PREFIX: starts a new cluster with one socket in the temporary directory; sets PGHOST, PGPORT and PGUSER
start_server() {
    local bin data=$TEMP/data log=$TEMP/server.log
    bin=$1$("$PG_CONFIG" --bindir)
    stop_server
    rm -rf "$data"
    mkdir "$data"
    : >"$log"
    give_to_server "$data" "$log"
    logged "$TEMP/initdb.log" "${AS_SERVER[@]}" "$bin/initdb" -D "$data" -A trust -U postgres -E UTF8 --no-locale --no-sync ||
        { cat "$TEMP/initdb.log"; return 1; }
    cat >>"$data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$TEMP/socket'
fsync = off
full_page_writes = off
synchronous_commit = off
CONF
    logged "$TEMP/start.log" "${AS_SERVER[@]}" "$bin/pg_ctl" -D "$data" -l "$log" -w -t 60 start ||
        { cat "$TEMP/start.log" "$log"; return 1; }
    export PGHOST=$TEMP/socket PGPORT=5432 PGUSER=postgres
}

stop_server() {
    [ ! -f "$TEMP/data/postmaster.pid" ] || stop_postmaster "$TEMP/data/postmaster.pid"
}
