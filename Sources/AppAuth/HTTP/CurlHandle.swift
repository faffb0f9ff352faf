internal import AppAuthCore
internal import CLibcurl
internal import CShims

/// An easy handle with what has to live as long as its transfer: the error buffer and the list of header lines.
///
/// Used by one thread at a time. Handles are used again, since a handle remembers TLS sessions.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    private let library: CurlLibrary
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private var headerLines: UnsafeMutablePointer<curl_slist>?
    /// The first option that libcurl did not take: the transfer must not begin then.
    private(set) var refused: (option: CURLoption, code: CURLcode)?

    init?(_ library: CurlLibrary) {
        guard let easy = library.curl.pointee.easy_init() else { return nil }
        (self.easy, self.library) = (easy, library)
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        library.curl.pointee.easy_cleanup(easy)
        library.curl.pointee.slist_free_all(headerLines)
        errorBuffer.deallocate()
    }

    /// Forgets all options and callbacks; connections, TLS sessions and resolved names stay.
    func reset() {
        library.curl.pointee.easy_reset(easy)
        library.curl.pointee.slist_free_all(headerLines)
        headerLines = nil
        refused = nil
        errorBuffer[0] = 0
        set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(errorBuffer))
    }

    func set(_ option: CURLoption, _ value: Int) {
        note(option, shims_curl_set_long(library.curl, easy, option, value))
    }

    func set(_ option: CURLoption, _ value: Bool) { set(option, value ? 1 : 0) }

    func set(_ option: CURLoption, offset value: Int) {
        note(option, shims_curl_set_offset(library.curl, easy, option, curl_off_t(value)))
    }

    func set(_ option: CURLoption, _ value: String?) {
        note(option, shims_curl_set_string(library.curl, easy, option, value))
    }

    func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer) {
        note(option, shims_curl_set_pointer(library.curl, easy, option, value))
    }

    func set(_ option: CURLoption, _ value: @escaping shims_curl_data_callback) {
        note(option, shims_curl_set_data_callback(library.curl, easy, option, value))
    }

    /// Is called each time that the handle is connected and about to send its request.
    func setBeforeRequest(_ value: @escaping shims_curl_prereq_callback) {
        note(CURLOPT_PREREQFUNCTION, shims_curl_set_prereq_callback(library.curl, easy, value))
    }

    /// Sets an option that newer versions alone have. Whether this one has it.
    func setIfKnown(_ option: CURLoption, _ value: Int) -> Bool {
        shims_curl_set_long(library.curl, easy, option, value) == CURLE_OK
    }

    /// Sets an option that newer versions alone have. Whether this one has it.
    func setIfKnown(_ option: CURLoption, _ value: String) -> Bool {
        shims_curl_set_string(library.curl, easy, option, value) == CURLE_OK
    }

    /// Takes a copy of the bytes.
    func setBytes(_ option: CURLoption, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            // libcurl keeps the pointer of an empty body: one that stays.
            let base = buffer.isEmpty ? nil : UnsafeMutableRawPointer(mutating: buffer.baseAddress)
            if let base { set(option, base) } else { set(option, "") }
        }
    }

    /// Takes a copy of certificates in PEM.
    func setBlob(_ option: CURLoption, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            var blob = curl_blob(
                data: UnsafeMutableRawPointer(mutating: buffer.baseAddress), len: buffer.count,
                flags: UInt32(CURL_BLOB_COPY))
            set(option, &blob)
        }
    }

    /// Sets the lines `Name: value` of the request's header.
    func setHeader(_ lines: [String]) {
        for line in lines { headerLines = library.curl.pointee.slist_append(headerLines, line) ?? headerLines }
        if let headerLines { set(CURLOPT_HTTPHEADER, UnsafeMutableRawPointer(headerLines)) }
    }

    func number(_ info: CURLINFO) -> Int {
        var value = 0
        return shims_curl_get_long(library.curl, easy, info, &value) == CURLE_OK ? value : 0
    }

    /// libcurl's words for the failure of the last transfer.
    var detail: String { String(cString: errorBuffer) }

    private func note(_ option: CURLoption, _ code: CURLcode) {
        if code != CURLE_OK, refused == nil { refused = (option, code) }
    }
}
