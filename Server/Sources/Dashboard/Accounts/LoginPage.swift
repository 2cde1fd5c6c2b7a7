import PerennialContract

/// The page `/login`.
package struct LoginPage: Sendable {
    /// The server's host, which tells the visitor where they sign in.
    package var host: String
    /// The typed name.
    package var name: String
    /// The path to go to afterwards.
    package var next: String
    package var state: State

    package enum State: Sendable {
        case ready
        case wrong(triesLeft: Int)
        /// Too many attempts.
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

    package init(host: String, name: String = "", next: String = "/", state: State = .ready) {
        self.host = host
        self.name = name
        self.next = next
        self.state = state
    }

    package func html() -> String {
        let isWrong = if case .wrong = state { true } else { false }
        let isFirstRun = if case .firstRun = state { true } else { false }
        let fields = Fields([
            "head": .html(Layout.head(title: "Sign in")),
            "brand": .html(Icon.brand),
            "host": .html(.bdi(host)),
            "action": .html("\(DashboardPath.login.text)"),
            "next": .html(.value(next)),
            "name": .html(.value(name)),
            "say": .html(say),
            "isWrong": .flag(isWrong),
            "isFirstRun": .flag(isFirstRun),
            "command": .html("perennial operators link \(name.isEmpty ? "mira" : .bdi(name))"),
        ])
        return Template.login.markup(fields).html
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
