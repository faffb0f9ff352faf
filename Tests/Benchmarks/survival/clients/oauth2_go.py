"""golang.org/x/oauth2 in a Go program: clients/oauth2/main.go."""
import datetime, json, os, pathlib, shutil, subprocess

source = pathlib.Path(__file__).resolve().parent / "oauth2/main.go"
program = source.parents[5] / ".build/survival-oauth2"
title, margin = "x/oauth2 (Go)", 10  # oauth2.expiryDelta


def missing():
    if not shutil.which("go"):
        return "apt-get install golang-go golang-golang-x-oauth2-dev"
    environment = dict(os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode")
    environment.setdefault("GOCACHE", str(program) + "-cache")
    done = subprocess.run(["go", "build", "-o", program, source], env=environment, capture_output=True, text=True)
    return done.stderr or None


def version():
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "golang-golang-x-oauth2-dev"], capture_output=True,
                          text=True).stdout


def create(session):
    tokens = session["tokens"]()
    expiry = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=tokens["expires_in"])
    pathlib.Path(session["folder"], "token.json").write_text(json.dumps({
        "access_token": tokens["access_token"], "token_type": "Bearer", "refresh_token": tokens["refresh_token"],
        "expiry": expiry.isoformat()}))


def command(session):
    return [program, f"{session['folder']}/token.json", session["token_endpoint"], session["client_id"], session["client_secret"]]
