import PerennialContract

/// The page after the form that makes an invitation. This page shows the invitation's token, once.
package struct InvitationPage: Sendable {
    /// The purchaser.
    package var customerID: String
    /// The invitation. The invitation's token is nil if the form was sent before.
    package var invitation: SeatInvitation

    package init(customerID: String, invitation: SeatInvitation) {
        self.customerID = customerID
        self.invitation = invitation
    }

    package func html(in frame: Frame) -> String {
        let name = Markup.id(customerID)
        let back: Markup = "<a href=\"\(frame.link(.customer(customerID)))\">\(name)</a>"
        return Layout(
            title: "An invitation", section: .customers,
            heading: "An invitation to the group of \(name)", lede: lede(in: frame),
            trail: "<a href=\"\(frame.link(.customers))\">Customers</a> / \(back) / Invitation",
            content: """
                <div class="stack">\(token)<p><a class="btn" \
                href="\(frame.link(.customer(customerID)))"><span>Back to \(name)</span></a></p>\
                </div>
                """
        ).html(in: frame)
    }

    private func lede(in frame: Frame) -> Markup {
        let whom: Markup =
            invitation.customerID.map { "\(frame.customer($0)) alone" }
            ?? "anyone who has its token"
        return "It is for \(whom), once, until \(frame.longTime(invitation.expiresAt))."
    }

    private var token: Markup {
        guard let token = invitation.token else {
            return """
                <div class="say warn" role="status">\(Icon.warning.markup)<div><strong>This \
                invitation was made already.</strong> Its token was shown then, and is not stored. \
                Nothing has changed. For another token, choose <b>Send again</b>.</div></div>
                """
        }
        return """
            <div class="say ok" role="status">\(Icon.check.markup)<div><strong>The token is shown \
            once.</strong> Put it into the link by which your app lets the person join, and send \
            it to them only.<pre class="copy"><code>\(.bdi(token))</code></pre>\
            <button class="link" type="button" data-copy="\(.value(token))">Copy</button>\
            </div></div>
            """
    }
}
