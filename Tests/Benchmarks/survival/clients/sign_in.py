"""sign-in of this project, a process for each request: `sign-in token`."""
import os, pathlib, subprocess

root = pathlib.Path(__file__).resolve().parents[4]
program = next((path for path in (root / ".build/release/sign-in", root / ".build/debug/sign-in") if path.exists()), None)
title, margin = "sign-in token", 0


def missing():
    return None if program else "swift build --product sign-in"


def version():
    return "this commit"


def create(session):
    folder = pathlib.Path(session["folder"])
    for name in ("password", "client_secret"):
        (folder / name).write_text(session[name])
        os.chmod(folder / name, 0o600)
    subprocess.run(
        [program, "password", "--issuer", session["issuer"], "--client-id", session["client_id"], "--client-secret-file",
         folder / "client_secret", "--username", session["name"], "--password-file", folder / "password", "--scope",
         session["scope"], "--store", f"file:{folder}/session.json"], check=True, capture_output=True)


def command(session):
    return [program, "token", "--store", f"file:{session['folder']}/session.json"]
