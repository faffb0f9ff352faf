"""Protected resources (RFC 9728): the server of the package mcp, and that of fastmcp in two configurations.

    resource_server.py sdk            the server of `mcp`, with an authorization server of its own that binds tokens to `resource`
    resource_server.py fastmcp        the server of `fastmcp`, with the authorization server that it brings
    resource_server.py remote ISSUER  the server of `fastmcp`, with another authorization server, whose introspection it asks

The authorization servers have no pages: each agrees at once. Reports {"resource"}.
"""

import logging
import secrets
import socket
import sys
import threading
import time

import uvicorn

import lifeline

HOST = "127.0.0.1"
SCOPES = ["notes:read", "notes:write"]
REQUIRED = ["notes:read"]


def sdk(base):
    from mcp.server import MCPServer
    from mcp.server.auth import provider as oauth
    from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
    from mcp.shared.auth import OAuthToken

    class Tokens:
        """Remembers everything in memory, and the resource of each token."""

        def __init__(self):
            self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}

        async def get_client(self, client_id):
            return self.clients.get(client_id)

        async def register_client(self, client_info):
            self.clients[client_info.client_id] = client_info

        async def authorize(self, client, params):
            code = secrets.token_hex(16)
            self.codes[code] = oauth.AuthorizationCode(
                code=code, scopes=params.scopes or [], expires_at=time.time() + 60, client_id=client.client_id,
                code_challenge=params.code_challenge, redirect_uri=params.redirect_uri, resource=params.resource,
                redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            )
            return oauth.construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

        async def load_authorization_code(self, client, authorization_code):
            return self.codes.get(authorization_code)

        async def exchange_authorization_code(self, client, authorization_code):
            del self.codes[authorization_code.code]
            return self.issue(client, authorization_code.scopes, authorization_code.resource)

        async def load_refresh_token(self, client, refresh_token):
            return self.refresh.get(refresh_token, (None, None))[0]

        async def exchange_refresh_token(self, client, refresh_token, scopes):
            _, resource = self.refresh.pop(refresh_token.token)
            return self.issue(client, scopes, resource)

        async def load_access_token(self, token):
            return self.access.get(token)

        async def revoke_token(self, token):
            self.access.pop(token.token, None)
            self.refresh.pop(token.token, None)

        def issue(self, client, scopes, resource):
            access, refresh = secrets.token_hex(16), secrets.token_hex(16)
            who = {"client_id": client.client_id, "scopes": scopes}
            self.access[access] = oauth.AccessToken(
                token=access, expires_at=int(time.time()) + 3600, resource=resource, **who)
            self.refresh[refresh] = (oauth.RefreshToken(token=refresh, **who), resource)
            return OAuthToken(
                access_token=access, expires_in=3600, scope=" ".join(scopes), refresh_token=refresh)

    server = MCPServer(
        "Notes",
        auth_server_provider=Tokens(),
        auth=AuthSettings(
            issuer_url=base, resource_server_url=f"{base}/mcp", required_scopes=REQUIRED, validate_token_resource=True,
            client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES),
            revocation_options=RevocationOptions(enabled=True),
        ),
    )

    @server.tool()
    def read_notes() -> str:
        return "nothing yet"

    return server.streamable_http_app()


def fastmcp(base):
    from fastmcp import FastMCP
    from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
    from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider

    return FastMCP(
        "Notes",
        auth=InMemoryOAuthProvider(
            base_url=base, required_scopes=REQUIRED, revocation_options=RevocationOptions(enabled=True),
            client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES),
        ),
    ).http_app()


def remote(base, issuer):
    from fastmcp import FastMCP
    from fastmcp.server.auth import RemoteAuthProvider
    from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier

    verifier = IntrospectionTokenVerifier(
        introspection_url=f"{issuer}/introspect", client_id="notes", client_secret="of-the-notes", required_scopes=["api"],
    )
    return FastMCP(
        "Notes", auth=RemoteAuthProvider(token_verifier=verifier, authorization_servers=[issuer], base_url=base),
    ).http_app()


def serve(_):
    with socket.create_server((HOST, int(sys.argv[3]) if len(sys.argv) > 3 else 0)) as listener:
        base = f"http://{HOST}:{listener.getsockname()[1]}"
        build = {"sdk": sdk, "fastmcp": fastmcp, "remote": remote}[sys.argv[1]]
        app = build(base, *sys.argv[2:3])
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started:
            if not thread.is_alive():
                raise lifeline.Failure("uvicorn ended: see its messages above")
            time.sleep(0.02)
        lifeline.report(resource=f"{base}/mcp")
        lifeline.wait_for_the_end()
        server.should_exit = True
        thread.join(lifeline.END_SECONDS)


logging.disable(logging.WARNING)
lifeline.run(serve)
