"""google-auth: google.oauth2.credentials.Credentials with a token_uri, refreshed and saved as its quickstarts do (to_json)."""
import datetime, importlib.metadata, json

title, margin = "google-auth", 225  # google.auth._helpers.REFRESH_THRESHOLD


def missing():
    try:
        import google.auth.transport.requests, google.oauth2.credentials  # noqa: F401
    except ImportError as error:
        return str(error)


def version():
    return importlib.metadata.version("google-auth")


def path(session):
    return f"{session['folder']}/token.json"


def save(session, credentials):
    with open(path(session), "w") as file:
        file.write(credentials.to_json())


def create(session):
    from google.oauth2.credentials import Credentials

    tokens = session["tokens"]()
    expiry = datetime.datetime.utcnow() + datetime.timedelta(seconds=tokens["expires_in"])
    save(session, Credentials(tokens["access_token"], refresh_token=tokens["refresh_token"], token_uri=session["token_endpoint"],
                              client_id=session["client_id"], client_secret=session["client_secret"], expiry=expiry))


def token(session):
    from google.auth.transport.requests import Request
    from google.oauth2.credentials import Credentials

    with open(path(session)) as file:
        saved = json.load(file)
    # from_authorized_user_info, which the quickstarts call, has Google's own token endpoint.
    credentials = Credentials(
        saved["token"], refresh_token=saved["refresh_token"], token_uri=saved["token_uri"], client_id=saved["client_id"],
        client_secret=saved["client_secret"], expiry=datetime.datetime.fromisoformat(saved["expiry"].rstrip("Z")))
    if not credentials.valid:
        credentials.refresh(Request())
        save(session, credentials)
    return credentials.token


missing()
