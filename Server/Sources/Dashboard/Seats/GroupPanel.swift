import PerennialContract

/// A group on its purchaser's page: how many seats, what they cost, who has them, and who is
/// invited.
struct GroupPanel {
    var content: CustomerGroup
    /// The purchaser.
    var customerID: String
    /// The panel's position on the page.
    var number: Int
    var formKey: String

    /// The maximum number of invitations on a page.
    static let invitationsMax = 5

    var group: SeatGroup { content.group }
    var original: String { group.originalTransactionID }
    var name: Markup { .id(customerID) }

    func markup(in frame: Frame) -> Markup {
        Panel(
            title: "Group of \(.bdi(group.productID))",
            side: DocumentLink.all(of: original, in: frame),
            content: """
                \(facts(in: frame))\(notice)\(parts(in: frame))\
                \(content.isOurs ? members(in: frame) + invitations(in: frame) : "")
                """, id: "group-\(number)"
        ).markup
    }

    // MARK: - Numbers

    private func facts(in frame: Frame) -> Markup {
        var facts: [(Markup, Markup)] = [("Seats now", seats), ("At renewal", atRenewal)]
        if let claimed = group.claimed, let waiting = group.waiting {
            facts.append(("Members", members(claimed, waiting)))
        }
        if let renewsAt = group.renewsAt {
            facts.append(("Renews", "\(frame.time(renewsAt))"))
        } else if let endsAt = group.endsAt {
            facts.append(("Ends", "\(frame.time(endsAt))"))
        }
        let lines = facts.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" as Markup }
        return "<dl class=\"facts\">\(lines.joined())</dl>"
    }

    private var seats: Markup {
        guard content.isRunning else { return "none: the subscription does not run" }
        return "<b>\(Figures.count(group.seats))</b>, one of them \(name)’s own"
    }

    private var atRenewal: Markup {
        group.seatsAtRenewal.map { "\(Figures.count($0))" }
            ?? "<span class=\"muted\">Apple has not said</span>"
    }

    private func members(_ claimed: Int, _ waiting: Int) -> Markup {
        var words: Markup = "\(Figures.count(max(0, claimed - waiting), "seat")) taken"
        if let available = group.available, content.isRunning {
            words += ", \(Figures.count(available)) free"
        }
        if waiting > 0 { words += ", \(Figures.count(waiting, "member waits", "members wait"))" }
        return words
    }

    /// Why something is absent or does not work.
    private var notice: Markup {
        switch group.invitations {
        case .developer where !content.isRunning:
            """
            <p class="soft">The members have no access by it. If \(name) pays again within 28 \
            days, they have it again.</p>
            """
        case .developer: ""
        case .apple:
            """
            <p class="soft">Apple invites the members of this group, and gives each of them a \
            transaction of their own. Apple does not say who they are, so nobody is listed or \
            released here.</p>
            """
        default:
            """
            <p class="soft">Apple has not said who invites the members of this group, so nobody is \
            listed or released here.</p>
            """
        }
    }

    // MARK: - Payments

    private func parts(in frame: Frame) -> Markup {
        guard !content.parts.isEmpty else { return "" }
        let rows = content.parts.map { part -> Markup in
            let refunded: Markup =
                part.refunded > 0 ? ", \(Figures.count(part.refunded)) of them refunded" : ""
            return Table.row(
                .init("\(frame.day(part.at))"),
                [
                    .init("\(Figures.count(part.seats, "seat"))\(refunded)"),
                    .init(Self.tiers(part.tiers), "full"),
                    .init(part.paid.map { "\(Figures.money($0))" } ?? "–", "num"),
                ])
        }
        return Table(
            name: "Payments for the seats of \(original)",
            columns: [
                .init("Paid on"), .init("Seats"), .init("Price of one"), .number("Sum"),
            ], rows: rows, foot: foot
        ).markup
    }

    private static func tiers(_ tiers: [CustomerGroup.Tier]) -> Markup {
        guard !tiers.isEmpty else { return "–" }
        return tiers.map { tier -> Markup in
            "\(Figures.count(tier.count)) × \(Figures.money(tier.price))"
        }.joined(by: ", ")
    }

    /// The sum of several payments in one currency.
    private var foot: Markup {
        let paid = content.parts.compactMap(\.paid)
        let sums = paid.compactMap(\.milliunits)
        guard content.parts.count > 1, sums.count == content.parts.count,
            Set(paid.map(\.currency)).count == 1, let currency = paid.first?.currency
        else { return "" }
        let (total, isTooMuch) = sums.reduce((Int64(0), false)) { sum, one in
            let (total, isTooMuch) = sum.0.addingReportingOverflow(one)
            return (total, sum.1 || isTooMuch)
        }
        guard !isTooMuch else { return "" }
        let sum = Money(milliunits: total, currency: currency)
        return """
            <tr><th scope="row">Together</th><td>\(Figures.count(seatsPaid, "seat"))</td><td></td>\
            <td class="num">\(Figures.money(sum))</td></tr>
            """
    }

    private var seatsPaid: Int { content.parts.map { $0.seats - $0.refunded }.reduce(0, +) }

    // MARK: - Members

    private func members(in frame: Frame) -> Markup {
        guard !group.claims.isEmpty else {
            return "<h3>Members</h3><p class=\"soft\">Nobody has joined yet.</p>"
        }
        let rows = group.claims.enumerated().map { place, claim -> Markup in
            Table.row(
                .init(frame.customer(claim.customerID)),
                [
                    .init(Chip(claim.standing).markup, "r"),
                    .init("since \(frame.time(claim.claimedAt))", "full"),
                    .init(release(claim, place, in: frame)),
                ])
        }
        let table = Table(
            name: "Members of the group of \(customerID)",
            columns: [
                .init("Member"), .init("Seat"), .init("Joined"),
                .init("<span class=\"vh\">Acts</span>"),
            ], rows: rows)
        return "<h3>Members</h3>\(table.markup)\(pages(in: frame))"
    }

    private func pages(in frame: Frame) -> Markup {
        let path = DashboardPath.customer(customerID)
        let first: Markup =
            content.isFirstPage
            ? ""
            : "<a class=\"btn s\" href=\"\(frame.link(path))#group-\(number)\">First members</a>"
        let next: Markup =
            group.nextCursor.map { cursor in
                let more = path.with("group", original).with("members", cursor)
                return """
                    <a class="btn s" href="\(frame.link(more))#group-\(number)">More members</a>
                    """
            } ?? ""
        return first.isEmpty && next.isEmpty ? "" : "<p class=\"row\">\(first)\(next)</p>"
    }

    private func release(_ claim: SeatClaim, _ place: Int, in frame: Frame) -> Markup {
        guard frame.viewer.mayHelp else { return "" }
        let member = claim.customerID.map { Markup.id($0) } ?? "the member"
        let dialog = Dialog(
            id: "release\(number)-\(place)", button: "Release",
            title: "Take \(member)’s seat back?",
            sentences: """
                <p class="soft">\(member) loses the access that it gives at once, and an event is \
                recorded. The seat is free for somebody else. You cannot undo this; \(member) can \
                join again by another invitation.</p>
                """, path: .release(of: claim.claimID, from: customerID),
            submit: "Take \(member)’s seat back", isGrave: true)
        return dialog.buttonMarkup + dialog.dialogMarkup(in: frame)
    }
}
