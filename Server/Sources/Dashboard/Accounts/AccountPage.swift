import PerennialContract

/// The page `/account`: an operator's own password, passkeys and sessions.
package struct AccountPage: Sendable {
    package var sessions: [Session]
    /// Why the password was not changed, as a sentence.
    package var trouble: String?
    /// Whether the operator has a password with which they may sign in.
    package var hasPassword: Bool
    package var passkeys: PasskeyState
    /// Why a passkey or a code was not changed, as a sentence.
    package var passkeyTrouble: String?

    package struct Session: Sendable {
        package var address: String
        package var agent: String
        package var createdAt: Timestamp
        package var usedAt: Timestamp
        package var isThis: Bool

        package init(
            address: String, agent: String, createdAt: Timestamp, usedAt: Timestamp, isThis: Bool
        ) {
            self.address = address
            self.agent = agent
            self.createdAt = createdAt
            self.usedAt = usedAt
            self.isThis = isThis
        }
    }

    package init(
        sessions: [Session], trouble: String? = nil, hasPassword: Bool = true,
        passkeys: PasskeyState = .hidden, passkeyTrouble: String? = nil
    ) {
        self.sessions = sessions
        self.passkeys = passkeys
        self.passkeyTrouble = passkeyTrouble
        self.hasPassword = hasPassword
        self.trouble = trouble
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Your account", section: .none, heading: .bdi(frame.viewer.name),
            lede: "Your role here: \(frame.viewer.role.rawValue).", isWide: false,
            content: """
                <div class="stack">\(sessionPanel(in: frame))\(passkeyPanel(in: frame))\
                \(hasPassword ? passwordPanel(in: frame) : "")</div>
                """
        ).html(in: frame)
    }

    private func sessionPanel(in frame: Frame) -> Markup {
        let rows = sessions.map { session -> Markup in
            let here: Markup = session.isThis ? " <span class=\"chip open\">this one</span>" : ""
            return Table.row(
                .init("\(browser(session.agent))\(here)"),
                [
                    .init(.bdi(session.address)), .init("\(frame.time(session.createdAt))"),
                    .init("\(frame.time(session.usedAt))"),
                ])
        }
        let dialog = Dialog(
            id: "everywhere", button: "Sign out everywhere", title: "Sign out everywhere",
            sentences: """
                <p class="soft">Every session ends, also this one. Links that you made no longer \
                work.</p>
                """,
            path: .account("sign-out"), submit: "Sign out everywhere")
        let table = Table(
            name: "Sessions",
            columns: [.init("Browser"), .init("Address"), .init("Since"), .init("Last used")],
            rows: rows)
        return Panel(
            title: "Where you are signed in", side: dialog.buttonMarkup,
            content: "\(table.markup)\(dialog.dialogMarkup(in: frame))", classes: "flush"
        ).markup
    }

    /// The short name of a browser, with its full description as a tooltip.
    private func browser(_ agent: String) -> Markup {
        let name = Markup.bdi(BrowserName(userAgent: agent).text)
        return agent.isEmpty ? name : "<span title=\"\(.value(agent))\">\(name)</span>"
    }

    private func passwordPanel(in frame: Frame) -> Markup {
        Panel(
            title: "Change your password",
            content: """
                \(trouble.map(Self.say))\
                <form method="post" action="\(frame.link(.account("password")))" \
                class="stack">\(frame.csrf)<input type="hidden" autocomplete="username" \
                value="\(.value(frame.viewer.name))"><div>\
                <label for="f">Current password</label>\
                <input id="f" name="former" type="password" autocomplete="current-password" \
                required></div><div><label for="p">New password, 12 characters or more</label>\
                <input id="p" name="password" type="password" autocomplete="new-password" \
                minlength="12" required></div><div><label for="r">Once more</label>\
                <input id="r" name="repeated" type="password" autocomplete="new-password" \
                minlength="12" required></div><div class="row">\
                <button class="btn go" type="submit">Change it</button></div></form>
                """
        ).markup
    }

    static func say(_ trouble: String) -> Markup {
        """
        <div class="say bad" role="alert">\(Icon.warning.markup)<div>\(.bdi(trouble))</div></div>
        """
    }
}
