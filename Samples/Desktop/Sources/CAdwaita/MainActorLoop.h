// The bridge between GLib's main loop and Swift concurrency. To use it in your app, include this file in the C module that
// has GTK's headers, and `import Dispatch` in one of your Swift files, so that libdispatch is linked.
//
// On Linux, the work of Swift's main actor waits in the main queue of Dispatch, which GLib's main loop does not run. So
// `Task { @MainActor in … }` would never start while `g_application_run` runs. With this bridge, GLib waits for that queue
// as for any file descriptor, without polling.

#pragma once

#include <glib-unix.h>
#include <stdint.h>
#include <unistd.h>

// libdispatch exports these for main loops other than its own. Foundation's RunLoop uses them too.
int _dispatch_get_main_queue_handle_4CF(void);
void _dispatch_main_queue_callback_4CF(void *unused);

static gboolean main_actor_loop_run(gint descriptor, GIOCondition condition, gpointer data) {
    (void)condition;
    uint64_t wakeups;
    // Before the queue runs, since work that is added meanwhile must wake the loop again.
    if (read(descriptor, &wakeups, sizeof wakeups) > 0) _dispatch_main_queue_callback_4CF(data);
    return G_SOURCE_CONTINUE;
}

/// Lets GLib's main loop run the main actor. Call this once on the main thread, before `g_application_run`.
///
/// The program's entry point must not be `async`: Dispatch would then run the main queue itself, and wait for
/// `g_application_run` to return.
static inline void main_actor_loop_attach(void) {
    g_unix_fd_add(_dispatch_get_main_queue_handle_4CF(), G_IO_IN, main_actor_loop_run, NULL);
}
