"""Glewlwyd, the OpenID provider of Debian, on a free loopback port, with one person and two clients.

Reports {"issuer", "redirect_ports", "user", "password", "clients": {"native": null, "web": secret}}.
"""

import http.cookiejar
import json
import os
import shutil
import sqlite3
import urllib.error
import urllib.request

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import lifeline

SCHEMA = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
PAGES = "/usr/share/glewlwyd/webapp"
MODULES = "/usr/lib/glewlwyd"
USER, PASSWORD = "alice", "correct-horse"
SECRET = "web-secret"
SCOPES = ["openid", "profile", "email", "offline_access"]

# Its end-session endpoint reads this member of a client; its schema, as shipped, only stores one called post_logout_redirect_uri.
LOGOUT_REDIRECTS = """
UPDATE g_client_module_instance SET gcmi_parameters = json_set(gcmi_parameters,
    '$."data-format".post_logout_redirect_uris', json('{"multiple": true, "read": true, "write": true}'));
"""

CONFIGURATION = """
port = {port}
bind_address = "127.0.0.1"
external_url = "http://127.0.0.1:{port}"
login_url = "login.html"
api_prefix = "api"
static_files_path = "{state}/pages/"
log_mode = "console"
log_level = "WARNING"
cookie_domain = "127.0.0.1"
cookie_secure = 0
session_expiration = 3600
session_key = "GLEWLWYD2_SESSION_ID"
admin_session_authentication = "cookie"
profile_session_authentication = "cookie"
login_api_enabled = true
admin_scope = "g_admin"
profile_scope = "g_profile"
user_module_path = "{modules}/user"
user_middleware_module_path = "{state}/no-middleware"
client_module_path = "{modules}/client"
user_auth_scheme_module_path = "{modules}/scheme"
plugin_module_path = "{modules}/plugin"
hash_algorithm = "SHA512"
database = {{ type = "sqlite3"; path = "{state}/database"; }};
static_files_mime_types = (
  {{ extension = ".html"; mime_type = "text/html"; compress = 0; }},
  {{ extension = ".css"; mime_type = "text/css"; compress = 0; }},
  {{ extension = ".js"; mime_type = "application/javascript"; compress = 0; }},
  {{ extension = ".json"; mime_type = "application/json"; compress = 0; }}
)
"""


def lay_out(state, port):
    """The state folder of a server that has never run."""
    for needed in (SCHEMA, PAGES):
        if not os.path.exists(needed):
            raise lifeline.Failure(f"{needed} is missing: install the packages glewlwyd and glewlwyd-common (Tests/run does)")
    os.mkdir(f"{state}/no-middleware")
    # Debian 12 ships config.json as a link to a folder that holds the file, and the login page cannot read that.
    shutil.copytree(PAGES, f"{state}/pages", ignore=shutil.ignore_patterns("config.json"))
    original = f"{PAGES}/config.json"
    shutil.copy(f"{original}/config.json" if os.path.isdir(original) else original, f"{state}/pages/config.json")
    database = sqlite3.connect(f"{state}/database")
    with open(SCHEMA) as schema:
        database.executescript(f"PRAGMA synchronous = OFF; BEGIN; {schema.read()} {LOGOUT_REDIRECTS} COMMIT;")
    database.close()
    with open(f"{state}/configuration", "w") as configuration:
        configuration.write(CONFIGURATION.format(port=port, state=state, modules=MODULES))


class Administrator:
    """The provider's admin API, signed in as the account that its schema creates."""

    def __init__(self, server):
        self.base = f"{server}/api"
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        self.send("POST", "/auth/", {"username": "admin", "password": "password"})

    def send(self, method, path, body):
        request = urllib.request.Request(
            self.base + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method
        )
        try:
            self.opener.open(request, timeout=10).close()
        except urllib.error.HTTPError as error:
            raise lifeline.Failure(f"glewlwyd refused {method} {path}: {error.code} {error.read()[:300]}") from error


