/// The page that says why a sign-in by a provider of OpenID Connect did not succeed, and what to
/// do.
package struct ProviderPage: Sendable {
    /// The server's host.
    package var host: String
    /// The name of the provider.
    package var provider: String
    package var cause: Cause
    /// Whether operators may also sign in with a password.
    package var takesPasswords: Bool
    /// The id of the request, which the log contains.
    package var requestID: String

    package enum Cause: Sendable {
        /// The browser has no ticket for the answer, or the ticket has expired or was used.
        case outdated
        /// The provider did not respond as expected.
        case unavailable
        /// Too many other visitors are signing in.
        case busy
        /// An answer of the provider breaks a rule.
        case invalid(reason: String)
        /// The provider refused, with this code.
        case refused(code: String)
        /// No group of the person gives a role. The groups were searched in this claim.
        case withoutRole(claim: String)
        case blocked
        /// The account was not made, for this reason.
        case noAccount(reason: String)
    }

    package init(
        host: String, provider: String, cause: Cause, takesPasswords: Bool, requestID: String
    ) {
        self.host = host
        self.provider = provider
        self.cause = cause
        self.takesPasswords = takesPasswords
        self.requestID = requestID
    }

    package func html() -> String {
        Card(
            title: title, host: host,
            content: """
                <div class="say bad" role="alert">\(Icon.warning.markup)<div>\(sentences) \
                <span class="muted">request \(.bdi(requestID))</span></div></div>
                <p><a class="btn" href="\(DashboardPath.login.text)">Sign in again</a></p>
                """
        ).html()
    }

    private var name: Markup { .bdi(provider) }

    private var title: String {
        switch cause {
        case .outdated: "This sign-in has ended"
        case .unavailable: "The provider is not available"
        case .busy: "Too many people sign in"
        case .invalid, .refused: "The provider did not sign you in"
        case .withoutRole: "You have no role here"
        case .blocked: "Your account is blocked"
        case .noAccount: "There is no account for you"
        }
    }

    private var sentences: Markup {
        switch cause {
        case .outdated:
            """
            It began in another browser or more than ten minutes ago, you began another one since, \
            or it was used before. Sign in again, in one window.
            """
        case .unavailable: "\(name) does not respond. Try again in a minute. \(otherWay)"
        case .busy: "This try was not counted. Try again in a few seconds."
        case .invalid(let reason):
            """
            An answer of \(name) was not accepted: \(.bdi(reason)). Sign in again. If it happens \
            again, show this page to an admin of this server. \(otherWay)
            """
        case .refused(let code): refusal(code)
        case .withoutRole(let claim):
            """
            \(name) knows you, but none of your groups gives a role here. Your groups are read \
            from the claim <code>\(.bdi(claim))</code> of the ID token. Who manages \(name) can \
            add you to a group or send this claim. An admin of this server can give your group a \
            role, below <code>dashboard.sign_in.openid.roles</code>.
            """
        case .blocked: "An admin of every app can lift the block."
        case .noAccount(let reason): "\(.bdi(reason))"
        }
    }

    private func refusal(_ code: String) -> Markup {
        switch code {
        case "access_denied":
            "\(name) did not permit the sign-in, or you ended it there. Sign in again."
        case "invalid_client", "unauthorized_client":
            """
            \(name) does not accept this server (<code>\(.bdi(code))</code>). An admin of this \
            server must correct client_id and client_secret_env. \(otherWay)
            """
        case "invalid_grant":
            "\(name) no longer accepts this sign-in. Sign in again, and do not reload the page."
        default: "\(name) refused (<code>\(.bdi(code))</code>). Sign in again. \(otherWay)"
        }
    }

    /// How to sign in without the provider.
    private var otherWay: Markup {
        takesPasswords
            ? "If you have a password, you can sign in with it."
            : """
            Without the provider, a shell on the server lets you in: \
            <code>perennial operators link NAME</code> prints a link.
            """
    }
}
