// What the blocks of Swift in the documentation use without declaring it; see Tests/Documentation/blocks. Nothing of it runs.

import AppAuth

func any<Value>() -> Value { fatalError("only type-checked") }

var client: Client { any() }
var provider: ProviderMetadata { any() }
var issuer: Issuer { any() }
var environment: Environment {
    get { any() }
    set {}
}
var store: FileTokenStore { any() }
var state: AuthState {
    get { any() }
    set {}
}
var signIn: SignIn {
    get { any() }
    set {}
}
var options: AuthorizationRequest.Options {
    get { any() }
    set {}
}
var listener: LoopbackRedirectListener { any() }
var request: AuthorizationRequest { any() }
var token: AccessToken { any() }
var claims: Claims { any() }
var sessions: [AuthState] { any() }

var secret: Secret { any() }
var name: String { any() }
var path: String { any() }
var text: String { any() }
var url: String { any() }

func show(_ text: String) {}
