"""What the clients of a cell have sent and been given, counted between them and the provider, and the faults of the network."""
import collections, http.client, http.server, json, random, ssl, threading, time, urllib.parse

latency = 0.025  # each way, of a refresh


class Ledger:
    """Knows each token that the provider has issued: its session, and until when it is valid."""

    def __init__(self):
        self.lock = threading.Lock()
        self.access, self.refresh = {}, {}
        self.presented = set()
        self.by_session = collections.Counter()
        self.twice = self.lost = 0

    def sent(self, form):
        """A refresh is passed on to the provider. Returns its session, or None for other requests."""
        if form.get("grant_type") != "refresh_token":
            return None
        token = form.get("refresh_token", "")
        with self.lock:
            session = self.refresh.get(token, "")
            self.by_session[session] += 1
            self.twice += token in self.presented
            self.presented.add(token)
            return session

    def issued(self, form, body):
        """The provider has responded with tokens. The user's name is the session's."""
        response = json.loads(body)
        with self.lock:
            session = form.get("username") or self.refresh.get(form.get("refresh_token"))
            self.access[response["access_token"]] = (session, time.monotonic() + response["expires_in"])
            if "refresh_token" in response:
                self.refresh[response["refresh_token"]] = session

    def fits(self, token, session, moment):
        """Whether the token is of the session, and was valid at the moment at which a program asked for it."""
        owner, end = self.access.get(token, (None, 0))
        return owner == session and moment < end


class Proxy:
    """Between the clients and the provider, at the provider's own address: that one listens in another network namespace."""

    def __init__(self, port, ledger, enter, certificate=None):
        """`enter` moves a thread to the provider's network."""
        self.port, self.ledger, self.enter, self.certificate = port, ledger, enter, certificate
        self.origin = f"{'https' if certificate else 'http'}://127.0.0.1:{port}"
        self.loses = lambda session: False
        self.responded = self.delivered = lambda session: None  # hooks, with a session whose refresh has been answered
        self.start()

    def start(self):
        proxy = self

        class Handler(PassingHandler):
            owner = proxy

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size, allow_reuse_address = True, 256, True

            def handle_error(self, request, address):
                pass  # a client that was killed

        self.server = Server(("127.0.0.1", self.port), Handler)
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        """From now on, connections are refused."""
        self.server.shutdown()
        self.server.server_close()


class PassingHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        self.pass_on(b"")

    def do_POST(self):
        self.pass_on(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def pass_on(self, body):
        self.close_connection = True
        if self.path.startswith("/api/"):
            return self.serve_api(self.path.removeprefix("/api/"))
        if self.path.startswith("/.well-known/oauth-protected-resource"):
            resource = self.owner.origin + self.path.removeprefix("/.well-known/oauth-protected-resource")
            return self.reply(200, {"resource": resource, "authorization_servers": [self.owner.origin]})
        form = dict(urllib.parse.parse_qsl(body.decode())) if self.path.endswith("/token") else {}
        refresh = self.owner.ledger.sent(form)
        if refresh is not None:
            time.sleep(latency)
        status, headers, content = self.ask_provider(body)
        if form and status == 200:
            self.owner.ledger.issued(form, content)
        if refresh is not None:
            if self.owner.loses(refresh):
                self.owner.ledger.lost += 1
                return
            self.owner.responded(refresh)
            time.sleep(latency)
        self.write(status, headers, content)
        if refresh is not None:
            self.owner.delivered(refresh)

    def ask_provider(self, body):
        self.owner.enter()
        if self.owner.certificate:
            context = ssl.create_default_context(cafile=self.owner.certificate[0])
            provider = http.client.HTTPSConnection("127.0.0.1", self.owner.port, context=context)
        else:
            provider = http.client.HTTPConnection("127.0.0.1", self.owner.port)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("connection", "accept-encoding")}
        provider.request(self.command, self.path, body or None, headers)
        response = provider.getresponse()
        content = response.read()
        provider.close()
        return response.status, response.getheaders(), content

    def serve_api(self, session):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.owner.ledger.fits(token, session, time.monotonic()):
            return self.reply(200, {"session": session})
        metadata = f"{self.owner.origin}/.well-known/oauth-protected-resource{self.path}"
        self.reply(401, {"error": "invalid_token"},
                   {"WWW-Authenticate": f'Bearer error="invalid_token", resource_metadata="{metadata}"'})

    def reply(self, status, value, headers={}):
        self.write(status, {"Content-Type": "application/json", **headers}.items(), json.dumps(value).encode())

    def write(self, status, headers, content):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


def dice(*key):
    """The same numbers for the same place in a row, whichever the client."""
    return random.Random("/".join(map(str, key)))
