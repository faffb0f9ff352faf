"""For --self-test: never refreshes, and hands out what it has."""
import json

from clients.selftest_right import *  # noqa: F403
from clients.selftest_right import path

title = "a client that ignores the end of a token"


def token(session):
    with open(path(session)) as file:
        return json.load(file)["access_token"]
