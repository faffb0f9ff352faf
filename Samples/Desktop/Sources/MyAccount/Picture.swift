import AppAuth
import CAdwaita

/// Fetches a user's picture, or returns nil if there is none to show.
///
/// The claim with the URL may come from anyone, so the request must do no harm. It has no token. Plain HTTP is only for
/// the provider's own server: other programs on this machine get no request. The response has the default limits, a
/// megabyte and half a minute, and redirects are not followed.
func picture(at url: String, of issuer: Issuer, by transport: any HTTPTransport) async throws -> [UInt8]? {
    guard let url = try? SecureURL(url), url.scheme == "https" || url.origin == issuer.url.origin else { return nil }
    let head = HTTPRequest(method: .get, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
    let response = try await transport.send(TransportRequest(head))
    return response.status == .ok ? response.body : nil
}

/// Decodes a PNG or a JPEG, or returns nil. A small file can contain a picture of gigabytes, so the loader stops before
/// it allocates the pixels of a picture that is too large for an avatar.
func texture(of file: [UInt8]) -> OpaquePointer? {
    let isPNG = file.starts(with: [0x89, UInt8(ascii: "P")])
    guard let loader = gdk_pixbuf_loader_new_with_type(isPNG ? "png" : "jpeg", nil) else { return nil }
    defer { g_object_unref(loader) }
    let limit: @convention(c) (UnsafeMutablePointer<GdkPixbufLoader>?, CInt, CInt, gpointer?) -> Void = {
        loader, width, height, _ in
        // The loaders fail if the size is zero.
        if max(width, height) > 2048 { gdk_pixbuf_loader_set_size(loader, 0, 0) }
    }
    g_signal_connect_data(
        loader, "size-prepared", unsafeBitCast(limit, to: GCallback.self), nil, nil, GConnectFlags(rawValue: 0))
    let isRead = gdk_pixbuf_loader_write(loader, file, gsize(file.count), nil) != 0
    guard gdk_pixbuf_loader_close(loader, nil) != 0, isRead, let pixels = gdk_pixbuf_loader_get_pixbuf(loader) else {
        return nil
    }
    return gdk_texture_new_for_pixbuf(pixels)
}
