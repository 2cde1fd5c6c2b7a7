import PerennialContract

extension AccountPage {
    /// The passkeys of the operator.
    package struct Passkeys: Sendable {
        package var passkeys: [Passkey]
        /// The number of recovery codes that were not used.
        package var codesLeft: Int
        /// Whether the operator must type the password before a change, because the sign-in was
        /// some time ago.
        package var needsPassword: Bool
        /// Whether every operator with a password needs a passkey.
        package var areRequired: Bool

        package init(
            passkeys: [Passkey], codesLeft: Int, needsPassword: Bool, areRequired: Bool
        ) {
            self.passkeys = passkeys
            self.codesLeft = codesLeft
            self.needsPassword = needsPassword
            self.areRequired = areRequired
        }
    }

    package struct Passkey: Sendable {
        /// The id in base64url.
        package var id: String
        package var name: String
        package var createdAt: Timestamp
        package var usedAt: Timestamp?

        package init(id: String, name: String, createdAt: Timestamp, usedAt: Timestamp?) {
            self.id = id
            self.name = name
            self.createdAt = createdAt
            self.usedAt = usedAt
        }
    }

    /// What the page says about passkeys.
    package enum PasskeyState: Sendable {
        /// Nothing: the operator has no password, or the configuration turns passkeys off.
        case hidden
        /// Browsers make no passkeys at the address of the dashboard.
        case impossible(origin: String)
        case possible(Passkeys)
    }

    func passkeyPanel(in frame: Frame) -> Markup {
        switch passkeys {
        case .hidden: ""
        case .impossible(let origin):
            Panel(
                title: "Passkeys",
                content: """
                    <p>Browsers make no passkeys at \(.bdi(origin)). An admin of this server can \
                    set <code>dashboard.url</code> to an https address with a host name, or to \
                    <code>http://localhost</code> with a port.</p>
                    """
            ).markup
        case .possible(let found): panel(of: found, in: frame)
        }
    }

    private func panel(of found: Passkeys, in frame: Frame) -> Markup {
        let add = Dialog(
            id: "passkey-add", button: "Add a passkey", title: "Add a passkey",
            sentences: """
                <p class="soft">With it you can sign in without the password. The password alone \
                is then not enough any more.</p>
                """,
            path: .passkeys("new"), fields: Self.confirmation("pk-add-p", found),
            submit: "Go on")
        let list =
            found.passkeys.isEmpty
            ? "<p>You have none. The password alone signs you in.</p>"
            : table(of: found, in: frame)
        let own = Panel(
            title: "Passkeys", side: add.buttonMarkup,
            content: "\(list)\(add.dialogMarkup(in: frame))",
            classes: found.passkeys.isEmpty ? "" : "flush")
        return """
            \(passkeyTrouble.map(Self.say))\(own.markup)\
            \(found.passkeys.isEmpty ? "" : codePanel(found, in: frame))
            """
    }

    private func table(of found: Passkeys, in frame: Frame) -> Markup {
        let rows = found.passkeys.enumerated().map { number, passkey -> Markup in
            let acts = acts(on: passkey, number, found)
            return Table.row(
                .init(.bdi(passkey.name)),
                [
                    .init("\(frame.time(passkey.createdAt))"),
                    .init(passkey.usedAt.map { "\(frame.time($0))" } ?? "never"),
                    .init(
                        """
                        <div class="row">\(acts.map(\.buttonMarkup).joined())</div>\
                        \(acts.map { $0.dialogMarkup(in: frame) }.joined())
                        """),
                ])
        }
        return Table(
            name: "Passkeys",
            columns: [
                .init("Name"), .init("Added"), .init("Last used"),
                .init("<span class=\"vh\">Acts</span>"),
            ], rows: rows
        ).markup
    }

    private func acts(on passkey: Passkey, _ number: Int, _ found: Passkeys) -> [Dialog] {
        let id: Markup = """
            <input type="hidden" name="passkey" value="\(.value(passkey.id))">
            """
        let rename = Dialog(
            id: "passkey-name-\(number)", button: "Rename",
            title: "Rename \(.bdi(passkey.name))", sentences: "",
            path: .passkeys("name"),
            fields: """
                \(id)<div><label for="pk-n-\(number)">Name</label><input id="pk-n-\(number)" \
                name="name" required maxlength="60" autocomplete="off" \
                value="\(.value(passkey.name))"></div>
                """, submit: "Rename it")
        let remove = Dialog(
            id: "passkey-remove-\(number)", button: "Remove",
            title: "Remove \(.bdi(passkey.name))", sentences: Self.consequence(found),
            path: .passkeys("remove"),
            fields: "\(id)\(Self.confirmation("pk-r-\(number)", found))",
            submit: "Remove \(.bdi(passkey.name))", isGrave: true)
        return [rename, remove]
    }

