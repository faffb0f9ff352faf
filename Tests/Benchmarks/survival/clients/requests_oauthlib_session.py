"""requests-oauthlib: OAuth2Session with auto_refresh_url and token_updater, the third of its documentation's ways to refresh
("Recommended")."""
import importlib.metadata, json, os, time

title, margin = "requests-oauthlib", 0
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"  # http on loopback


def missing():
    try:
        from requests_oauthlib import OAuth2Session  # noqa: F401
    except ImportError as error:
        return str(error)


def version():
    return importlib.metadata.version("requests-oauthlib")


def path(session):
    return f"{session['folder']}/token.json"


def create(session):
    tokens = session["tokens"]()
    with open(path(session), "w") as file:
        json.dump(dict(tokens, expires_at=time.time() + tokens["expires_in"]), file)


def token(session):
    from requests_oauthlib import OAuth2Session

    def token_saver(token):
        with open(path(session), "w") as file:
            json.dump(token, file)

    with open(path(session)) as file:
        saved = json.load(file)
    extra = {"client_id": session["client_id"], "client_secret": session["client_secret"]}
    client = OAuth2Session(session["client_id"], token=saved, auto_refresh_url=session["token_endpoint"],
                           auto_refresh_kwargs=extra, token_updater=token_saver)
    response = client.get(session["api"], timeout=10)
    return response.request.headers["Authorization"].removeprefix("Bearer ")


missing()
