"""Chromium with a window, on an X server of its own, in the session that the environment names: what a person has on a desktop.

usage: desktop_browser.py PROVIDER USER PASSWORD SCHEME [CHOICE]

Reports {"browser": PATH} first: PATH is a program for $BROWSER, which hands its URL to the browser that runs here. The person signs
in there and presses whatever button comes, until a minute is over or standard input ends. Chromium has been told "always allow" for
the provider's links to SCHEME, so that it hands them to the desktop (xdg-open) without asking. A button with the value CHOICE comes
before the others.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from urllib3.exceptions import HTTPError

import lifeline

PAGES_SECONDS = 60
# A journey that has not ended by then is begun anew: Chromium hands nothing to the desktop without a click of a moment ago.
JOURNEY_SECONDS = 12
# A button that is still there was pressed before its page was ready.
PRESS_AGAIN_SECONDS = 3

# Opened for reading too, so that it never waits for a browser that is gone.
OPENER = """#!/bin/sh
printf '%s\\n' "$1" 1<>'{urls}'
"""


@contextlib.contextmanager
def display(state):
    """An X server on a display number that is free, while the block runs."""
    reader, writer = os.pipe()
    command = [lifeline.need("Xvfb", "xvfb"), "-displayfd", str(writer), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
    with open(f"{state}/xvfb", "wb") as log:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[writer],
            preexec_fn=lifeline.end_with_parent,
        )
    os.close(writer)
    try:
        with os.fdopen(reader) as numbers:
            number = numbers.readline().strip()
        if not number:
            raise lifeline.Failure(f"Xvfb gave no display: {open(f'{state}/xvfb', errors='replace').read()[-500:]}")
        yield f":{number}"
    finally:
        server.terminate()  # a kill would leave its lock
        try:
            server.wait(lifeline.END_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def start_chromium(state, provider, scheme):
    options = webdriver.ChromeOptions()
    options.binary_location = lifeline.need("chromium", "chromium")
    arguments = ["--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--password-store=basic", f"--user-data-dir={state}/profile"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # its sandbox does not work for root
    for argument in arguments:
        options.add_argument(argument)
    options.page_load_strategy = "eager"
    # What the box "Always allow" of Chromium's question keeps.
    parts = urllib.parse.urlsplit(provider)
    options.add_experimental_option("prefs", {
        "protocol_handler": {"allowed_origin_protocol_pairs": {f"{parts.scheme}://{parts.netloc}": {scheme: True}}},
    })
    service = webdriver.ChromeService(
        lifeline.need("chromedriver", "chromium-driver"), popen_kw={"preexec_fn": lifeline.end_with_parent},
        log_output=f"{state}/log",
    )
    return webdriver.Chrome(options, service)


def sign_in(driver, urls, user, password, choice):
    """Fills in what the pages ask for, and presses the first button of each. The last URL counts."""
    end = time.monotonic() + PAGES_SECONDS
    while time.monotonic() < end:
        journey(driver, urls, user, password, choice, time.monotonic() + JOURNEY_SECONDS)


def journey(driver, urls, user, password, choice, deadline):
    url = urls[-1]
    with contextlib.suppress(WebDriverException):  # the provider may be gone already
        driver.get(url)
    pressed = {}
    while time.monotonic() < deadline and urls[-1] == url:
        with contextlib.suppress(WebDriverException):  # no button yet, or the page changed under our hands
            chosen = driver.find_elements(By.CSS_SELECTOR, f'button[value="{choice}"]') if choice else []
            button = chosen[0] if chosen else driver.find_element(By.CSS_SELECTOR, "button")
            label = button.text
            if label and time.monotonic() - pressed.get(label, -PRESS_AGAIN_SECONDS) >= PRESS_AGAIN_SECONDS:
                for name, value in (("username", user), ("password", password)):
                    for field in driver.find_elements(By.NAME, name):
                        field.clear()
                        field.send_keys(value)
                button.click()
                pressed[label] = time.monotonic()
        time.sleep(0.1)


def serve(state):
    provider, user, password, scheme, *choice = sys.argv[1:]
    urls, opener = f"{state}/urls", f"{state}/browser"
    os.mkfifo(urls)
    with open(opener, "w") as program:
        program.write(OPENER.format(urls=urls))
    os.chmod(opener, 0o700)
    with display(state) as number:
        os.environ["DISPLAY"] = number
        driver = start_chromium(state, provider, scheme)

        def visit():
            # Open for writing too, so that the file does not end when an opener has gone.
            requests = os.fdopen(os.open(urls, os.O_RDWR))
            opened = [requests.readline().strip()]
            threading.Thread(target=lambda: opened.extend(line.strip() for line in requests), daemon=True).start()
            with contextlib.suppress(HTTPError):  # the browser has been closed, and its driver is gone
                sign_in(driver, opened, user, password, choice[0] if choice else None)

        try:
            threading.Thread(target=visit, daemon=True).start()
            lifeline.report(browser=opener)
            lifeline.wait_for_the_end()
        finally:
            driver.quit()


# Foundation starts programs with the signals of its thread blocked, and programs hand that on to theirs.
signal.pthread_sigmask(signal.SIG_SETMASK, ())
lifeline.run(serve)
