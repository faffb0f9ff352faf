"""Builds a copy of the sources that contains the mutants, and runs the suites of its tests."""

import collections
import contextlib
import glob
import os
import re
import signal
import subprocess
import tempfile
import time

from mutants import support, with_switches

Run = collections.namedtuple("Run", "failure seconds hits")


class Copy:
    """A copy of the sources in a folder of its own, where the mutants are built."""

    def __init__(self, root, folder, targets):
        self.root, self.folder, self.targets = root, folder, sorted(targets)

    def write(self, mutants):
        """Writes all files, with the mutants by number."""
        files, modules, by_path = self.git_files(), collections.defaultdict(list), collections.defaultdict(list)
        for number, mutant in mutants.items():
            modules["/".join(mutant.path.split("/")[:2])].append((number, mutant))
            by_path[mutant.path].append((number, mutant))
        made = {f"{module}/Mutants.swift": support(found, self.size(mutants)) for module, found in modules.items()}
        for file in files:
            source = os.path.join(self.root, file)
            if not os.path.isfile(source):
                continue
            with open(source, "rb") as content:
                data = content.read()
            if file in by_path:
                data = with_switches(data.decode(), by_path[file]).encode()
            self.put(file, data, os.stat(source).st_mode)
        for file, text in made.items():
            self.put(file, text.encode(), 0o644)
        # Remove the files of an earlier run that the sources no longer have.
        wanted = set(files) | set(made)
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name not in (".build", ".swiftpm")]
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.folder)
                if path not in wanted and path != "Package.resolved":
                    os.remove(os.path.join(folder, name))

    def git_files(self):
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                cwd=self.root, check=True, capture_output=True, text=True)
        return [file for file in listed.stdout.split("\0") if file]

    def put(self, file, data, mode):
        """Writes a file, unless it is the same already: a newer file would be compiled again."""
        target = os.path.join(self.folder, file)
        with contextlib.suppress(FileNotFoundError), open(target, "rb") as old:
            if old.read() == data:
                return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as new:
            new.write(data)
        os.chmod(target, mode)

    def size(self, mutants):
        return (max(mutants, default=0) // 4096 + 1) * 4096

    def errors(self):
        """Builds the copy. Returns its errors as (file, line, message), and its output."""
        build = subprocess.run(
            ["swift", "build", "--build-tests"], cwd=self.folder, stdin=subprocess.DEVNULL,
            env=os.environ | {"APPAUTH_TARGETS": ",".join(self.targets)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if build.returncode == 0:
            return set(), build.stdout
        found = re.findall(rf"^{re.escape(self.folder)}/(\S+):(\d+):\d+: error: (.*)$", build.stdout, re.MULTILINE)
        return {(file, int(line), message) for file, line, message in found}, build.stdout

    def binary(self):
        return glob.glob(os.path.join(self.folder, ".build", "debug", "*PackageTests.xctest"))[0]

    def suites(self):
        """All suites, as Target.Suite."""
        listed = subprocess.run([self.binary(), "--testing-library", "swift-testing", "--list-tests"],
                                cwd=self.folder, check=True, capture_output=True, text=True)
        names = {line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line}
        return sorted(name for name in names if name.split(".")[0] in self.targets)

    def run(self, suite, limit, mutant=None, size=None):
        """Runs a suite until its first failure, at most `limit` seconds.

        With `mutant`, this one is turned on. With `size`, the mutants that are reached are recorded.
        """
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as folder:
            # Some tests start a server as another user, with files in this folder.
            os.chmod(folder, 0o755)
            environment = os.environ | {
                "NO_COLOR": "1", "SWIFT_BACKTRACE": "enable=no", "TMPDIR": folder,
                # The simulation takes the same users each time, and fewer.
                "APPAUTH_SIMULATION_SEED": "1", "APPAUTH_SIMULATION_RUNS": "20",
            }
            if mutant is not None:
                environment["MUTANT"] = str(mutant)
            if size is not None:
                environment["MUTANT_HITS"] = os.path.join(folder, "hits")
                with open(environment["MUTANT_HITS"], "wb") as file:
                    file.truncate(size)
            failure = self.failure(suite, limit, environment)
            hits = []
            if size is not None:
                with open(environment["MUTANT_HITS"], "rb") as file:
                    hits = [number for number, byte in enumerate(file.read()) if byte]
        return Run(failure, time.monotonic() - begin, hits)

    def failure(self, suite, limit, environment):
        """The first failure of a suite; None if it passes."""
        name = os.path.join(environment["TMPDIR"], "output")
        with open(name, "wb") as output:
            process = subprocess.Popen(
                [self.binary(), "--testing-library", "swift-testing", "--no-parallel",
                 "--filter", f"^{re.escape(suite)}/"],
                cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True)
        end, running, passed = time.monotonic() + limit, "", False
        try:
            with open(name, encoding="utf-8", errors="replace") as output:
                while True:
                    # Asked before the last lines are read. The process ID stays reserved until wait() is called.
                    has_ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
                    for line in output:
                        if line.startswith("\u2718 "):
                            return line.strip()[2:300]
                        if found := re.match(r"\u25c7 (Test .*) started", line):
                            running = found[1]
                        passed = passed or line.startswith("\u2714 Test run with")
                    if has_ended:
                        status = process.wait()
                        return None if status == 0 and passed else f"ended with {status}: {running}"
                    if time.monotonic() > end:
                        return f"hung: {running}"
                    time.sleep(0.02)
        finally:
            # Processes that it has started may still run.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
