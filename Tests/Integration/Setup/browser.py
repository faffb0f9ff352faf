"""Headless Chromium, driven through chromedriver, with a person in front of it who signs in at whatever page comes.

usage: browser.py PROVIDER USER PASSWORD [--refuse]

Reports {"browser": PATH} first: PATH is a program for $BROWSER, which hands its URL to the one browser that runs here, so that a
second URL finds the cookies of the first. When it gets the word "report" instead of a URL, it reports what the person did with the
URL before, once the pages have led away from the provider: {"pressed": [labels of the buttons], "title": "…", "text": "…"} of the
page where they ended, or {"error": "…"}.
"""

import os
import re
import sys
import threading
import time
import urllib.parse

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By

import lifeline

PAGES_SECONDS = 30
AGREE = re.compile(r"sign in|log ?in|authorize|allow|continue|grant|accept|yes|^ok$", re.IGNORECASE)
REFUSE = re.compile(r"cancel|deny|refuse|reject", re.IGNORECASE)
LEAVE = re.compile(r"log ?out|sign out", re.IGNORECASE)

# Opened for reading too, so that it never waits for a browser that is gone.
OPENER = """#!/bin/sh
printf '%s\\n' "$1" 1<>'{urls}'
"""


def origin(url):
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc


class Person:
    """Reads the page, fills in what it asks for and presses one button; then reads the page again."""

    def __init__(self, driver, provider, user, password, refuses):
        self.driver = driver
        self.provider = origin(provider)
        self.user, self.password = user, password
        self.choice = REFUSE if refuses else AGREE

    def visit(self, url):
        self.driver.get(url)
        pressed, last, deadline = [], None, time.monotonic() + PAGES_SECONDS
        while True:
            try:
                page = self.look()
                if page == last:  # at rest: a page that is being drawn loses what is typed into it
                    url, title, text, _ = page
                    if origin(url) != self.provider:
                        return {"pressed": pressed, "title": title, "text": text}
                    label = self.act(pressed)
                    if label and label not in pressed:
                        pressed.append(label)
                last = page
            except WebDriverException:
                last = None  # the page changed under our hands
            if time.monotonic() > deadline:
                raise lifeline.Failure(f"pressed {pressed}, and then stayed at {last}")
            time.sleep(0.1)

    def look(self):
        fields = self.driver.find_elements(By.CSS_SELECTOR, "input, button")
        text = self.driver.find_element(By.TAG_NAME, "body").text
        return self.driver.current_url, self.driver.title, text[:500], len(fields)

    def act(self, pressed):
        """Fills in the page and presses the button that it is about; its label, or None while there is none."""
        passwords = self.shown("input[type=password]")
        for field in self.shown("input[type=text], input:not([type])") if passwords else []:
            self.type(field, self.user)
        for field in passwords:
            self.type(field, self.password)
        for box in self.shown("input[type=checkbox]"):
            if not box.is_selected():
                box.click()
        buttons = [(button, button.text.strip() or button.get_attribute("value") or "")
                   for button in self.shown("button, input[type=submit]")]
        # A page that asks for consent may offer to sign out as well.
        for wanted in (AGREE if passwords else self.choice, LEAVE):
            matching = [(button, label) for button, label in buttons if wanted.search(label)]
            for button, label in matching:
                if passwords or label not in pressed:
                    button.click()
                    self.wait_until_gone(button)
                    return label
            if matching:
                return None
        return None

    def type(self, field, text):
        field.clear()
        field.send_keys(text)

    def shown(self, selector):
        return [e for e in self.driver.find_elements(By.CSS_SELECTOR, selector) if e.is_displayed() and e.is_enabled()]

    def wait_until_gone(self, button):
        """A second press of the same button would be a second answer."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                if not button.is_displayed():
                    return
            except WebDriverException:
                return
            time.sleep(0.05)


def start_chromium(state):
    options = webdriver.ChromeOptions()
    options.binary_location = lifeline.need("chromium", "chromium")
    # A pipe instead of a port: Chromium ends when chromedriver does, and nobody else can reach it.
    arguments = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 f"--user-data-dir={state}/profile"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # its sandbox does not work for root
    for argument in arguments:
        options.add_argument(argument)
    service = webdriver.ChromeService(
        lifeline.need("chromedriver", "chromium-driver"), popen_kw={"preexec_fn": lifeline.end_with_parent},
        log_output=f"{state}/log",
    )
    driver = webdriver.Chrome(options, service)
    driver.set_page_load_timeout(PAGES_SECONDS)
    return driver


def serve(state):
    provider, user, password, *options = sys.argv[1:]
    urls, opener = f"{state}/urls", f"{state}/browser"
    os.mkfifo(urls)
    with open(opener, "w") as program:
        program.write(OPENER.format(urls=urls))
    os.chmod(opener, 0o700)
    driver = start_chromium(state)
    person = Person(driver, provider, user, password, "--refuse" in options)

    def visit_all():
        nothing = {"error": "nothing was opened in the browser"}
        done = nothing
        # Open for writing too, so that the file does not end when an opener has gone.
        with os.fdopen(os.open(urls, os.O_RDWR)) as requests:
            for request in requests:
                if request == "report\n":
                    lifeline.report(**done)
                    done = nothing
                    continue
                try:
                    done = person.visit(request.strip())
                except Exception as failure:  # whatever it is, the test that asks is told
                    done = {"error": str(failure)}

    try:
        threading.Thread(target=visit_all, daemon=True).start()
        lifeline.report(browser=opener)
        lifeline.wait_for_the_end()
    finally:
        driver.quit()


lifeline.run(serve)
