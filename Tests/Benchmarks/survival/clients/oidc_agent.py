"""oidc-agent: one daemon, which keeps the sessions in memory and on disk, and `oidc-token`, a process for each request."""
import os, pathlib, re, secrets, shutil, subprocess

title, margin = "oidc-agent", 4  # found by trying
sessions = 2  # it derives a key to save one, and that takes its daemon long: more would wait for each other
found = {}


def missing():
    return None if shutil.which("oidc-agent") else "apt-get install oidc-agent-cli"


def version():
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "oidc-agent-cli"], capture_output=True, text=True).stdout


def start(environment):
    said = subprocess.run(["oidc-agent", "--no-autoload"], env=environment, check=True, capture_output=True, text=True).stdout
    found.update(re.findall(r"^(OIDC_SOCK|OIDCD_PID)=([^;]+);", said, re.MULTILINE))
    return {"OIDC_SOCK": found["OIDC_SOCK"]}


def create(session):
    password = pathlib.Path(session["folder"], "password")
    password.write_text(secrets.token_urlsafe() + "\n")
    subprocess.run(
        ["oidc-gen", session["name"], "-m", "--issuer", session["issuer"], "--client-id", session["client_id"], "--client-secret",
         session["client_secret"], "--rt-env", "--scope", session["scope"], "--redirect-url", "http://localhost:8081", "--pw-file",
         password, "--no-url-call"],
        env=dict(session["environment"], OIDC_REFRESH_TOKEN=session["tokens"]()["refresh_token"]), stdin=subprocess.DEVNULL,
        check=True, capture_output=True)


def command(session):
    return ["oidc-token", session["name"]]


def stop():
    os.kill(int(found["OIDCD_PID"]), 15)
    shutil.rmtree(os.path.dirname(found["OIDC_SOCK"]), ignore_errors=True)
