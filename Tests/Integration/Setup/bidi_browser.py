"""A headless Chromium or Firefox that speaks WebDriver BiDi, with a profile of its own.

usage: bidi_browser.py chromium|firefox [--dark] [--without-scripts] [--language=de-DE]

Chromium knows no --without-scripts: set up so, it would not move the mouse. It has the command emulation.setScriptingEnabled.

Reports {"port": PORT, "capabilities": JSON}: ws://127.0.0.1:PORT/session takes `session.new` with these capabilities. The
settings are the browser's own, as a person would set them, and not what an automation protocol pretends.
"""

import json
import os
import sys

import lifeline


def chromium(state, dark, language):
    # A pipe instead of a port: Chromium ends when chromedriver does, and nobody else can reach it.
    arguments = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 f"--user-data-dir={state}/profile", f"--accept-lang={language}"]
    if dark:
        arguments.append("--force-dark-mode")
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # its sandbox does not work for root
    capabilities = {"goog:chromeOptions": {"binary": lifeline.need("chromium", "chromium"), "args": arguments}}
    # With port 0, it ends if the port that it has found for IPv4 is not free for IPv6.
    command = [lifeline.need("chromedriver", "chromium-driver"), f"--port={lifeline.free_port()}"]
    return command, r"started successfully on port (\d+)", capabilities


def firefox(state, dark, language):
    preferences = {
        "layout.css.prefers-color-scheme.content-override": 0 if dark else 1,
        "javascript.enabled": "--without-scripts" not in sys.argv,
        "intl.accept_languages": language,
        # No first-run page, and no service of Mozilla's is asked for anything.
        "browser.aboutwelcome.enabled": False, "datareporting.policy.dataSubmissionEnabled": False,
        "app.normandy.enabled": False, "services.settings.server": "data:,#remote-settings-dummy/v1",
        "browser.newtabpage.enabled": False, "network.captive-portal-service.enabled": False,
    }
    profile = f"{state}/profile"
    os.mkdir(profile)
    with open(f"{profile}/user.js", "w") as settings:
        for name, value in preferences.items():
            settings.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
    os.environ["MOZ_CRASHREPORTER_DISABLE"] = "1"  # a process that would outlive the browser
    program = lifeline.need("firefox-esr", "firefox-esr")
    command = [program, "--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", profile]
    return command, r"WebDriver BiDi listening on ws://127\.0\.0\.1:(\d+)", {}


def serve(state):
    kind, *options = sys.argv[1:]
    language = next((option.split("=")[1] for option in options if option.startswith("--language=")), "en-US")
    os.environ.update(HOME=state, TMPDIR=state)  # both write beside their profiles too
    make = {"chromium": chromium, "firefox": firefox}[kind]
    command, announcement, capabilities = make(state, "--dark" in options, language)
    log = f"{state}/log"
    with lifeline.child(command, log, group=True) as process:
        port = int(lifeline.wait_until_said(announcement, process, log))
        lifeline.report(port=port, capabilities=json.dumps(capabilities))
        lifeline.wait_for_the_end()


lifeline.run(serve)
