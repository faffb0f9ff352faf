"""What the servers of these tests have in common: they live for as long as their standard input is open.

The test that starts one holds the other end of that pipe. So the server ends, its children and its state folder with it,
when the test is done and also when the test process is killed. It responds with one JSON object a line on standard output.
"""

import contextlib
import ctypes
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

START_SECONDS = 60
END_SECONDS = 10

os.environ["no_proxy"] = "127.0.0.1,localhost"


class Failure(Exception):
    """Something that a person has to mend; its text says what."""


def need(program, package):
    """The path of a program that a Debian package brings."""
    found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
    if not found:
        raise Failure(f"{program} is missing: Tests/run installs it, from Debian's package {package}")
    return found


def report(**members):
    print(json.dumps(members), flush=True)


def free_port():
    """A port that nobody listens on, below the range from which the kernel takes the ports of outgoing connections.

    This process claims it among the processes of tests until it ends, as `freePort()` does.
    """
    while True:
        port = random.randrange(10000, 16384)
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with socket.socket() as probe, contextlib.suppress(OSError):
            claim.bind(f"\0appauth-test-port-{port}")
            claims.append(claim)
            probe.bind(("127.0.0.1", port))
            return port


claims = []


def end_with_parent():
    """In a child before its program starts: the kernel ends it when this process is gone, however it went."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def child(command, log, group=False):
    """A program that runs inside the block, with its output in a file.

    With `group`, it is ended with all that it has started, and without being asked: chromedriver takes ten seconds to hear.
    """
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=end_with_parent,
            start_new_session=group,
        )
    try:
        yield process
    finally:
        if group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_said(pattern, process, log):
    """Waits until the output of a program that is starting holds the pattern; what its first group matches."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        with open(log, errors="replace") as output:
            said = output.read()
        if found := re.search(pattern, said):
            return found[1]
        ended = process.poll() is not None
        if ended or time.monotonic() > deadline:
            raise Failure(f"{process.args[0]} {'ended' if ended else 'does not say ' + pattern}: {said[-1000:]}")
        time.sleep(0.02)


def wait_until_served(url, process, log):
    """Waits until a server that is starting responds to the URL with 200."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            ended = process.poll() is not None
            if ended or time.monotonic() > deadline:
                with open(log, errors="replace") as output:
                    tail = output.read()[-1000:]
                raise Failure(f"{process.args[0]} {'ended' if ended else 'does not answer ' + url}: {tail}")
            time.sleep(0.05)


def wait_for_the_end():
    sys.stdin.buffer.read()
    signal.alarm(3 * END_SECONDS)  # whatever happens from here on, this process ends


def run(body):
    """Runs `body` with a state folder of its own, and reports what it needs if it cannot."""
    try:
        with tempfile.TemporaryDirectory(prefix="appauth-") as state:
            body(state)
    except Failure as failure:
        report(error=str(failure))
        sys.exit(1)
