import CAdwaita

/// The objects of `window.ui` by their IDs. Their properties are set by name, as in that file, so that no casts between the
/// C types of widgets are needed.
@MainActor struct Widgets {
    private let builder: OpaquePointer

    init(_ description: [UInt8]) {
        builder = description.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { gtk_builder_new_from_string($0.baseAddress, $0.count) }
        }
    }

    /// The object with an ID, which must be in `window.ui`.
    subscript(id: String) -> UnsafeMutablePointer<GObject> {
        guard let object = gtk_builder_get_object(builder, id) else {
            preconditionFailure("window.ui has no object '\(id)'")
        }
        return object
    }

    func set(_ id: String, _ property: String, _ text: String) {
        set(id, property, type: 16 << 2) { g_value_set_string(&$0, text) }  // G_TYPE_STRING
    }

    func set(_ id: String, _ property: String, _ flag: Bool) {
        set(id, property, type: 5 << 2) { g_value_set_boolean(&$0, flag ? 1 : 0) }  // G_TYPE_BOOLEAN
    }

    private func set(_ id: String, _ property: String, type: GType, _ fill: (inout GValue) -> Void) {
        var value = GValue()
        g_value_init(&value, type)
        defer { g_value_unset(&value) }
        fill(&value)
        g_object_set_property(self[id], property, &value)
    }
}

/// Calls a function each time an object emits a signal, without the signal's arguments.
@MainActor func connect(_ object: UnsafeMutableRawPointer, _ signal: String, to run: @escaping @MainActor () -> Void) {
    // Swapped: the data is the first argument, however many the signal has.
    let handler: @convention(c) (gpointer?) -> Void = { data in
        guard let data else { return }
        let handler = Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue()
        MainActor.assumeIsolated { handler.run() }
    }
    let release: GClosureNotify = { data, _ in
        if let data { Unmanaged<Handler>.fromOpaque(data).release() }
    }
    g_signal_connect_data(
        object, signal, unsafeBitCast(handler, to: GCallback.self), Unmanaged.passRetained(Handler(run)).toOpaque(),
        release, G_CONNECT_SWAPPED)
}

/// Calls a function once, after some seconds.
///
/// - Returns: What `g_source_remove` takes to cancel it.
@MainActor func after(seconds: CUnsignedInt, run: @escaping @MainActor () -> Void) -> CUnsignedInt {
    let handler: GSourceFunc = { data in
        guard let data else { return 0 }
        let handler = Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue()
        MainActor.assumeIsolated { handler.run() }
        return 0  // G_SOURCE_REMOVE
    }
    return g_timeout_add_seconds_full(0, seconds, handler, Unmanaged.passRetained(Handler(run)).toOpaque()) { data in
        if let data { Unmanaged<Handler>.fromOpaque(data).release() }
    }
}

private final class Handler: Sendable {
    let run: @MainActor @Sendable () -> Void
    init(_ run: @escaping @MainActor @Sendable () -> Void) { self.run = run }
}

/// Returns a text in the user's language, from `po`.
func translated(_ text: String) -> String { text.withCString { String(cString: gettext($0)) } }

/// Returns a text for a property that takes Pango markup, in which `&` and `<` have a meaning.
func escaped(_ text: String) -> String {
    guard let markup = g_markup_escape_text(text, -1) else { return "" }
    defer { g_free(markup) }
    return String(cString: markup)
}
