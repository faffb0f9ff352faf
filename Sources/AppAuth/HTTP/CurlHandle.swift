internal import CShims

/// An easy handle, with the data that must live as long as its transfer: the error buffer and the list of header lines.
///
/// Only one thread may use it at a time. Each transfer has its own: in older versions of libcurl, a handle keeps a pointer to
/// the last header of its former transfer, even after `curl_easy_reset`. A server whose response begins with a folded field
/// would then write into freed memory. Connections are kept by the `curl_multi`.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    private let library: CurlLibrary
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private var headerLines: UnsafeMutableRawPointer?
    /// The first option that libcurl rejected. If there is one, the transfer must not start.
    private(set) var refused: (option: shims_curl_option, code: shims_curl_code)?

    init?(_ library: CurlLibrary) {
        guard let easy = shims_curl_easy_new(library.curl) else { return nil }
        (self.easy, self.library) = (easy, library)
        errorBuffer = .allocate(capacity: Int(SHIMS_CURL_ERROR_SIZE.rawValue))
        errorBuffer.initialize(repeating: 0, count: Int(SHIMS_CURL_ERROR_SIZE.rawValue))
        set(SHIMS_CURLOPT_ERRORBUFFER, errorBuffer)
    }

    deinit {
        shims_curl_easy_free(library.curl, easy)
        shims_curl_list_free(library.curl, headerLines)
        errorBuffer.deallocate()
    }

    func set(_ option: shims_curl_option, _ value: Int) {
        note(option, shims_curl_set_long(library.curl, easy, option, value))
    }

    func set(_ option: shims_curl_option, _ value: Bool) { set(option, value ? 1 : 0) }

    func set(_ option: shims_curl_option, offset value: Int) {
        note(option, shims_curl_set_offset(library.curl, easy, option, Int64(value)))
    }

    func set(_ option: shims_curl_option, _ value: String?) {
        note(option, shims_curl_set_string(library.curl, easy, option, value))
    }

    func set(_ option: shims_curl_option, _ value: UnsafeRawPointer) {
        note(option, shims_curl_set_pointer(library.curl, easy, option, value))
    }

    func set(_ option: shims_curl_option, _ value: @escaping shims_curl_data_callback) {
        note(option, shims_curl_set_data_callback(library.curl, easy, option, value))
    }

    /// Ends a connection whose peer acknowledges nothing for this long (`TCP_USER_TIMEOUT`).
    func limitSilence(_ limit: Duration) {
        shims_curl_limit_silence(library.curl, easy, UInt32(limit.wholeMilliseconds))
    }

    /// Sets the callback that runs each time the handle is connected and about to send its request.
    func setBeforeRequest(_ value: @escaping shims_curl_prereq_callback) {
        note(SHIMS_CURLOPT_PREREQFUNCTION, shims_curl_set_prereq_callback(library.curl, easy, value))
    }

    /// Sets the callback that runs for each socket that is made for the connection.
    func setOnSocket(_ context: UnsafeRawPointer, _ value: @escaping shims_curl_socket_callback) {
        shims_curl_set_socket_callback(library.curl, easy, value, context)
    }

    /// Sets an option that only newer versions support. Returns whether this version supports it.
    func setIfKnown(_ option: shims_curl_option, _ value: Int) -> Bool {
        shims_curl_set_long(library.curl, easy, option, value) == SHIMS_CURLE_OK
    }

    /// Sets an option that only newer versions support. Returns whether this version supports it.
    func setIfKnown(_ option: shims_curl_option, _ value: String) -> Bool {
        shims_curl_set_string(library.curl, easy, option, value) == SHIMS_CURLE_OK
    }

    /// Sets the body, which libcurl copies.
    func setBody(_ bytes: [UInt8]) {
        set(SHIMS_CURLOPT_POSTFIELDSIZE_LARGE, offset: bytes.count)
        // Without a value, libcurl would read the body from a callback.
        guard !bytes.isEmpty else { return set(SHIMS_CURLOPT_COPYPOSTFIELDS, "") }
        note(
            SHIMS_CURLOPT_COPYPOSTFIELDS,
            shims_curl_set_pointer(library.curl, easy, SHIMS_CURLOPT_COPYPOSTFIELDS, bytes))
    }

    /// Sets certificates in PEM, which libcurl copies.
    func setBlob(_ option: shims_curl_option, _ bytes: [UInt8]) {
        note(option, shims_curl_set_blob(library.curl, easy, option, bytes, bytes.count))
    }

    /// Sets the certificate for servers that request one. Its key is in a device.
    func setCertificate(_ certificate: DeviceCertificate) {
        note(
            SHIMS_CURLOPT_SSL_CTX_FUNCTION,
            shims_curl_set_client_certificate(library.curl, easy, certificate.pointer))
    }

    /// Sets the `Name: value` lines of the request header.
    func setHeader(_ lines: [String]) {
        for line in lines { headerLines = shims_curl_list_append(library.curl, headerLines, line) ?? headerLines }
        if let headerLines { set(SHIMS_CURLOPT_HTTPHEADER, headerLines) }
    }

    /// The `errno` of the last connection that failed, or 0.
    var systemError: CInt { shims_curl_system_error(library.curl, easy) }

    /// The status of the proxy's last response to CONNECT, or 0.
    var connectStatus: CInt { shims_curl_connect_status(library.curl, easy) }

    /// Whether the transfer has a connection that an earlier one has used.
    var hasKeptConnection: Bool { shims_curl_is_kept(library.curl, easy) != 0 }

    /// libcurl's message for the failure of the last transfer.
    var detail: String { String(cString: errorBuffer) }

    private func note(_ option: shims_curl_option, _ code: shims_curl_code) {
        if code != SHIMS_CURLE_OK, refused == nil { refused = (option, code) }
    }
}
