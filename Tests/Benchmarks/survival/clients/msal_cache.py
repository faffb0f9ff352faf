"""MSAL for Python with msal-extensions: PersistedTokenCache, whose lock its documentation recommends for several processes, and
acquire_token_silent. It speaks to other providers by `oidc_authority`, over https and with a path in the issuer."""
import importlib.metadata

title, margin, issuer_path = "MSAL Python", 300, "/tenant"  # acquire_token_silent: "if expires_in < 5*60"


def missing():
    try:
        import msal, msal_extensions  # noqa: F401
    except ImportError as error:
        return str(error)


def version():
    return f"{importlib.metadata.version('msal')}, extensions {importlib.metadata.version('msal-extensions')}"


def application(session):
    import msal, msal_extensions

    cache = msal_extensions.PersistedTokenCache(msal_extensions.FilePersistence(f"{session['folder']}/cache.bin"))
    return msal.ConfidentialClientApplication(
        session["client_id"], client_credential=session["client_secret"], oidc_authority=session["issuer"], token_cache=cache,
        verify=session["certificate"])


def create(session):
    result = application(session).acquire_token_by_refresh_token(session["tokens"]()["refresh_token"], scopes=["api"])
    if "access_token" not in result:
        raise RuntimeError(result)


def token(session):
    app = application(session)
    result = app.acquire_token_silent_with_error(["api"], account=app.get_accounts()[0])
    if not result or "access_token" not in result:
        raise RuntimeError(result and f"{result.get('error')}: {result.get('error_description')}")
    return result["access_token"]


missing()
