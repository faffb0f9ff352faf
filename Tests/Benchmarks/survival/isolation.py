"""What a cell has for itself: processes, a network that leads nowhere, a small disk. Needs root, or user namespaces."""
import ctypes, fcntl, os, pathlib, socket, struct, subprocess, sys, time

libc = ctypes.CDLL(None, use_errno=True)
new_network = 0x40000000  # CLONE_NEWNET
folder = pathlib.Path(__file__).resolve().parent
stepped_clock = folder.parents[2] / ".build/survival-clock.so"


def isolated(command):
    """The command in namespaces of its own: when it ends, all that it started ends too."""
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *as_root, "--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc", *command]


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: up and running


def in_own_network():
    """For a child before exec."""
    check(libc.unshare(new_network))
    raise_loopback()


def enter_network(descriptor):
    """Of this thread only: what it has opened stays where it was."""
    check(libc.setns(descriptor, new_network))


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount_disk(folder, size):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "survival", folder], check=True)


def build_stepped_clock():
    # LD_PRELOAD is a list, which these separate: without the library, the clock would stay, and nobody would notice.
    if set(str(stepped_clock)) & set(" :"):
        sys.exit(f"expected a path without blanks and colons, found {folder}")
    subprocess.run(["cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", stepped_clock, folder / "clock.c", "-ldl"], check=True)


class FullDisk:
    """A file that takes all space, as the log of another program does: twice in a millisecond it takes what others have freed."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "ballast")

    def fill(self):
        self.writer = subprocess.Popen([sys.executable, __file__, self.path], stdout=subprocess.PIPE)
        self.writer.stdout.readline()

    def free(self):
        self.writer.kill()
        self.writer.wait()
        os.unlink(self.path)


def fill(path):
    with open(path, "ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                pass
        print("full", flush=True)
        while True:
            try:
                file.write(b"x" * 4096)
            except OSError:
                time.sleep(0.0005)


if __name__ == "__main__":
    fill(sys.argv[1])
