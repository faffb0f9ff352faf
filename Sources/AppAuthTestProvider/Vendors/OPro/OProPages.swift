internal import HTTPTypes
internal import JOSE

/// The pages of oPRO's demo on which a user signs up, and on which a developer registers an app.
///
/// The names of the fields are those of Rails. The pages need no session of a browser: the double's choice.
struct OProPages: Sendable {
    let records: OProRecords

    /// The page `/users/sign_up`. Its form is posted to `/users`.
    func signUp(_ request: Request) throws -> Reply {
        guard request.method == .post else {
            return page(
                request, at: "/users/sign_up", "Sign up",
                form(
                    to: "/users",
                    [
                        ("user[email]", "email", "Email"), ("user[password]", "password", "Password"),
                        ("user[password_confirmation]", "password", "Password confirmation"),
                    ]))
        }
        guard request.path == "/users", let form = request.form, form.repeated == nil else { return .noRoute }
        let password = form["user[password]"] ?? ""
        do throws(OProUser.Refusal) {
            guard !password.isEmpty else { throw OProUser.Refusal(sentence: "Password can't be blank") }
            guard constantTimeEqual(form["user[password_confirmation]"] ?? "", password) else {
                throw OProUser.Refusal(sentence: "Password confirmation doesn't match Password")
            }
            let user = try records.signUp(email: form["user[email]"] ?? "", password: password)
            return page("Signed up", "<p>You can sign in as <b>\(user.username)</b>.</p>")
        } catch {
            return page("Sign up", "<p>\(error.sentence)</p>", .unprocessableContent)
        }
    }

    /// The page `/oauth_client_apps/new`. Its form is posted to `/oauth_client_apps`.
    func clientApps(_ request: Request) throws -> Reply {
        guard request.method == .post else {
            return page(
                request, at: "/oauth_client_apps/new", "Register an app",
                form(to: "/oauth_client_apps", [("opro_client_app[name]", "text", "Name")]))
        }
        guard request.path == "/oauth_client_apps" else { return .noRoute }
        guard let name = request.form?["opro_client_app[name]"], !name.isEmpty else {
            return page("Register an app", "<p>Name can't be blank</p>", .unprocessableContent)
        }
        let client = try records.makeClient()
        return page(
            "Registered an app",
            """
            <p>\(name)</p>
            <p>Client ID: <code id="client_id">\(client.id)</code></p>
            <p>Client secret: <code id="client_secret">\(client.secret)</code></p>
            """)
    }

    private func form(to target: String, _ fields: [(name: String, type: String, label: String)]) -> HTML {
        let inputs = HTML(
            joining: fields.map { #"<p><label>\#($0.label) <input type="\#($0.type)" name="\#($0.name)"></label></p>"# }
        )
        return """
            <form method="post" action="\(target)">
            \(inputs)
            <p><button type="submit">Continue</button></p>
            </form>
            """
    }

    /// The page with a form, for a GET of this path.
    private func page(_ request: Request, at path: String, _ title: String, _ content: HTML) -> Reply {
        request.method == .get && request.path == path ? page(title, content) : .noRoute
    }

    private func page(_ title: String, _ content: HTML, _ status: HTTPResponse.Status = .ok) -> Reply {
        let html: HTML = """
            <!doctype html>
            <html lang="en">
            <head><meta charset="utf-8"><title>\(title)</title></head>
            <body>
            <h1>\(title)</h1>
            \(content)
            </body>
            </html>

            """
        return Reply(status, type: "text/html; charset=utf-8", html.description).notStored
    }
}
