"""The MCP SDK for Python: OAuthClientProvider, with a TokenStorage that keeps its models in two files."""
import asyncio, importlib.metadata, os

title, margin = "MCP SDK", 0


def missing():
    try:
        import httpx2, mcp.client.auth  # noqa: F401
    except ImportError as error:
        return str(error)


def version():
    return importlib.metadata.version("mcp")


class FileStorage:
    def __init__(self, folder):
        self.tokens, self.client = folder + "/tokens.json", folder + "/client.json"

    @staticmethod
    def read(path, model):
        if os.path.exists(path):
            with open(path) as file:
                return model.model_validate_json(file.read())

    @staticmethod
    def write(path, value):
        with open(path, "w") as file:
            file.write(value.model_dump_json(exclude_none=True))

    async def get_tokens(self):
        from mcp.shared.auth import OAuthToken
        return self.read(self.tokens, OAuthToken)

    async def set_tokens(self, tokens):
        self.write(self.tokens, tokens)

    async def get_client_info(self):
        from mcp.shared.auth import OAuthClientInformationFull
        return self.read(self.client, OAuthClientInformationFull)

    async def set_client_info(self, client_info):
        self.write(self.client, client_info)


def metadata():
    return {"redirect_uris": ["http://127.0.0.1:9/callback"], "token_endpoint_auth_method": "client_secret_post",
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "scope": "openid profile offline_access api"}


def create(session):
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

    storage, tokens = FileStorage(session["folder"]), session["tokens"]()
    tokens.pop("id_token", None)
    storage.write(storage.tokens, OAuthToken(**tokens))
    storage.write(storage.client, OAuthClientInformationFull(
        client_id=session["client_id"], client_secret=session["client_secret"], **metadata()))


async def no_browser(*arguments):
    raise RuntimeError("a browser is needed")


def provider(session):
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata

    return OAuthClientProvider(session["api"], OAuthClientMetadata(**metadata()), FileStorage(session["folder"]),
                               redirect_handler=no_browser, callback_handler=no_browser)


async def call(session, auth):
    """The tokens that reached the API: the SDK gives them to no one else."""
    import httpx2

    sent = []

    async def note(request):
        if str(request.url) == session["api"] and "Authorization" in request.headers:
            sent.append(request.headers["Authorization"].removeprefix("Bearer "))

    async with httpx2.AsyncClient(verify=False, auth=auth, event_hooks={"request": [note]}, timeout=10) as client:
        try:
            await client.get(session["api"])
        except RuntimeError:
            if not sent:
                raise
    return sent


def token(session):
    return asyncio.run(call(session, provider(session)))


missing()
