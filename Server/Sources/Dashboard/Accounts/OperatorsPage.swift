import PerennialContract

/// The page `/operators`: who may use the dashboard, and with which role.
package struct OperatorsPage: Sendable {
    package var operators: [Operator]
    /// The links that wait to be used.
    package var links: [Link]
    /// The apps for which an operator can have a role.
    package var apps: [String]
    /// A link that was just made, and is shown once.
    package var made: MadeLink?
    /// Whether operators may sign in with passwords. Otherwise nobody is invited here.
    package var takesPasswords: Bool

    package struct Operator: Sendable {
        package var name: String
        /// The person's name at the provider that signs them in. Nil if no provider does; may be
        /// empty.
        package var nameAtProvider: String?
        package var roles: [Role]
        package var signedInAt: Timestamp?
        package var isBlocked: Bool

        package init(
            name: String, nameAtProvider: String? = nil, roles: [Role], signedInAt: Timestamp?,
            isBlocked: Bool
        ) {
            self.name = name
            self.nameAtProvider = nameAtProvider
            self.roles = roles
            self.signedInAt = signedInAt
            self.isBlocked = isBlocked
        }
    }

    package struct Role: Sendable, Hashable {
        /// The app for which the role is. Nil if the role is for every app.
        package var app: String?
        package var role: Viewer.Role

        package init(app: String?, role: Viewer.Role) {
            self.app = app
            self.role = role
        }
    }

    package struct Link: Sendable {
        package var name: String
        /// The roles of the account that the link creates. Nil if the link sets another password
        /// for an account.
        package var roles: [Role]?
        package var author: String
        package var until: Timestamp

        package init(name: String, roles: [Role]?, author: String, until: Timestamp) {
            self.name = name
            self.roles = roles
            self.author = author
            self.until = until
        }
    }

    package struct MadeLink: Sendable {
        package var name: String
        package var url: String

        package init(name: String, url: String) {
            self.name = name
            self.url = url
        }
    }

    package init(
        operators: [Operator], links: [Link] = [], apps: [String], made: MadeLink? = nil,
        takesPasswords: Bool = true
    ) {
        self.takesPasswords = takesPasswords
        self.operators = operators
        self.links = links
        self.apps = apps
        self.made = made
    }

    package func html(in frame: Frame) -> String {
        let invite = invitation
        return Layout(
            title: "Team", section: .operators, heading: "Team",
            lede: "Who has access to these pages, and with which role.",
            actions: mayInvite(in: frame) ? invite.buttonMarkup : "",
            content: """
                <div class="stack">\(made.map(Self.say))\(operatorsTable(in: frame))\
                \(links.isEmpty ? "" : linksPanel(in: frame))</div>\
                \(mayInvite(in: frame) ? invite.dialogMarkup(in: frame) : "")
                """
        ).html(in: frame)
    }

    private func mayInvite(in frame: Frame) -> Bool {
        frame.viewer.managesOperators && takesPasswords
    }

    private static func say(_ link: MadeLink) -> Markup {
        """
        <div class="say ok" role="status">\(Icon.check.markup)<div><strong>A link for \
        \(.bdi(link.name)).</strong> It is shown only now. It works once, within three days. Send \
        it to this person only.<pre class="copy"><code>\(.bdi(link.url))</code></pre></div></div>
        """
    }

    // MARK: - Operators

    private func operatorsTable(in frame: Frame) -> Markup {
        let rows = operators.enumerated().map { number, account -> Markup in
            let acts = frame.viewer.managesOperators ? acts(on: account, number) : []
            let state = account.isBlocked ? Chip("blocked", .badShut).markup : ""
            return Table.row(
                .init("\(.bdi(account.name)) \(state)\(account.nameAtProvider.map(Self.provided))"),
                [
                    .init(Self.roles(account.roles)),
                    .init(account.signedInAt.map { "\(frame.time($0))" } ?? "never"),
                    .init(
                        """
                        <div class="row">\(acts.map(\.buttonMarkup).joined())</div>\
                        \(acts.map { $0.dialogMarkup(in: frame) }.joined())
                        """),
                ])
        }
        return Panel(
            title: "Accounts", side: "\(Figures.count(operators.count))",
            content: Table(
                name: "Accounts",
                columns: [
                    .init("Name"), .init("Role"), .init("Last signed in"),
                    .init("<span class=\"vh\">Acts</span>"),
                ], rows: rows
            ).markup, classes: "flush"
        ).markup
    }

    /// Says that a provider signs an operator in, and by which name it knows the person.
    private static func provided(_ name: String) -> Markup {
        """
        <br><span class="muted small">by the provider\(name.isEmpty ? "" : ": ")\(.bdi(name))</span>
        """
    }

    private static func roles(_ roles: [Role]) -> Markup {
        guard !roles.isEmpty else { return "<span class=\"muted\">none</span>" }
        return roles.map { role -> Markup in
            let place: Markup = role.app.map { "of \(.bdi($0))" } ?? "of every app"
            return "\(role.role.rawValue) \(place)"
        }.joined(by: "<br>")
    }

    private func acts(on account: Operator, _ number: Int) -> [Dialog] {
        let name = account.name
        let roles = Dialog(
            id: "roles-\(number)", button: "Role", title: "Another role for \(.bdi(name))",
            sentences: "<p class=\"soft\">It applies from their next request.</p>",
            path: .act("roles", onOperator: name),
            fields: roleFields("roles-\(number)", account.roles.first),
            submit: "Change the role of \(.bdi(name))")
        let link = Dialog(
            id: "link-\(number)", button: "Lost password",
            title: "A link for \(.bdi(name))",
            sentences: """
                <p class="soft">With it, they set another password, which ends all their sessions. \
                The current password works until then.</p>
                """, path: .act("link", onOperator: name), submit: "Make a link for \(.bdi(name))")
        let sessions = Dialog(
            id: "out-\(number)", button: "Sign out", title: "Sign out \(.bdi(name)) everywhere",
            sentences: """
                <p class="soft">They can sign in again. Links that they made, and one for their \
                password, no longer work.</p>
                """,
            path: .act("sign-out", onOperator: name), submit: "Sign out \(.bdi(name))")
        let block =
            account.isBlocked
            ? Dialog(
                id: "block-\(number)", button: "Lift the block",
                title: "Let \(.bdi(name)) in again",
                sentences: "<p class=\"soft\">With their password and role as before.</p>",
                path: .act("unblock", onOperator: name), submit: "Let \(.bdi(name)) in")
            : Dialog(
                id: "block-\(number)", button: "Block", title: "Block \(.bdi(name))",
                sentences: """
                    <p class="soft">All their sessions end at once, and they cannot sign in. What \
                    they have done stays recorded. You can lift the block.</p>
                    """, path: .act("block", onOperator: name), submit: "Block \(.bdi(name))",
                isGrave: true)
        guard !account.isBlocked else { return [roles, block] }
        return [roles] + (takesPasswords ? [link] : []) + [sessions, block]
    }

    /// The value that stands for every app in a form. No app has this name.
    package static let everyApp = "*"

    private func roleFields(_ id: Markup, _ chosen: Role?) -> Markup {
        let role = Choice(
            id: "\(id)-r", name: "role", label: "Role",
            options: Viewer.Role.allCases.map { ($0.rawValue, $0.rawValue) },
            selected: (chosen?.role ?? .viewer).rawValue)
        let app = Choice(
            id: "\(id)-a", name: "for", label: "For",
            options: [(Self.everyApp, "every app")] + apps.map { ($0, $0) },
            selected: chosen?.app ?? Self.everyApp)
        return "<div class=\"fields\">\(role.markup)\(app.markup)</div>"
    }

    // MARK: - Links

    private func linksPanel(in frame: Frame) -> Markup {
        let rows = links.enumerated().map { number, link -> Markup in
            let withdraw = Dialog(
                id: "withdraw-\(number)", button: "Take it back",
                title: "Take back the link for \(.bdi(link.name))",
                sentences: "<p class=\"soft\">It no longer works.</p>",
                path: .act("withdraw", onOperator: link.name),
                submit: "Take back \(.bdi(link.name))")
            let acts: Markup =
                frame.viewer.managesOperators
                ? "\(withdraw.buttonMarkup)\(withdraw.dialogMarkup(in: frame))" : ""
            return Table.row(
                .init(.bdi(link.name)),
                [
                    .init(link.roles.map(Self.roles) ?? "another password"),
                    .init(.bdi(link.author)), .init("\(frame.time(link.until))"), .init(acts),
                ])
        }
        return Panel(
            title: "Open links",
            content: Table(
                name: "Links",
                columns: [
                    .init("Name"), .init("For"), .init("By"), .init("Until"),
                    .init("<span class=\"vh\">Acts</span>"),
                ], rows: rows
            ).markup, classes: "flush"
        ).markup
    }

    private var invitation: Dialog {
        Dialog(
            id: "invite", button: "Invite somebody", title: "Invite somebody",
            sentences: """
                <p class="soft">You get a link for them, which is shown once. With it, they choose \
                a password.</p>
                """, path: .operators,
            fields: """
                <div><label for="i-n">Name</label><input id="i-n" name="name" required \
                maxlength="64" autocomplete="off" placeholder="mira"></div>\
                \(roleFields("i", nil))
                """, submit: "Make the link", buttonClasses: "btn go")
    }
}
