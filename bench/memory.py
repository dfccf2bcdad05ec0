"""Measures memory while fits run over a table and over its first tenth: it must not grow with the rows.

Reads /proc for the session's process and its parallel workers every few milliseconds, so the server must run on this
machine. The figure is the peak of the sum of their anonymous memory (RssAnon) less the session's before, which leaves
out shared buffers. The ring of rows is shared memory: the growth of the machine's is measured (Shmem in /proc/meminfo,
which others change, too), and each process's own figures.
Prints a JSON line per fit and table. Usage: memory.py WORKERS TABLE ROWS TENTH ROWS; both tables have y and x1 to x8.
"""
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

PERIOD = 0.005
MORE_MB_AT_MOST = 64  # more than over the tenth; the other nine tenths of 100 million rows are 6,500 MB
RSS_MB_AT_MOST = 1024  # limit for each process, without shared buffers
FITS = [(function, device) for function in ("gpu_ols_fit", "gpu_logreg_fit") for device in ("gpu", "cpu")]


def fields_of(path):
    """Returns name and number of lines such as VmHWM: 123 kB; nothing if the process is gone."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if line.endswith(" kB"))
    return {name: int(value.split()[0]) for name, value in pairs}


def workers_of(pid):
    """Returns a leader's parallel workers, by their titles."""
    title = f"parallel worker for PID {pid}".encode()
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if title in pathlib.Path("/proc", entry.name, "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def status_of(pid):
    return fields_of(pathlib.Path("/proc", str(pid), "status"))


def shmem():
    return fields_of(pathlib.Path("/proc/meminfo"))["Shmem"]


class Peaks:
    """The largest values so far, in kB."""

    def __init__(self):
        self.seen = {}

    def note(self, name, value):
        self.seen[name] = max(self.seen.get(name, 0), value)

    def sample(self, leader):
        workers = workers_of(leader)
        all_of = [status_of(pid) for pid in [leader, *workers]]
        self.note("anonymous", sum(s.get("RssAnon", 0) for s in all_of))
        for field in ("VmHWM", "RssAnon", "RssFile", "RssShmem"):
            self.note(f"leader_{field}", all_of[0].get(field, 0))
            self.note(f"worker_{field}", max([s.get(field, 0) for s in all_of[1:]], default=0))
        self.note("processes", len(all_of))
        self.note("shmem", shmem())


class Session:
    """A psql that runs one statement after another; its output shows when one is done."""

    def __init__(self):
        self.psql = subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, bufsize=1)

    def start(self, sql):
        self.psql.stdin.write(f"{sql};\n\\echo done\n")
        self.psql.stdin.flush()

    def finish(self):
        lines = []
        for line in self.psql.stdout:
            if line == "done\n":
                return lines
            lines.append(line.rstrip("\n"))
        raise ConnectionError("; ".join(lines) or "the session has ended")

    def run(self, sql):
        self.start(sql)
        return self.finish()

    def close(self):
        self.psql.stdin.close()
        self.psql.wait()


def watched(session, pid, sql):
    """Runs a statement while a thread waits for it and this one samples; returns its output, seconds and peaks."""
    output, peaks = [], Peaks()
    started = time.perf_counter()
    session.start(sql)
    waiter = threading.Thread(target=lambda: output.extend(session.finish()), daemon=True)
    waiter.start()
    while waiter.is_alive():
        peaks.sample(pid)
        time.sleep(PERIOD)
    return output, time.perf_counter() - started, peaks.seen


def measure(function, device, workers, table):
    """Runs a fit in a new session, after a fit of few rows that loads libraries and opens the device."""
    query = f"SELECT y, x1, x2, x3, x4, x5, x6, x7, x8 FROM {table}"
    session = Session()
    try:
        session.run(f"SET gpureg.device = {device}; SET jit = off")
        if workers >= 0:
            session.run(f"SET max_parallel_workers_per_gather = {workers}; SELECT set_config('max_parallel_workers', "
                        f"greatest(current_setting('max_parallel_workers')::int, {workers})::text, false)")
        pid = int(session.run("SELECT pg_backend_pid()")[0])
        failed = [line for line in session.run(f"SELECT {function}('{query} LIMIT 1000') IS NULL") if "ERROR" in line]
        if failed:
            return {"not_run": failed[0].split("ERROR:")[-1].strip()}
        before, shmem_before = status_of(pid)["RssAnon"], shmem()
        output, seconds, peaks = watched(session, pid, f"SELECT {function}('{query}') IS NULL")
        if output != ["f"]:
            return {"not_run": " ".join(output)}
        ran_on = session.run("SELECT device FROM gpu_last_run()")[0]
        buffers_mb = float(session.run("SELECT pg_size_bytes(current_setting('shared_buffers')) / 1048576.0")[0])
    finally:
        session.close()
    mb = {name: round(kb / 1024, 1) for name, kb in peaks.items() if name.startswith(("leader", "worker"))}
    return {"ran_on": ran_on, "seconds": round(seconds, 3),
            "anonymous_mb": round((peaks["anonymous"] - before) / 1024, 1),
            "anonymous_mb_before": round(before / 1024, 1),
            "shmem_growth_mb": round((peaks["shmem"] - shmem_before) / 1024, 1),
            "processes": peaks["processes"],
            "peak_rss_mb": max(value for name, value in mb.items() if name.endswith("VmHWM")),
            "peak_rss_mb_at_most": round(RSS_MB_AT_MOST + buffers_mb, 1),
            **{f"{name}_mb": value for name, value in mb.items()}}


def main():
    workers, big, big_rows, tenth, tenth_rows = int(sys.argv[1]), *sys.argv[2:]
    for function, device in FITS:
        small = None
        for table, rows in ((tenth, int(tenth_rows)), (big, int(big_rows))):
            result = measure(function, device, workers, table)
            if small and "anonymous_mb" in result:
                result |= {"tenth_anonymous_mb": small["anonymous_mb"],
                           "more_mb": round(result["anonymous_mb"] - small["anonymous_mb"], 1),
                           "more_mb_at_most": MORE_MB_AT_MOST}
            print(json.dumps({"section": "memory", "bench": f"memory of {function}", "device": device, "rows": rows,
                              "features": 8, "workers": workers, **result}), flush=True)
            small = result if "anonymous_mb" in result else None


if __name__ == "__main__":
    main()
