import PerennialContract

extension GroupPanel {
    /// The invitations that can be used, and how another one is made.
    func invitations(in frame: Frame) -> Markup {
        let open = content.invitations
        let act = content.isRunning && frame.viewer.mayHelp ? invite : nil
        let button = act.map { $0.buttonMarkup + $0.dialogMarkup(in: frame) }
        return """
            <div class="row end"><h3>Invitations</h3>\(button)</div>\
            \(open.isEmpty ? "<p class=\"soft\">None is open.</p>" : table(open, in: frame))
            """
    }

    private func table(_ open: [SeatInvitation], in frame: Frame) -> Markup {
        let rows = open.prefix(Self.invitationsMax).enumerated().map { place, invitation in
            Table.row(
                .init(invitation.customerID.map { frame.customer($0) } ?? "anyone who has it"),
                [
                    .init("made \(frame.time(invitation.createdAt))", "full"),
                    .init("until \(frame.time(invitation.expiresAt))", "full"),
                    .init(acts(on: invitation, place, in: frame)),
                ])
        }
        let table = Table(
            name: "Invitations to the group of \(customerID)",
            columns: [
                .init("For"), .init("Made"), .init("Can be used"),
                .init("<span class=\"vh\">Acts</span>"),
            ], rows: rows)
        return "\(table.markup)\(rest(of: open.count))"
    }

    private func rest(of count: Int) -> Markup {
        let rest = count - Self.invitationsMax
        guard rest > 0 else { return "" }
        return """
            <p class="muted small">And \(Figures.count(rest, "older one")): \
            <code>GET /v1/purchases/\(.bdi(original))/invitations</code></p>
            """
    }

    // MARK: - Acts

    private static let (daysDefault, daysMax) = (7, 30)

    private var invite: Dialog {
        Dialog(
            id: "invite\(number)", button: "Invite somebody",
            title: "Invite somebody to the group of \(name)",
            sentences: """
                <p class="soft">The next page shows a token, once. Your app lets one person join \
                with it. It reserves no seat.</p>
                """, path: .invitations(to: original, of: customerID),
            fields: """
                <input type="hidden" name="key" value="\(.value(formKey))">\
                <div><label for="i-c\(number)">For which customer (empty: anyone who has the token)\
                </label><input id="i-c\(number)" name="customer_id" autocomplete="off"></div>\
                <div><label for="i-d\(number)">Days it can be used</label>\
                <input id="i-d\(number)" name="days" type="number" min="1" max="\(Self.daysMax)" \
                step="1" required value="\(Self.daysDefault)"></div>
                """, submit: "Make an invitation")
    }

    private func acts(
        on invitation: SeatInvitation, _ place: Int, in frame: Frame
    ) -> Markup {
        guard frame.viewer.mayHelp else { return "" }
        let withdraw = Dialog(
            id: "withdraw-i\(number)-\(place)", button: "Withdraw",
            title: "Withdraw this invitation?",
            sentences: """
                <p class="soft">Nobody can join with its token any more. You cannot undo this, but \
                you can make another one.</p>
                """,
            path: .act("withdraw", on: invitation.invitationID, to: original, of: customerID),
            submit: "Withdraw the invitation")
        let again = Dialog(
            id: "again-i\(number)-\(place)", button: "Send again",
            title: "Replace this invitation?",
            sentences: """
                <p class="soft">Its token was shown once and is not stored. The next page shows \
                another one, for the same person and for as long. The former token no longer \
                works.</p>
                """, path: .act("renew", on: invitation.invitationID, to: original, of: customerID),
            submit: "Replace the invitation")
        let all = content.isRunning ? [again, withdraw] : [withdraw]
        return """
            <div class="row">\(all.map(\.buttonMarkup).joined())</div>\
            \(all.map { $0.dialogMarkup(in: frame) }.joined())
            """
    }
}
