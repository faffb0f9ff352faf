"""For --self-test: hands out the token of another session."""
import json, os

from clients.selftest_right import *  # noqa: F403
from clients.selftest_right import path, refresh

title = "a client that confuses sessions"


def token(session):
    refresh(session)
    other = sorted(os.listdir(os.path.dirname(session["folder"])))[0]
    with open(path({"folder": os.path.join(os.path.dirname(session["folder"]), other)})) as file:
        return json.load(file)["access_token"]
