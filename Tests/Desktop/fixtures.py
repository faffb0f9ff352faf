"""The app as a user sees it, and the user's browser."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

LIMIT = 60  # seconds for each step, on a busy machine


def fail(message):
    app, App.latest = App.latest, None  # so that a failure in here is the last one
    if app:
        if app.is_shown("Details") and not app.is_shown("Cause"):
            app.open_details()
        message += f". The window shows: {', '.join(texts(app.window()))}"
    sys.exit(f"Tests/Desktop/run: {message}")


def wait_until(what, condition):
    """Returns the condition's value once it is true. Tests it again after each event of the accessibility bus."""
    deadline = time.monotonic() + LIMIT
    context = GLib.MainContext.default()
    # Not every change has an event.
    timer = GLib.timeout_add(200, lambda: True)
    try:
        while True:
            with contextlib.suppress(GLib.Error):
                if value := condition():
                    return value
            if time.monotonic() > deadline:
                fail(f"waited {LIMIT} s for {what}")
            context.iteration(True)
    finally:
        GLib.source_remove(timer)


def visible(node):
    """The visible nodes below a node, or none if there is no window yet. (GTK 4.8 has no state "showing" below windows.)"""
    for index in range(node.get_child_count() if node else 0):
        child = node.get_child_at_index(index)
        if child and child.get_state_set().contains(Atspi.StateType.VISIBLE):
            yield child
            yield from visible(child)


def texts(node):
    return [child.get_name() for child in visible(node) if child.get_role() == Atspi.Role.LABEL]


