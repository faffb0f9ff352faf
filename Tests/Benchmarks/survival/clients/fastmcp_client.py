"""FastMCP's client: OAuth with a token_storage of py-key-value, FileTreeStore, and a client that is registered already."""
import asyncio, importlib.metadata, warnings

from clients.mcp_sdk import call, no_browser

title, margin = "FastMCP", 0
sessions = 4  # its processes take long to start a refresh: more would be late for the next one


def missing():
    try:
        import fastmcp.client.auth, key_value.aio.stores.filetree  # noqa: F401
    except ImportError as error:
        return str(error)


def version():
    return importlib.metadata.version("fastmcp")


def oauth(session):
    from fastmcp.client.auth import OAuth
    from key_value.aio.stores.filetree import (
        FileTreeStore, FileTreeV1CollectionSanitizationStrategy, FileTreeV1KeySanitizationStrategy)

    warnings.simplefilter("ignore")
    directory = session["folder"]
    store = FileTreeStore(data_directory=directory, key_sanitization_strategy=FileTreeV1KeySanitizationStrategy(directory),
                          collection_sanitization_strategy=FileTreeV1CollectionSanitizationStrategy(directory))
    auth = OAuth(session["api"], scopes=session["scope"], token_storage=store, client_id=session["client_id"],
                 client_secret=session["client_secret"])
    auth.context.redirect_handler = auth.context.callback_handler = no_browser
    return auth


def create(session):
    from mcp.shared.auth import OAuthToken

    tokens = session["tokens"]()
    tokens.pop("id_token", None)
    asyncio.run(oauth(session).token_storage_adapter.set_tokens(OAuthToken(**tokens)))


def token(session):
    return asyncio.run(call(session, oauth(session)))


missing()
