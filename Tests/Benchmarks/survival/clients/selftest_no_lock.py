"""For --self-test: selftest_right without its lock."""
from clients.selftest_right import *  # noqa: F403
from clients.selftest_right import refresh

title = "a client without a lock"


def token(session):
    return refresh(session)
