"""One cell of the table: one client, one row of faults. Runs in namespaces of its own and prints one line of JSON.

usage: cell.py CLIENT ROW SESSIONS GRACE [--verbose]        as ./run does, in what isolation.isolated starts
"""
import collections, importlib, json, os, pathlib, signal, socket, struct, subprocess, sys, tempfile, threading, time
import urllib.parse, urllib.request

import isolation, ledger, rows

name, row_name, sessions, grace = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
verbose = "--verbose" in sys.argv
folder = pathlib.Path(__file__).resolve().parent
root = folder.parents[2]
client, row = importlib.import_module(f"clients.{name}"), rows.rows[row_name]
parallel = row.get("parallel", 1)
lifetime = rows.usable + (0 if row.get("back") else client.margin)
client_id, client_secret, password, port = "bench", "benchmark-secret", "looking-glass", 8080
path = getattr(client, "issuer_path", "")
counts = collections.Counter()
errors = collections.Counter()
doomed = collections.defaultdict(list)


class Place:
    """The folders of the sessions, on a small disk, and what the programs see of their environment."""

    def __init__(self, home):
        self.home, self.disk, self.clock = home, isolation.FullDisk(home), home + ".clock"
        isolation.mount_disk(home, "24m")
        self.set_clock(0)
        self.environment = {"HOME": home, "PATH": os.environ["PATH"], "TMPDIR": home, "PYTHONPATH": str(folder),
                            "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}
        if row.get("back"):
            self.environment |= {"LD_PRELOAD": str(isolation.stepped_clock), "STEPPED_CLOCK": self.clock}

    def set_clock(self, step):
        with open(self.clock, "r+b" if os.path.exists(self.clock) else "wb") as file:
            file.write(struct.pack("q", step))
        self.step = step

    def current(self):
        """For one program: `CLOCK_STEP` is for those that the preloaded clock does not reach."""
        return dict(self.environment, CLOCK_STEP=str(self.step))


class Commands:
    """A client that is a program: it prints its token."""

    def start(self, session, environment):
        process = subprocess.Popen(client.command(session), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)

        def read():
            output, complaint = process.communicate()
            if process.returncode == 0 and output.strip():
                return {"tokens": [output.strip()]}
            return {"error": complaint.strip().splitlines()[-1][:200]} if complaint.strip() else None
        return process.pid, read


class Forks:
    """A client in Python: warm.py forks a process for each request."""

    def __init__(self, environment, home):
        self.socket = home + "/../warm"
        process = subprocess.Popen([sys.executable, folder / "warm.py", name, self.socket], env=environment, stdout=subprocess.PIPE,
                                   text=True)
        if process.stdout.readline() != "ready\n":
            sys.exit(f"{name} does not start")

    def start(self, session, environment):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.socket)
        stream = connection.makefile("rw")
        stream.write(json.dumps(session) + "\n")
        stream.flush()
        pid = int(stream.readline())

        def read():
            with connection, stream:
                line = stream.read()
            return json.loads(line) if line.endswith("}") else None
        return pid, read


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        counts["killed"] += 1
    except ProcessLookupError:
        pass


class Death:
    """SIGKILL at a moment of a refresh: soon after the start, while the response is under way, or just after it has come."""

    def __init__(self, chance):
        self.kind, self.delay = chance.choice(("start", "responded", "delivered")), chance.uniform(0, 0.01)

    def plan(self, session, pid):
        self.pid = pid
        if self.kind == "start":
            threading.Timer(self.delay, kill, (pid,)).start()
        else:
            doomed[session["name"]].append(self)


def reached(kind):
    def hook(session):
        for death in [death for death in doomed.get(session, ()) if death.kind == kind]:
            doomed[session].remove(death)
            time.sleep(death.delay if kind == "delivered" else 0)
            kill(death.pid)
    return hook


def ask(session, death=None):
    """Starts a process that wants a token. The moment counts from which a token that it gets must be valid."""
    asked = time.monotonic()
    pid, read = programs.start(session, place.current())
    if death:
        death.plan(session, pid)
    timer = threading.Timer(60, kill, (pid,))
    timer.start()
    found = read()
    timer.cancel()
    if death in doomed[session["name"]]:
        doomed[session["name"]].remove(death)
    counts["asked"] += 1
    for token in (found or {}).get("tokens", []):
        counts["handed"] += 1
        counts["wrong"] += not book.fits(token, session["name"], asked)
    if found and "error" in found:
        errors[found["error"]] += 1
    return bool(found and found.get("tokens")) and book.fits(found["tokens"][-1], session["name"], asked)


def work(session, round):
    """What the processes of one session do in a round."""
    def one(index):
        chance = ledger.dice(rows.seed, row_name, session["name"], round, index)
        time.sleep(chance.uniform(0, 0.1))
        killed = chance.random() < row.get("kill", 0) and round > 0
        ask(session, Death(chance) if killed else None)

    if parallel == 1:
        one(0), one(1)
    else:
        everyone(one, range(parallel))