def translations(path):
    """The texts of a catalogue by their English ones, as a user sees them: without the marks of the mnemonics."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        pairs = re.findall(r'^msgid "(.+)"\nmsgstr "(.+)"$', file.read().replace("_", ""), re.MULTILINE)
    return dict(pairs)


class App:
    """The app as a process. Its window has no manager, and is in the upper left corner of the screen."""

    latest = None

    def __init__(self, arguments, environment, screen, translations):
        self.begin = time.monotonic()
        self.screen = screen
        self.translations = translations
        self.process = subprocess.Popen(arguments, env=environment)
        App.latest = self

    def window(self):
        desktop = Atspi.get_desktop(0)
        for index in range(desktop.get_child_count()):
            app = desktop.get_child_at_index(index)
            if app and app.get_process_id() == self.process.pid and app.get_child_count():
                return app.get_child_at_index(0)
        return None

    def shows(self, text, times=1):
        text = self.translations.get(text, text)
        wait_until(f"'{text}'", lambda: sum(text in shown for shown in texts(self.window())) >= times)

    def is_shown(self, text):
        text = self.translations.get(text, text)
        return any(text in shown for shown in texts(self.window()))

    def open_details(self):
        """Opens the row, by the keyboard."""
        def row():
            name = self.translations.get("Details", "Details")
            rows = [node for node in visible(self.window()) if node.get_role() == Atspi.Role.LIST_ITEM]
            # The row has others inside. The innermost one takes the focus.
            return next((row for row in reversed(rows) if name in texts(row)), None)

        def has_focus():
            self.keys("Tab")
            return row().get_state_set().contains(Atspi.StateType.FOCUSED)
        wait_until("the details", row)
        wait_until("the focus of the details", has_focus)
        self.keys("Return")

    def press(self, name):
        name = self.translations.get(name, name)

        def button():
            for node in visible(self.window()):
                is_button = node.get_role() == Atspi.Role.PUSH_BUTTON and name in texts(node)
                if is_button and node.get_state_set().contains(Atspi.StateType.SENSITIVE):
                    return node
            return None
        wait_until(f"the button '{name}'", button).get_action_iface().do_action(0)

    def tool(self, *command):
        """Lets xdotool do something with the window."""
        search = ["xdotool", "search", "--sync", "--all", "--onlyvisible", "--pid", str(self.process.pid), "--name", "."]
        return subprocess.run([*search, *command], check=True, stdout=subprocess.PIPE, text=True, timeout=LIMIT).stdout

    def keys(self, *keys):
        self.tool("windowfocus", "--sync", "key", "--delay", "100", *keys)

    def resize(self, width, height):
        self.tool("windowsize", "--sync", str(width), str(height))

    def focus(self):
        """Takes the focus from the window and gives it back, as a window manager does."""
        subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--class", "chromium", "windowfocus", "--sync"], check=True)
        self.tool("windowfocus", "--sync")

    def box(self):
        shell = dict(line.split("=") for line in self.tool("getwindowgeometry", "--shell").split())
        return [int(shell[name]) for name in ("X", "Y", "WIDTH", "HEIGHT")]

    def has_pixels(self, colour, at_least=200):
        return self.screen.count(colour, *self.box()) >= at_least

    def save(self, path):
        """Saves a picture of the window once it is painted. A spinner never is."""
        self.tool("windowraise")
        box, before = self.box(), None
        for _ in range(10):
            rows = self.screen.rows(*box)
            if rows == before:
                break
            before = rows
            time.sleep(0.3)
        self.screen.save(path, *box)

    def megabytes(self, name):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name + ":")) // 1024

    def wakeups(self):
        """How often each thread of the process has run, by its ID and name."""
        counts = {}
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            # A thread may end meanwhile.
            with contextlib.suppress(OSError), open(f"/proc/{self.process.pid}/task/{task}/status") as file:
                lines = file.read().splitlines()
                # The involuntary ones only say that the machine is busy.
                [switches] = [line for line in lines if line.startswith("voluntary_ctxt_switches:")]
                counts[task, lines[0].split("\t")[1]] = int(switches.split()[1])
        return counts

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)


class Browser:
    """A Chromium that chromedriver controls (W3C WebDriver). The app's browser is a program that passes its URL on."""

    def __init__(self, folder, stack):
        self.opened = f"{folder}/opened"
        os.mkfifo(self.opened)
        self.pipe = os.open(self.opened, os.O_RDWR | os.O_NONBLOCK)
        self.command = f"{folder}/browser"
        with open(self.command, "w") as file:
            file.write(f"#!/bin/sh\nprintf '%s\\n' \"$1\" >'{self.opened}'\n")
        os.chmod(self.command, 0o700)
        for _ in range(5):
            driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True, start_new_session=True)
            stack.callback(lambda pid=driver.pid, wait=driver.wait: (os.killpg(pid, signal.SIGKILL), wait()))
            # It takes one port for IPv4 and IPv6, and ends if the one that it has found for the first is not free for the second.
            port = next((line.split("port ")[1].strip(" .\n") for line in driver.stdout if "started successfully" in line), None)
            if port:
                break
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--no-first-run", "--disable-gpu", f"--user-data-dir={folder}/profile", "--window-position=1000,0",
                     "--window-size=780,800"] + (["--no-sandbox"] if os.geteuid() == 0 else [])
        chrome = {"binary": shutil.which("chromium"), "args": arguments}
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": chrome, "timeouts": {"implicit": LIMIT * 1000}}}})
        self.base += f"/session/{session['sessionId']}"

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            response = urllib.request.urlopen(request, timeout=2 * LIMIT)
        except urllib.error.HTTPError as error:
            fail(f"the browser: {json.load(error)['value']['message']}")
        with response:
            return json.load(response)["value"]

    def find(self, selector):
        found = self.call("POST", "/element", {"using": "css selector", "value": selector})
        return "/element/" + next(iter(found.values()))

    def was_asked(self, seconds):
        return bool(select.select([self.pipe], [], [], seconds)[0])

    def open_what_the_app_opened(self):
        if not self.was_asked(LIMIT):
            fail("the app opened no browser")
        url = os.read(self.pipe, 4096).decode().strip()
        if "state=" in url:
            fail("the arguments of the browser have the request's state")
        self.open(url)

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def open_what_was_copied(self):
        self.open("data:text/html,<input>")
        self.open(wait_until("the address in the clipboard", lambda: self.paste("input")))

    def sign_in(self):
        """Signs alice in at a provider that does not know this browser."""
        self.enter("input[name=username]", "alice")
        self.enter("input[name=password]", "looking-glass")
        self.click("button[value=sign-in]")
        self.click("button[value=allow]")

    def enter(self, selector, text):
        """Replaces the text of a field."""
        field = self.find(selector)
        self.call("POST", field + "/clear", {})
        self.call("POST", field + "/value", {"text": text})

    def paste(self, selector):
        """Pastes into a field, and returns what is in it then."""
        self.enter(selector, "\ue009v")  # Ctrl-V
        return self.call("GET", self.find(selector) + "/property/value")

    def click(self, selector):
        self.call("POST", self.find(selector) + "/click", {})
