/// A form that an authenticator fills in: it makes a passkey, or signs with one.
package struct PasskeyForm: Sendable {
    /// What the browser sends to the authenticator. All bytes are in base64url.
    package struct Request: Sendable {
        package var challenge: String
        package var host: String
        package var operatorName: String
        package var user: String
        package var passkeys: [String]

        package init(
            challenge: String, host: String, operatorName: String, user: String, passkeys: [String]
        ) {
            self.challenge = challenge
            self.host = host
            self.operatorName = operatorName
            self.user = user
            self.passkeys = passkeys
        }
    }

    /// The script that every page with such a form loads.
    package static let script = Asset(
        name: "passkey", fileExtension: "js", contentType: "text/javascript; charset=utf-8",
        bytes: PackageResources.passkey_js)

    var path: Markup
    var request: Request
    /// Whether the authenticator makes a passkey, instead of signing with one.
    var makesPasskey: Bool
    /// Whether the browser asks at once, without a click.
    var isImmediate = false
    /// The token of the session. Empty on the pages of the sign-in.
    var csrf: Markup = ""
    var fields: Markup = ""
    var button: Markup

    private static let made: [Markup] = ["client", "attestation"]
    private static let signed: [Markup] = [
        "credential", "client", "authenticator", "signature", "user",
    ]

    var markup: Markup {
        let sent = (makesPasskey ? Self.made : Self.signed).map { name -> Markup in
            "<input type=\"hidden\" name=\"\(name)\" data-sent>"
        }
        return """
            <form method="post" action="\(path)" class="stack" \
            data-passkey="\(makesPasskey ? "make" : "sign")"\(isImmediate ? " data-now" : "") \
            data-challenge="\(.value(request.challenge))" data-host="\(.value(request.host))" \
            data-name="\(.value(request.operatorName))" data-user="\(.value(request.user))" \
            data-ids="\(.value(request.passkeys.joined(separator: " ")))">\
            \(csrf)<div class="say bad" role="alert" hidden data-say>\(Icon.warning.markup)\
            <div></div></div>\(fields)\(sent.joined())<div class="row">\
            <button class="btn go" type="submit" disabled>\(button)</button></div>\
            <noscript><p class="muted small">A passkey needs scripts: allow them for this \
            page.</p></noscript></form>
            """
    }

    /// The field with the name of a new passkey.
    ///
    /// - Parameter agent: the browser's `User-Agent`. The name of the browser is proposed.
    static func nameField(agent: String) -> Markup {
        """
        <div><label for="pk-n">Name of the passkey</label><input id="pk-n" name="name" required \
        maxlength="60" autocomplete="off" \
        value="\(.value(BrowserName(userAgent: agent).text))"></div>
        """
    }
}
