"""What shows notifications on a desktop, on a bus of its own: the desktop's server, or the portal of a sandbox.

usage: notifications.py server|portal

Reports {"bus": ADDRESS} first, then each notification: {"title": …, "body": …, "buttons": {ID: LABEL}}, and {"closed": true} for each
that its program withdraws. A line on standard input presses the button with that ID, of the last notification.
"""

import sys
import threading

from gi.repository import Gio, GLib

import lifeline

SERVER = """<node><interface name="org.freedesktop.Notifications">
<method name="GetServerInformation"><arg type="s" direction="out"/><arg type="s" direction="out"/><arg type="s" direction="out"/>
<arg type="s" direction="out"/></method>
<method name="GetCapabilities"><arg type="as" direction="out"/></method>
<method name="Notify"><arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
<arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/><arg type="a{sv}" direction="in"/>
<arg type="i" direction="in"/><arg type="u" direction="out"/></method>
<method name="CloseNotification"><arg type="u" direction="in"/></method>
<signal name="ActionInvoked"><arg type="u"/><arg type="s"/></signal>
<signal name="NotificationClosed"><arg type="u"/><arg type="u"/></signal>
</interface></node>"""

PORTAL = """<node><interface name="org.freedesktop.portal.Notification">
<property name="version" type="u" access="read"/>
<method name="AddNotification"><arg type="s" direction="in"/><arg type="a{sv}" direction="in"/></method>
<method name="RemoveNotification"><arg type="s" direction="in"/></method>
<signal name="ActionInvoked"><arg type="s"/><arg type="s"/><arg type="av"/></signal>
</interface></node>"""


class Desktop:
    """The server of the desktop."""

    interface, name, path = SERVER, "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
    shown = 0

    def call(self, method, arguments):
        match method:
            case "GetServerInformation":
                return GLib.Variant("(ssss)", ("test", "test", "1", "1.2"))
            case "GetCapabilities":
                return GLib.Variant("(as)", (["actions", "body", "body-markup"],))
            case "Notify":
                self.shown += 1
                title, body, actions = arguments[3:6]
                lifeline.report(title=title, body=body, buttons=dict(zip(actions[::2], actions[1::2])))
                return GLib.Variant("(u)", (self.shown,))
            case "CloseNotification":
                lifeline.report(closed=True)
                self.emit("NotificationClosed", GLib.Variant("(uu)", (arguments[0], 3)))

    def press(self, button):
        self.emit("ActionInvoked", GLib.Variant("(us)", (self.shown, button)))
        self.emit("NotificationClosed", GLib.Variant("(uu)", (self.shown, 2)))


class Portal:
    """The portal, which has no idea of HTML (version 1)."""

    interface, name, path = PORTAL, "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
    shown = None

    def call(self, method, arguments):
        if method == "RemoveNotification":
            lifeline.report(closed=True)
            return
        self.shown, notification = arguments
        buttons = {button["action"]: button["label"] for button in notification.get("buttons", [])}
        lifeline.report(title=notification["title"], body=notification["body"], buttons=buttons)

    def press(self, button):
        self.emit("ActionInvoked", GLib.Variant("(ssav)", (self.shown, button, [])))


def serve(state):
    address = f"unix:path={state}/bus"
    command = ["dbus-daemon", "--session", "--nofork", "--print-address", "--address", address]
    with lifeline.child(command, f"{state}/bus.log") as daemon:
        address = lifeline.wait_until_said(r"(unix:\S+)", daemon, f"{state}/bus.log")
        show(address, Portal() if sys.argv[1] == "portal" else Desktop())


def show(address, screen):
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
    interface = Gio.DBusNodeInfo.new_for_xml(screen.interface).interfaces[0]
    screen.emit = lambda name, values: bus.emit_signal(None, screen.path, interface.name, name, values)
    bus.register_object(
        screen.path, interface,
        lambda *call: call[6].return_value(screen.call(call[4], call[5].unpack())),
        lambda *_: GLib.Variant("u", 1), None)
    loop = GLib.MainLoop()
    Gio.bus_own_name_on_connection(
        bus, screen.name, Gio.BusNameOwnerFlags.NONE, lambda *_: lifeline.report(bus=address), lambda *_: loop.quit())

    def read():
        for line in sys.stdin:
            GLib.idle_add(screen.press, line.strip())
        GLib.idle_add(loop.quit)

    threading.Thread(target=read, daemon=True).start()
    loop.run()


if __name__ == "__main__":
    lifeline.run(serve)
