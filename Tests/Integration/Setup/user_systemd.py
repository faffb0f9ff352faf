"""The systemd of a user, without one of the machine: with a bus and control groups of its own, in a namespace of files.

usage: user_systemd.py HOME        as root; HOME has the units in .config/systemd/user

Reports {"runtime": FOLDER} first, the XDG_RUNTIME_DIR of the user. Each line on standard input is a command of systemctl, whose result
it reports: {"status": …, "output": …}.
"""

import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys
import time

import lifeline

MANAGER = "/usr/lib/systemd/systemd"
CLONE_NEWNS = 0x00020000


def hide_the_system():
    """systemd runs for a user only where this folder says that it has started the machine."""
    if ctypes.CDLL(None).unshare(CLONE_NEWNS) != 0:
        raise lifeline.Failure("a namespace of files cannot be made: these tests run as root")
    for command in (["mount", "--make-rprivate", "/"], ["mount", "-t", "tmpfs", "none", "/run"]):
        subprocess.run(command, check=True)
    os.makedirs("/run/systemd/system")


@contextlib.contextmanager
def control_groups():
    """This process and its children in groups of their own, whose processes end with the block."""
    places = [pathlib.Path("/sys/fs/cgroup", name) for name in ("", "unified", "systemd")]
    groups = [place / f"appauth-{os.getpid()}" for place in places if (place / "cgroup.procs").exists()]
    for group in groups:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        for group in groups:
            (group.parent / "cgroup.procs").write_text(str(os.getpid()))
            folders = [pathlib.Path(folder) for folder, _, _ in os.walk(group, topdown=False)]
            for folder in folders:
                for process in (folder / "cgroup.procs").read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(process), 9)
            for folder in folders:
                remove(folder)


def remove(folder):
    """A group whose processes have just been killed is busy for a moment."""
    deadline = time.monotonic() + lifeline.END_SECONDS
    while True:
        try:
            return folder.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def systemctl(*words):
    return subprocess.run(
        ["systemctl", "--user", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def serve(state):
    hide_the_system()
    runtime = os.path.join(state, "run")
    os.mkdir(runtime, 0o700)
    os.environ.update(
        HOME=sys.argv[1], XDG_RUNTIME_DIR=runtime, DBUS_SESSION_BUS_ADDRESS=f"unix:path={runtime}/bus", SYSTEMD_LOG_TARGET="console"
    )
    bus = [lifeline.need("dbus-daemon", "dbus-daemon"), "--session", "--nofork", f"--address=unix:path={runtime}/bus"]
    log = os.path.join(state, "log")
    with control_groups(), lifeline.child(bus, os.path.join(state, "bus")), lifeline.child([MANAGER, "--user"], log) as manager:
        deadline = time.monotonic() + lifeline.START_SECONDS
        while systemctl("is-system-running").stdout.strip() not in ("running", "degraded"):
            if manager.poll() is not None or time.monotonic() > deadline:
                raise lifeline.Failure(f"systemd does not run for a user: {open(log).read()[-1000:]}")
            time.sleep(0.05)
        lifeline.report(runtime=runtime)
        for line in sys.stdin:
            outcome = systemctl(*line.split())
            lifeline.report(status=outcome.returncode, output=outcome.stdout)


lifeline.run(serve)
