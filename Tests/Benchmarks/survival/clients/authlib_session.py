"""Authlib: OAuth2Session with token_endpoint and update_token, as its documentation says under "Auto update token"."""
import importlib.metadata, json, time

title, margin = "Authlib", 60  # the session's leeway


def missing():
    try:
        from authlib.integrations.requests_client import OAuth2Session  # noqa: F401, so that forked processes have it
    except ImportError as error:
        return str(error)


def version():
    return importlib.metadata.version("authlib")


def path(session):
    return f"{session['folder']}/token.json"


def create(session):
    tokens = session["tokens"]()
    with open(path(session), "w") as file:
        json.dump(dict(tokens, expires_at=int(time.time()) + tokens["expires_in"]), file)


def token(session):
    from authlib.integrations.requests_client import OAuth2Session

    def update_token(token, refresh_token=None, access_token=None):
        with open(path(session), "w") as file:
            json.dump(token, file)

    with open(path(session)) as file:
        saved = json.load(file)
    client = OAuth2Session(session["client_id"], session["client_secret"], token=saved, update_token=update_token,
                           token_endpoint=session["token_endpoint"], token_endpoint_auth_method="client_secret_post")
    response = client.get(session["api"], timeout=10)
    return response.request.headers["Authorization"].removeprefix("Bearer ")


missing()
