import PerennialContract

/// The page on which a visitor signs in with a passkey or a recovery code, or adds their first
/// passkey.
package struct PasskeyPage: Sendable {
    /// The server's host, which tells the visitor where they sign in.
    package var host: String
    package var step: Step
    package var request: PasskeyForm.Request
    /// Why the last answer was refused, as a sentence.
    package var trouble: String?

    package enum Step: Sendable, Hashable {
        /// A passkey alone.
        case alone
        /// After the password.
        case second(name: String)
        /// After the password of an operator who needs a passkey.
        ///
        /// - Parameter agent: the browser's `User-Agent`, of which the name of the passkey is made.
        case first(name: String, agent: String)
    }

    package init(
        host: String, step: Step, request: PasskeyForm.Request, trouble: String? = nil
    ) {
        self.host = host
        self.step = step
        self.request = request
        self.trouble = trouble
    }

    package func html() -> String {
        Card(
            title: title, host: host,
            content: "\(trouble.map(Self.say))\(content)\(Self.back)",
            scripts: [PasskeyForm.script]
        ).html()
    }

    /// The page of a request that has ended.
    package static func ended(host: String) -> Card {
        Card(
            title: "This sign-in has ended", host: host,
            content: """
                <p>It was used before, took longer than ten minutes, or began in another window. \
                Sign in again, in one window.</p>\(back)
                """)
    }

    /// The page after too many attempts.
    package static func shut(
        by limit: LoginPage.Limit, until: Timestamp, host: String
    ) -> Card {
        Card(
            title: "Too many tries", host: host,
            content: "\(say(limit.sentence(until: until)))\(back)")
    }

    private static let back: Markup = """
        <p><a href="\(DashboardPath.login.text)">Sign in another way</a></p>
        """

    private static func say(_ trouble: String) -> Markup {
        """
        <div class="say bad" role="alert">\(Icon.warning.markup)<div>\(.bdi(trouble))</div></div>
        """
    }

    private var title: String {
        switch step {
        case .alone: "Sign in with a passkey"
        case .second: "One more step"
        case .first: "Add a passkey"
        }
    }

    private var content: Markup {
        switch step {
        case .alone: signForm
        case .second(let name):
            """
            <p>The password of \(.bdi(name)) is right. Now use your passkey, or a recovery code.\
            </p>\(signForm)\(Self.codeForm)
            """
        case .first(let name, let agent):
            """
            <p>The password of \(.bdi(name)) is right. On this server everybody with a password \
            needs a passkey, too: it is in your device or password manager, and asks for your \
            PIN, finger or face.</p>\(makeForm(agent))
            """
        }
    }

    private var signForm: Markup {
        PasskeyForm(
            path: Markup(text: DashboardPath.passkeySignIn.text), request: request,
            makesPasskey: false, isImmediate: step == .alone && trouble == nil,
            button: "Use a passkey"
        ).markup
    }

    private func makeForm(_ agent: String) -> Markup {
        PasskeyForm(
            path: Markup(text: DashboardPath.enrolment.text), request: request,
            makesPasskey: true, fields: PasskeyForm.nameField(agent: agent),
            button: "Add a passkey"
        ).markup
    }

    private static let codeForm: Markup = """
        <details><summary>Your passkey is lost</summary>\
        <form method="post" action="\(DashboardPath.recovery.text)">\
        <div><label for="code">Recovery code</label><input id="code" name="code" required \
        maxlength="40" autocomplete="one-time-code" autocapitalize="none" spellcheck="false"></div>\
        <button class="btn" type="submit">Use the code</button></form>\
        <p class="muted small">No code is left? A shell on the server removes your passkeys: \
        <code>perennial operators remove-passkeys NAME</code></p></details>
        """
}
