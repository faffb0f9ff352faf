"""django-oauth-toolkit as an OpenID provider on a free loopback port, with one person and two clients.

Promises `iss` in its authorization responses (RFC 9207), unless --without-iss is given. Refusals come without it all the same.

Reports {"issuer", "redirect_ports", "user", "password", "clients": {"native": null, "web": secret}}.
"""

import socketserver
import sys
import threading
import wsgiref.simple_server

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

import lifeline

USER, PASSWORD = "alice", "correct-horse"
# RFC 6749 §2.3.1: a client id and secret are form-encoded before they become Basic credentials. Here that shows.
SECRET = "web secret: 100% ü+/"

LOGIN_PAGE = """<!doctype html><html lang="en"><title>Sign in</title>
<form method="post">{% csrf_token %}<input type="hidden" name="next" value="{{ next }}">
{{ form.as_p }}<button type="submit">Sign in</button></form></html>"""


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


def configure(state, server):
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    django_apps = ["auth", "contenttypes", "sessions", "messages"]
    settings.configure(
        SECRET_KEY="of a provider that lives for one test",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=__name__,
        LOGIN_URL="/login/",
        STATIC_URL="/static/",
        USE_TZ=True,
        INSTALLED_APPS=[f"django.contrib.{app}" for app in django_apps] + ["oauth2_provider"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        TEMPLATES=[{
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": False,
            "OPTIONS": {
                "loaders": [
                    ("django.template.loaders.locmem.Loader", {"registration/login.html": LOGIN_PAGE}),
                    "django.template.loaders.app_directories.Loader",
                ],
                "context_processors": ["django.template.context_processors.request"],
            },
        }],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{state}/database"}},
        # Tables without their migrations, and a cheap password hash: up in one second.
        MIGRATION_MODULES=dict.fromkeys(django_apps + ["oauth2_provider"]),
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_ISS_ENDPOINT": f"{server}/o",
            "OIDC_RSA_PRIVATE_KEY": key.decode(),
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
            "OAUTH2_VALIDATOR_CLASS": f"{__name__}.ClaimsOfTheUser",
            "ALLOWED_SCHEMES": ["http", "https"],
            "PKCE_REQUIRED": True,
            "ROTATE_REFRESH_TOKEN": True,
            "REFRESH_TOKEN_REUSE_PROTECTION": True,
            "DCR_ENABLED": True,
            "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
            "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": "--without-iss" not in sys.argv,
            "SCOPES": {"openid": "your id", "profile": "your name", "email": "your address", "offline_access": "later"},
        },
    )
    django.setup()


def define_the_site():
    """What can only be imported once Django is configured; Django finds it by its name in this module."""
    from django.contrib.auth.views import LoginView
    from django.urls import include, path
    from oauth2_provider.oauth2_validators import OAuth2Validator
    from oauth2_provider.urls import metadata_urlpatterns

    class ClaimsOfTheUser(OAuth2Validator):
        oidc_claim_scope = OAuth2Validator.oidc_claim_scope | {"preferred_username": "profile"}

        def get_additional_claims(self, request):
            user = request.user
            return {"name": user.get_full_name(), "preferred_username": user.username, "email": user.email}

    globals().update(
        ClaimsOfTheUser=ClaimsOfTheUser,
        urlpatterns=[
            path("login/", LoginView.as_view()),
            path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
            # RFC 8414 §3.1: the well-known location stands before the issuer's path.
            path("", include((metadata_urlpatterns, "metadata"))),
        ],
    )


def furnish(redirect_ports):
    """One person, a public and a confidential client."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db.models.signals import pre_save
    from oauth2_provider.models import Application

    def choose_algorithm(instance, **_):
        instance.algorithm = instance.algorithm or Application.RS256_ALGORITHM

    # A client that registers itself is saved without one, and could not have an ID token.
    pre_save.connect(choose_algorithm, sender=Application, weak=False)

    call_command("migrate", run_syncdb=True, verbosity=0)
    User.objects.create_user(USER, "alice@example.test", PASSWORD, first_name="Alice", last_name="Liddell")
    redirects = " ".join(f"http://127.0.0.1:{port}/callback" for port in redirect_ports)
    for client, secret in (("native", None), ("web", SECRET)):
        Application.objects.create(
            name=client, client_id=client, client_secret=secret or "",
            client_type=Application.CLIENT_CONFIDENTIAL if secret else Application.CLIENT_PUBLIC,
            authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE, algorithm=Application.RS256_ALGORITHM,
            redirect_uris=redirects, post_logout_redirect_uris=redirects,
        )


def serve(state):
    from django.core.wsgi import get_wsgi_application

    with Server(("127.0.0.1", 0), wsgiref.simple_server.WSGIRequestHandler) as server:
        base = f"http://127.0.0.1:{server.server_port}"
        configure(state, base)
        define_the_site()
        redirect_ports = [lifeline.free_port() for _ in range(2)]
        furnish(redirect_ports)
        server.set_app(get_wsgi_application())
        threading.Thread(target=server.serve_forever, daemon=True).start()
        lifeline.report(
            issuer=f"{base}/o", redirect_ports=redirect_ports, user=USER, password=PASSWORD,
            clients={"native": None, "web": SECRET},
        )
        lifeline.wait_for_the_end()
        server.shutdown()


lifeline.run(serve)