def everyone(body, items):
    threads = [threading.Thread(target=body, args=(item,)) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def one_round(round):
    sent = collections.Counter()

    def loses(session):
        with book.lock:
            sent[session] += 1
            number = sent[session]
        return round > 0 and ledger.dice(rows.seed, row_name, "network", session, round, number).random() < row.get("lose", 0)

    proxy.loses = loses
    down, full, back = (round in row.get(kind, ()) for kind in ("down", "full", "back"))
    if down:
        proxy.stop()
    if full:
        place.disk.fill()
    if back:
        place.set_clock(-3600)
    everyone(lambda session: work(session, round), known)
    proxy.loses = lambda session: False
    place.set_clock(0)
    if full:
        place.disk.free()
    if down:
        proxy.start()
    time.sleep(rows.usable + 0.3)


def is_alive(session):
    """Three tries: a client may wait after failures."""
    for _ in range(3):
        if ask(session):
            return True
        time.sleep(1.5)
    return False


def start_provider(certificate):
    options = ["--certificate", certificate[0], "--key", certificate[1]] if certificate else []
    users = [option for session in known for option in ("--user", f"{session['name']}:{password}")]
    process = subprocess.Popen(
        [root / ".build/debug/local-provider", "--exit-with-stdin", "--port", str(port), "--grace-period", str(grace),
         "--access-token-lifetime", str(lifetime), "--client", f"{client_id}:{client_secret}", *users, *options,
         *(["--issuer-path", path] if path else [])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=isolation.in_own_network)
    process.stdout.readline()
    return process


def password_grant(session):
    form = {"grant_type": "password", "username": session["name"], "password": password, "scope": session["scope"],
            "client_id": client_id, "client_secret": client_secret}
    with urllib.request.urlopen(session["token_endpoint"], urllib.parse.urlencode(form).encode()) as response:
        return json.load(response)


def new_certificate(home):
    files, yesterday = (home + "/provider.pem", home + "/key.pem"), home + "/yesterday"
    pathlib.Path(yesterday).write_bytes(struct.pack("q", -86400))  # so that it is valid for a clock that is set back
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=provider", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", files[1], "-out", files[0]],
                   env=dict(os.environ, LD_PRELOAD=str(isolation.stepped_clock), STEPPED_CLOCK=yesterday), check=True,
                   capture_output=True)
    os.environ["SSL_CERT_FILE"] = files[0]
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # they would replace what a client has been given
        os.environ.pop(name, None)
    return files


def end_with_stdin():
    sys.stdin.read()
    os._exit(1)


threading.Thread(target=end_with_stdin, daemon=True).start()
isolation.raise_loopback()
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
    home = temporary + "/home"
    os.mkdir(home)
    place, book = Place(home), ledger.Ledger()
    certificate = new_certificate(temporary) if path else None
    issuer = f"{'https' if certificate else 'http'}://127.0.0.1:{port}"
    known = []
    for index in range(sessions):
        label = f"s{index:02}"
        (pathlib.Path(home) / "sessions" / label).mkdir(parents=True)
        known.append({
            "name": label, "folder": f"{home}/sessions/{label}", "issuer": issuer + path,
            "token_endpoint": issuer + path + "/token", "api": f"{issuer}/api/{label}",
            "client_id": client_id, "client_secret": client_secret, "password": password,
            "scope": "openid profile offline_access api", "certificate": certificate and certificate[0]})
    provider = start_provider(certificate)
    descriptor = os.open(f"/proc/{provider.pid}/ns/net", os.O_RDONLY)
    proxy = ledger.Proxy(port, book, lambda: isolation.enter_network(descriptor), certificate)
    proxy.responded, proxy.delivered = reached("responded"), reached("delivered")
    if hasattr(client, "start"):
        place.environment |= client.start(place.environment)
    for session in known:
        client.create(dict(session, tokens=lambda: password_grant(session), environment=place.environment))
    programs = Commands() if hasattr(client, "command") else Forks(place.environment, home)
    time.sleep(rows.usable + 0.3)
    for round in range(row.get("rounds", rows.rounds)):
        one_round(round)
    alive = []
    everyone(lambda session: alive.append(is_alive(session)), known)
    print(json.dumps({
        "client": name, "row": row_name, "grace": grace, "sessions": sessions, "alive": sum(alive),
        "refreshes": sum(book.by_session.values()), "twice": book.twice, "wrong": counts["wrong"], "handed": counts["handed"],
        "asked": counts["asked"], "lost": book.lost, "killed": counts["killed"],
        "errors": errors.most_common(6) if verbose else []}), flush=True)
    if hasattr(client, "stop"):
        client.stop()
    provider.stdin.close()
    provider.wait()
    subprocess.run(["umount", "--lazy", home])
os._exit(0)
