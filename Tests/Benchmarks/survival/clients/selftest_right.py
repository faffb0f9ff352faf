"""For --self-test: one lock around reading, refreshing and saving, and a file that is replaced as a whole."""
import fcntl, json, os, time, urllib.parse, urllib.request

title, margin = "a client with a lock", 0
delay = 0


def missing():
    return None


def path(session):
    return f"{session['folder']}/token.json"


def save(session, tokens):
    with open(path(session) + ".new", "w") as file:
        json.dump(dict(tokens, expires_at=time.time() + tokens["expires_in"]), file)
    os.rename(path(session) + ".new", path(session))


def create(session):
    save(session, session["tokens"]())


def refresh(session):
    with open(path(session)) as file:
        saved = json.load(file)
    if saved["expires_at"] > time.time():
        return saved["access_token"]
    form = {"grant_type": "refresh_token", "refresh_token": saved["refresh_token"], "client_id": session["client_id"],
            "client_secret": session["client_secret"]}
    with urllib.request.urlopen(session["token_endpoint"], urllib.parse.urlencode(form).encode(), timeout=10) as response:
        tokens = json.load(response)
    save(session, tokens)
    return tokens["access_token"]


def token(session):
    with open(path(session) + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return refresh(session)
