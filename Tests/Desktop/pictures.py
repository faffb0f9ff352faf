"""A server for pictures, with HTTPS and plain HTTP, that keeps what it is asked. It is another server than the provider."""

import http.server
import queue
import ssl
import subprocess
import threading

from screen import png

PLUM = bytes([0x81, 0x3D, 0x9C])
SQUARE = png(64, 64, [PLUM * 64] * 64)


class PictureServer:
    """Responds to each request with what the test has set. `requests` are the heads of the requests so far."""

    def __init__(self, folder, stack):
        self.certificate = f"{folder}/certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/key.pem",
             "-out", self.certificate], check=True, stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, f"{folder}/key.pem")
        self.requests = queue.Queue()
        self.response = (200, {"Content-Type": "image/png"}, SQUARE)
        self.url = self.start("https", stack, lambda socket: context.wrap_socket(socket, server_side=True))
        self.plain_url = self.start("http", stack, lambda socket: socket)

    def start(self, scheme, stack, wrap):
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, fields, body = owner.response
                try:
                    self.send_response(status)
                    for name, value in fields.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass  # The app has had enough.
                owner.requests.put((self.path, dict(self.headers)))

            def log_message(self, *arguments):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.socket = wrap(server.socket)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        return f"{scheme}://127.0.0.1:{server.server_port}/picture"


def hostile_pictures(url):
    """Responses that must not be shown, by name."""
    head = {"Content-Type": "image/png"}
    side = 16384
    vector = b'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="64" height="64" fill="#813d9c"/></svg>'
    return {
        # Valid: a decoder ignores what follows the picture.
        "more than a megabyte": (200, head, SQUARE + bytes(2 << 20)),
        # A file of 33 KB. Its pixels need 800 MB.
        "a gigantic picture": (200, head, png(side, side, (bytes(side // 8) for _ in range(side)), PLUM)),
        "a vector graphic": (200, {"Content-Type": "image/svg+xml"}, vector),
        "half a picture": (200, head, SQUARE[:len(SQUARE) // 2]),
        "a redirect": (302, {"Location": url + "?again"}, b""),
        "an error": (403, head, SQUARE),
    }