def furnish(administrator, issuer, redirect_ports):
    """One person, a public and a confidential client, and the OpenID Connect plugin."""
    for scope in SCOPES:
        known = scope == "openid"
        administrator.send("PUT" if known else "POST", f"/scope/{scope}" if known else "/scope/", {
            "name": scope, "display_name": scope, "password_required": known, "password_max_age": 0, "scheme": {},
        })
    administrator.send("POST", "/user/", {
        "username": USER, "password": PASSWORD, "name": "Alice Liddell", "email": "alice@example.test",
        "enabled": True, "scope": SCOPES,
    })
    redirects = [f"http://127.0.0.1:{port}/callback" for port in redirect_ports]
    for client, secret in (("native", None), ("web", SECRET)):
        administrator.send("POST", "/client/", {
            "client_id": client, "name": client, "enabled": True, "scope": SCOPES,
            "confidential": secret is not None,
            "token_endpoint_auth_method": ["client_secret_basic" if secret else "none"],
            "authorization_type": [
                "code", "refresh_token", "delete_token", "device_authorization", "client_credentials",
            ],
            "redirect_uri": redirects, "post_logout_redirect_uris": redirects,
            **({"client_secret": secret, "password": secret} if secret else {}),
        })
    key = rsa.generate_private_key(65537, 2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    administrator.send("POST", "/mod/plugin/", {
        "module": "oidc", "name": "oidc", "display_name": "OpenID Connect", "enabled": True,
        "parameters": {
            "iss": issuer, "jwt-type": "rsa", "jwt-key-size": "256",
            "key": private.decode(), "cert": public.decode(), "jwks-show": True, "jwks-x5c": [], "default-kid": "",
            "access-token-duration": 3600, "refresh-token-duration": 86400, "code-duration": 60,
            "refresh-token-rolling": True, "refresh-token-one-use": "always",
            "allow-non-oidc": True, "allowed-scope": SCOPES,
            "scope": [{"name": scope, "refresh-token-rolling": True} for scope in SCOPES],
            "auth-type-code-enabled": True, "auth-type-code-revoke-replayed": True, "auth-type-refresh-enabled": True,
            "auth-type-token-enabled": False, "auth-type-id-token-enabled": False, "auth-type-none-enabled": False,
            "auth-type-password-enabled": False, "auth-type-client-enabled": True,
            "auth-type-device-enabled": True, "device-authorization-expiration": 600, "device-authorization-interval": 1,
            "pkce-allowed": True, "pkce-method-plain-allowed": False, "pkce-required": True,
            "introspection-revocation-allowed": True, "introspection-revocation-allow-target-client": True,
            "introspection-revocation-auth-scope": [],
            "subject-type": "public", "claims": [], "scope-claim": "no", "address-claim": {"type": "no"},
            "name-claim": "on-demand", "name-claim-scope": ["profile"],
            "email-claim": "on-demand", "email-claim-scope": ["email"],
            "session-management-allowed": True, "front-channel-logout-allowed": True,
            "back-channel-logout-allowed": True, "session-cookie-name": "GLEWLWYD2_OIDC_SID",
            "session-cookie-expiration": 3600,
            "request-parameter-allow": True, "request-uri-allow-https-non-secure": False, "request-maximum-exp": 3600,
            "oauth-as-iss-id": True,
            "client-pubkey-parameter": "pubkey", "client-jwks-parameter": "jwks", "client-jwks_uri-parameter": "jwks_uri",
            "oauth-par-allowed": True, "oauth-par-required": False, "oauth-par-duration": 90,
            "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:",
            "oauth-dpop-allowed": True, "oauth-dpop-iat-duration": 60,
            "oauth-dpop-nonce-mandatory": True, "oauth-dpop-nonce-counter": 1,
            "oauth-fapi-allow-jarm": True,
            "register-client-allowed": True, "register-client-auth-scope": [], "register-client-credentials-scope": [],
            "register-client-token-one-use": True, "register-client-management-allowed": True,
            "register-resource-specify-allowed": False, "register-resource-default": [],
        },
    })


def serve(state):
    program = lifeline.need("glewlwyd", "glewlwyd")
    port = lifeline.free_port()
    server, log = f"http://127.0.0.1:{port}", f"{state}/log"
    issuer = f"{server}/api/oidc"
    lay_out(state, port)
    with lifeline.child([program, f"--config-file={state}/configuration"], log) as process:
        lifeline.wait_until_served(f"{server}/config", process, log)
        redirect_ports = [lifeline.free_port() for _ in range(2)]
        furnish(Administrator(server), issuer, redirect_ports)
        lifeline.wait_until_served(f"{issuer}/.well-known/openid-configuration", process, log)
        lifeline.report(
            issuer=issuer, redirect_ports=redirect_ports, user=USER, password=PASSWORD,
            clients={"native": None, "web": SECRET},
        )
        lifeline.wait_for_the_end()


lifeline.run(serve)
