import PerennialContract

/// A seat, on the page of its member.
struct SeatPanel {
    var seat: CustomerSeat
    /// The member.
    var customerID: String
    /// The panel's position on the page.
    var number: Int

    private var name: Markup { .id(customerID) }

    func markup(in frame: Frame) -> Markup {
        Panel(
            title: "A seat of a group", side: Chip(seat.standing).markup,
            content: sentence(in: frame) + waiting + release(in: frame), id: "seat-\(number)"
        ).markup
    }

    private func sentence(in frame: Frame) -> Markup {
        let product = Markup.bdi(seat.productID)
        let payer: Markup =
            seat.purchaserID.map { "\(frame.customer($0)) pays for it" }
            ?? "Who pays for it is not known here"
        return """
            <p>\(name) joined a group of \(product) on \(frame.longTime(seat.claimedAt)). \
            \(payer).</p>
            """
    }

    private var waiting: Markup {
        guard seat.standing == .waiting else { return "" }
        return """
            <p class="soft">There are fewer seats than members, and others joined earlier. As soon \
            as there is a seat, \(name) has access again.</p>
            """
    }

    private func release(in frame: Frame) -> Markup {
        guard frame.viewer.mayHelp else { return "" }
        let dialog = Dialog(
            id: "leave\(number)", button: "Release the seat", title: "Take \(name)’s seat back?",
            sentences: """
                <p class="soft">\(name) loses the access that it gives at once, and an event is \
                recorded. You cannot undo this; \(name) can join again by another invitation.</p>
                """, path: .release(of: seat.claimID, from: customerID),
            submit: "Take \(name)’s seat back", isGrave: true)
        return "<div class=\"row\">\(dialog.buttonMarkup)</div>\(dialog.dialogMarkup(in: frame))"
    }

    /// A seat that the App Store gave.
    static func assigned(_ subscription: Subscription, of customerID: String) -> Markup {
        let name = Markup.id(customerID)
        return Panel(
            title: "A seat that Apple gave",
            content: """
                <p>Somebody else pays for \(name)’s \(.bdi(subscription.productID)): a group whose \
                members Apple invites, or an organization.</p>\
                <p class="soft">Apple does not say which. Only they can take the seat back, with \
                Apple; then Apple tells this server.</p>
                """
        ).markup
    }
}

extension CustomerPage {
    /// The groups that the customer pays for, and the customer's seats in other groups. The element
    /// is updated live, so it exists even if there are no groups and seats.
    func groupPanels(in frame: Frame) -> Markup {
        let assigned = customer.subscriptions.filter {
            $0.ownership == .assigned && $0.seat == nil
        }
        let panels =
            groups.enumerated().map { number, group in
                GroupPanel(content: group, customerID: id, number: number, formKey: formKey)
                    .markup(in: frame)
            }
            + seats.enumerated().map { number, seat in
                SeatPanel(seat: seat, customerID: id, number: number).markup(in: frame)
            } + assigned.map { SeatPanel.assigned($0, of: id) }
        guard !panels.isEmpty else { return "<div id=\"groups\" hidden></div>" }
        return "<div class=\"stack\" id=\"groups\">\(panels.joined())\(moreGroups)</div>"
    }

    private var moreGroups: Markup {
        guard hasMoreGroups else { return "" }
        return """
            <p class="muted small">Older groups are left out: \
            <code>GET /v1/purchases/{original_transaction_id}/seats</code></p>
            """
    }
}
