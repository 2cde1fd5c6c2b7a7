import PerennialContract

/// The page of a link that works once: it creates an account, or sets another password.
package struct LinkPage: Sendable {
    /// The server's host, which tells the visitor where they are.
    package var host: String
    /// The part of the path that identifies the link.
    package var token: String
    package var kind: Kind
    /// The name that the visitor typed.
    package var name: String
    /// Why the action failed, as a sentence.
    package var trouble: String?

    package enum Kind: Sendable, Hashable {
        /// The link creates the first account of the server. The visitor chooses the account's name
        /// on this page.
        case first
        case invitation(name: String)
        case reset(name: String)
    }

    package init(
        host: String, token: String, kind: Kind, name: String = "", trouble: String? = nil
    ) {
        self.host = host
        self.token = token
        self.kind = kind
        self.name = name
        self.trouble = trouble
    }

    package func html() -> String {
        let fields: Markup = """
            \(nameField)<div><label for="p">Password, 12 characters or more</label>\
            <input id="p" name="password" type="password" autocomplete="new-password" \
            minlength="12" required></div><div><label for="r">Once more</label>\
            <input id="r" name="repeated" type="password" autocomplete="new-password" \
            minlength="12" required></div>\
            <button class="btn go" type="submit">\(button)</button>
            """
        return Card(
            title: title, host: host,
            content: """
                \(sentence)<form method="post" action="\(DashboardPath.link(token).text)">\
                \(trouble.map(Self.say))\(fields)</form>
                """
        ).html()
    }

    private static func say(_ trouble: String) -> Markup {
        """
        <div class="say bad" role="alert">\(Icon.warning.markup)<div>\(.bdi(trouble))</div></div>
        """
    }

    private var nameField: Markup {
        switch kind {
        case .first:
            """
            <div><label for="u">User name</label><input id="u" name="name" \
            autocomplete="username" maxlength="64" required value="\(.value(name))"></div>
            """
        case .invitation(let name), .reset(let name):
            """
            <div><label for="u">User name</label><input id="u" name="name" \
            autocomplete="username" readonly value="\(.value(name))"></div>
            """
        }
    }

    private var title: String {
        switch kind {
        case .first: "The first account"
        case .invitation: "Your account"
        case .reset: "Another password"
        }
    }

    private var sentence: Markup {
        switch kind {
        case .first: "<p>This account is an admin of every app, and can invite others.</p>"
        case .invitation: "<p>You were invited. Choose a password to sign in.</p>"
        case .reset: "<p>A new password ends all your sessions.</p>"
        }
    }

    private var button: Markup {
        switch kind {
        case .first, .invitation: "Make the account"
        case .reset: "Set the password"
        }
    }
}

/// A page without navigation, for a visitor who has not signed in.
package struct Card: Sendable {
    var title: String
    var host: String
    var content: Markup
    /// Whether the page replaces another page that cannot be shown now.
    var loadsAgain = false
    var scripts: [Asset] = []

    /// The page of a link that does not work.
    ///
    /// - Parameter isFirst: whether there is no account yet, so that the page names no account.
    package static func linkEnded(host: String, isFirst: Bool = false) -> Card {
        let name: Markup = isFirst ? "" : " NAME"
        let admin: Markup = isFirst ? "Make" : "Ask an admin for another one, or make"
        return Card(
            title: "This link does not work", host: host,
            content: """
                <p>A link works once, within three days. \(admin) one on the server: \
                <code>perennial operators link\(name)</code></p>
                """)
    }

    /// The page for a user whom a proxy has signed in, with a name that has no account.
    package static func nobody(name: String, host: String) -> Card {
        Card(
            title: "You have no account here", host: host,
            content: """
                <p>Your proxy signed you in as \(.bdi(name)). Ask an admin to invite this name, \
                then load this page again.</p>
                """)
    }

    /// The page for an operator without a role for any app.
    package static func noApp(host: String) -> Card {
        Card(
            title: "You have no role yet", host: host,
            content: "<p>Ask an admin for a role for an app.</p>")
    }

    /// The page while the visitor's identity cannot be determined.
    ///
    /// - Parameter wasAct: whether a form was sent.
    package static func problem(_ problem: Problem, host: String, wasAct: Bool) -> Card {
        let reference = [problem.code.rawValue, problem.requestID.map { "request \($0)" }]
            .compactMap(\.self).joined(separator: ", ")
        var card = Card(
            title: "That did not work", host: host,
            content: """
                <div class="say bad" role="alert">\(Icon.warning.markup)<div>\
                <strong>\(.bdi(problem.title))</strong>\
                \(wasAct ? " Nothing has changed." : "") \(.bdi(problem.remedy)) \
                <span class="muted">\(.bdi(reference))</span></div></div>
                """)
        card.loadsAgain = !wasAct
        return card
    }

    package func html() -> String {
        let page: Markup = """
            <!doctype html>
            <html lang="en">
            <head>
            \(Layout.head(title: title, scripts: scripts))
            </head>
            <body\(loadsAgain ? " data-again" : "")>
            <main class="login"><p class="brand">\(Icon.brand)Perennial</p>
            <div class="panel"><h1>\(title)</h1><p class="lede">\(.bdi(host))</p>
            \(content)</div></main>
            </body>
            </html>
            """
        return page.html
    }
}