    /// What follows if a passkey is removed.
    private static func consequence(_ found: Passkeys) -> Markup {
        let sessions: Markup = """
            Sessions continue: if the device was stolen, also sign out everywhere. The device may \
            still offer the passkey until you delete it there, too.
            """
        guard found.passkeys.count == 1 else { return "<p class=\"soft\">\(sessions)</p>" }
        let next: Markup =
            found.areRequired
            ? "At your next sign-in you must add another one."
            : "Then the password alone signs you in again."
        return """
            <p class="soft">This is your only passkey. \(next) Your recovery codes end.</p>\
            <p class="soft">\(sessions)</p>
            """
    }

    private func codePanel(_ found: Passkeys, in frame: Frame) -> Markup {
        let make = Dialog(
            id: "codes", button: found.codesLeft == 0 ? "Make codes" : "Make new codes",
            title: "Make recovery codes",
            sentences: """
                <p class="soft">You get ten codes, which are shown once. Codes that you have now \
                no longer work.</p>
                """,
            path: .passkeys("codes"), fields: Self.confirmation("pk-c", found),
            submit: "Make ten codes")
        let content: Markup =
            found.codesLeft == 0
            ? """
            <div class="say warn" role="status">\(Icon.warning.markup)<div>You have no recovery \
            code. If you lose your passkey, somebody with a shell on the server must let you in.\
            </div></div>
            """
            : "<p>\(found.codesLeft) of your codes \(found.codesLeft == 1 ? "is" : "are") left.</p>"
        return Panel(
            title: "Recovery codes", side: make.buttonMarkup,
            content: "\(content)\(make.dialogMarkup(in: frame))"
        ).markup
    }

    /// The field for the password, if the operator must confirm who they are.
    private static func confirmation(_ id: Markup, _ found: Passkeys) -> Markup {
        guard found.needsPassword else { return "" }
        return """
            <div><label for="\(id)">Your password</label><input id="\(id)" name="password" \
            type="password" autocomplete="current-password" required></div>
            """
    }
}

/// The page on which an operator who has signed in adds a passkey.
package struct NewPasskeyPage: Sendable {
    package var request: PasskeyForm.Request
    /// The browser's `User-Agent`, of which the name of the passkey is made.
    package var agent: String

    package init(request: PasskeyForm.Request, agent: String) {
        self.request = request
        self.agent = agent
    }

    package func html(in frame: Frame) -> String {
        let form = PasskeyForm(
            path: frame.link(.passkeys()), request: request, makesPasskey: true,
            csrf: frame.csrf, fields: PasskeyForm.nameField(agent: agent), button: "Add a passkey")
        return Layout(
            title: "Add a passkey", section: .none, heading: "Add a passkey",
            lede: "Your device or password manager asks for your PIN, finger or face.",
            isWide: false, scripts: [PasskeyForm.script],
            content: """
                <div class="stack">\(Panel(title: "A new passkey", content: form.markup).markup)\
                <p><a href="\(frame.link(.account))">Back to your account</a></p></div>
                """
        ).html(in: frame)
    }
}

/// The page that shows new recovery codes, once.
package struct RecoveryCodesPage: Sendable {
    package var codes: [String]

    package init(codes: [String]) { self.codes = codes }

    package func html(in frame: Frame) -> String {
        let list = codes.map { "\($0)" as Markup }.joined(by: "\n")
        return Layout(
            title: "Recovery codes", section: .none, heading: "Your recovery codes",
            lede: "They are shown only now. Each works once, after your password.",
            isWide: false,
            content: """
                <div class="stack"><section class="panel"><header><h2>Ten codes</h2>\
                <p><button class="btn s" type="button" data-copy>Copy</button></p></header>\
                <pre class="copy"><code>\(list)</code></pre>\
                <p class="soft">Print them, or store them where you do not need this passkey to \
                read them.</p></section>\
                <p><a class="btn go" href="\(frame.link(.account))">I have stored them</a></p></div>
                """
        ).html(in: frame)
    }
}
