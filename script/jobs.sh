# shellcheck shell=bash
# Runs parts of the tests side by side; to be sourced by script/test, after lib.sh.
#
# A job is a function in a process of its own, with a temporary directory and a server of its own. Its output is printed
# when it has ended. Its checks are counted like the script's, in PASSED, FAILED and SKIPPED, and added to these.

# One more than there are processors, as many tests wait for most of their time; with more than a few, tests of a
# hanging server would fail for lack of time.
SLOTS=$((JOBS < 3 ? JOBS + 1 : 4))

declare -A JOB_NAMES=() # names by process id of jobs that haven't been collected
declare -A BESIDE=()    # names of those jobs that take no slot

# start_job NAME FUNCTION [ARGUMENTS]: starts a job as soon as there is a slot
start_job() {
    while [ $((${#JOB_NAMES[@]} - ${#BESIDE[@]})) -ge "$SLOTS" ]; do
        collect_jobs
    done
    launch_job "$@"
}

# start_beside NAME FUNCTION [ARGUMENTS]: starts a job at once, without a slot, if it yields to the others
start_beside() {
    BESIDE[$1]=yes
    launch_job "$@"
}

launch_job() {
    local name=$1
    shift
    mkdir "$TEMP/$name"
    chmod 755 "$TEMP/$name"
    run_job "$TEMP/$name" "$@" >"$TEMP/$name/output" 2>&1 3>&- &
    JOB_NAMES[$!]=$name
}

# run_job DIRECTORY FUNCTION [ARGUMENTS]: runs a job, and leaves its counts in a file if it comes to its end
run_job() {
    JOB_NAMES=() BESIDE=()
    trap_exit end_job
    TEMP=$1
    shift
    # shellcheck disable=SC2034  # script/test uses the last
    PASSED=0 FAILED=0 SKIPPED=0 RECORDED_S=$SECONDS
    mkdir "$TEMP/socket"
    give_to_server "$TEMP/socket"
    prepare_sanitizers
    "$@"
    printf '%d %d %d\n' "$PASSED" "$FAILED" "$SKIPPED" >"$TEMP/counts"
}

end_job() {
    trap '' INT TERM HUP
    stop_jobs
    stop_child
    stop_server
}

# Waits until a job has ended; prints the output of jobs that have ended, and adds their counts.
collect_jobs() {
    local pid
    # no wait for a job that has ended already
    ended_jobs >/dev/null || wait -n "${!JOB_NAMES[@]}" 2>/dev/null || true
    for pid in $(ended_jobs); do
        collect_job "$pid"
    done
}

# Prints the process ids of jobs that have ended; false if none has.
ended_jobs() {
    local pid status=1
    for pid in "${!JOB_NAMES[@]}"; do
        kill -0 "$pid" 2>/dev/null && continue
        say "$pid"
        status=0
    done
    return "$status"
}

collect_job() {
    local name=${JOB_NAMES[$1]} status=0 passed failed skipped
    local directory=$TEMP/$name
    unset "JOB_NAMES[$1]" "BESIDE[$name]"
    wait "$1" || status=$?
    cat "$directory/output"
    if [ -s "$directory/counts" ]; then
        read -r passed failed skipped <"$directory/counts"
        PASSED=$((PASSED + passed))
        FAILED=$((FAILED + failed))
        SKIPPED=$((SKIPPED + skipped))
    else
        FAILED=$((FAILED + 1))
        say "$name did not come to its end (status $status)"
    fi
    rm -rf "$directory"
}

finish_jobs() {
    while [ ${#JOB_NAMES[@]} -gt 0 ]; do
        collect_jobs
    done
}

# Stops all jobs. Each ends its own programs, and stops its own server.
stop_jobs() {
    [ ${#JOB_NAMES[@]} -gt 0 ] || return 0
    kill -TERM "${!JOB_NAMES[@]}" 2>/dev/null || true
    wait "${!JOB_NAMES[@]}" 2>/dev/null || true
}
