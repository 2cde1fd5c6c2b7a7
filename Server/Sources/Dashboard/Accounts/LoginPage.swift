import PerennialContract

/// The page `/login`.
package struct LoginPage: Sendable {
    /// The server's host, which tells the visitor where they sign in.
    package var host: String
    /// The name that the visitor typed.
    package var name: String
    /// The path to which the visitor returns after signing in.
    package var next: String
    package var state: State
    /// The name of the provider at which operators may sign in. Nil if there is none.
    package var provider: String?
    /// Whether operators may sign in with a name and a password.
    package var takesPasswords: Bool
    /// Whether operators may sign in with a passkey.
    package var takesPasskeys: Bool

    package enum State: Sendable {
        case ready
        case wrong(triesLeft: Int)
        /// There were too many attempts.
        case shut(by: Limit, until: Timestamp)
        /// Too many other visitors are signing in.
        case busy
        /// There is no account yet: the program printed a link that works once.
        case firstRun
    }

    /// The limit that was exceeded.
    package enum Limit: Sendable, CaseIterable {
        case nameFromAddress, address, name

        /// Says what is blocked, and until when.
        package func sentence(until: Timestamp) -> String {
            let end = "until \(CivilTime(until).clockWithSeconds) UTC."
            return switch self {
            case .nameFromAddress:
                "Too many tries. Signing in with this name from your address is blocked \(end)"
            case .address: "Too many tries. Signing in from your address is blocked \(end)"
            case .name:
                "Too many tries with this name, from many addresses. It is blocked \(end)"
            }
        }
    }

    package init(
        host: String, name: String = "", next: String = "/", state: State = .ready,
        provider: String? = nil, takesPasswords: Bool = true, takesPasskeys: Bool = false
    ) {
        self.host = host
        self.name = name
        self.next = next
        self.state = state
        self.provider = provider
        self.takesPasswords = takesPasswords
        self.takesPasskeys = takesPasskeys
    }

    package func html() -> String {
        let document: Markup = """
            <!doctype html>
            <html lang="en">
            <head>
            \(Layout.head(title: "Sign in"))
            </head>
            <body>
            <main class="login"><p class="brand">\(Icon.brand)Perennial</p>
            <div class="panel"><h1>Sign in</h1><p class="lede">\(.bdi(host))</p>
            \(provider.map(providerLink))\(isFirstRun ? Self.firstRun : passwordForm)\
            \(takesPasskeys && !isFirstRun ? passkeyLink : "")</div>
            \(isFirstRun ? "" : lostPassword)</main>
            </body>
            </html>

            """
        return document.html
    }

    private var isFirstRun: Bool { if case .firstRun = state { true } else { false } }
    private var isWrong: Bool { if case .wrong = state { true } else { false } }

    private static let firstRun: Markup = """
        <p>There is no account yet. When the server started, it printed a link that works once and \
        makes the first account. <code>perennial operators link</code> prints another.</p>

        """

    /// A link, because a form must not lead to another site.
    private func providerLink(_ provider: String) -> Markup {
        """

        <p><a class="btn go" href="\(DashboardPath.provider.with("next", next).text)">\
        Sign in with \(.bdi(provider))</a></p>

        """
    }

    private var passkeyLink: Markup {
        """

        <p><a class="btn" href="\(DashboardPath.passkeySignIn.with("next", next).text)">\
        Sign in with a passkey</a></p>
        """
    }

    private var passwordForm: Markup { takesPasswords ? form : "" }

    private var form: Markup {
        """

        <form method="post" action="\(DashboardPath.login.text)">\
        <input type="hidden" name="next" value="\(.value(next))">\(say)
        <div><label for="u">Name</label>\
        <input id="u" name="name" autocomplete="username" required value="\(.value(name))"></div>
        <div><label for="p">Password</label><input id="p" name="password" type="password" \
        autocomplete="current-password" required\(isWrong ? " aria-invalid=\"true\"" : "")></div>
        <button class="btn go" type="submit">Sign in</button></form>
        """
    }

    private var lostPassword: Markup {
        guard takesPasswords else {
            return """
                <p class="muted small">If the provider is not available: \
                <code>perennial operators link NAME</code> prints a link on the server.</p>
                """
        }
        return """
            <p class="muted small">Lost your password? An admin makes a link that works once: \
            <code>perennial operators link \(name.isEmpty ? "mira" : .bdi(name))</code></p>
            """
    }

    private var say: Markup {
        switch state {
        case .ready, .firstRun: ""
        case .wrong(let left):
            """
            <div class="say bad" role="alert">\(Icon.warning.markup)<div>The name or the password \
            is wrong. \(left == 1 ? "1 try is left" : "\(left) tries are left"); after that, \
            signing in is blocked for a minute.</div></div>
            """
        case .shut(let limit, let until):
            """
            <div class="say bad" role="alert">\(Icon.warning.markup)\
            <div>\(.bdi(limit.sentence(until: until)))</div></div>
            """
        case .busy:
            """
            <div class="say bad" role="alert">\(Icon.warning.markup)<div>Too many people sign in \
            just now. This try was not counted: send it again in a few seconds.</div></div>
            """
        }
    }
}
