import PerennialContract

/// A customer's transfers, blocks, and manual grants.
struct CustomerMovements {
    var page: CustomerPage

    private var id: String { page.id }

    func markup(in frame: Frame) -> Markup {
        var panels: [Markup] = []
        let moved = page.transfers.filter { $0.kind != nil }
        if !moved.isEmpty || !page.blocked.isEmpty {
            let lines = moved.enumerated().map { transfer($1, number: $0, in: frame) }
            let kept = page.blocked.enumerated().map { block($1, number: $0, in: frame) }
            panels.append(Panel(title: "Transfers", content: (lines + kept).joined()).markup)
        }
        if !page.grants.isEmpty {
            let lines = page.grants.enumerated().map { grant($1, number: $0, in: frame) }
            panels.append(Panel(title: "Grants", content: lines.joined()).markup)
        }
        return panels.joined()
    }

    private func transfer(_ transfer: Transfer, number: Int, in frame: Frame) -> Markup {
        let what = Markup.bdi(transfer.originalTransactionID)
        let when: Markup = transfer.at.map { "On \(frame.day($0)) " } ?? ""
        let why = frame.viewer.seesReasons ? transfer.reason ?? "" : ""
        let reason: Markup = why.isEmpty ? "" : ": \(.bdi(why))"
        let fate: Markup = transfer.undoneAt.map { " Undone on \(frame.day($0))." } ?? ""
        let line: Markup = """
            <p class="small soft">\(when)\(evidence(transfer)) \(.bdi(transfer.kind ?? "moved")) \
            \(what) \(way(transfer, in: frame))\(reason).\(fate)</p>
            """
        guard let transferID = transfer.transferID, transfer.undoneAt == nil else { return line }
        let back = transfer.from.map(Markup.bdi) ?? "no customer"
        return act(
            beside: line,
            Dialog(
                id: "undo\(number)", button: "Take it back", title: "Take the move back?",
                sentences: """
                    <p class="soft">\(what) goes back to \(back), and an event is recorded for \
                    each. If it was moved again since, nothing changes.</p>
                    """, path: .undo(transferID, of: id), submit: "Take \(what) back"),
            in: frame)
    }

    private func evidence(_ transfer: Transfer) -> Markup {
        switch transfer.evidence {
        case "support": "support"
        case "token": "an account token"
        case "device": "a device"
        default: "somebody"
        }
    }

    private func way(_ transfer: Transfer, in frame: Frame) -> Markup {
        if transfer.to == id {
            return transfer.from.map { "here from \(frame.customer($0))" } ?? "here"
        }
        return "away to \(frame.customer(transfer.to))"
    }

    private func block(_ transaction: String, number: Int, in frame: Frame) -> Markup {
        let what = Markup.bdi(transaction)
        return act(
            beside: "<p class=\"small soft\">Kept with \(page.name): \(what).</p>",
            Dialog(
                id: "unkeep\(number)", button: "Stop keeping it here",
                title: "Stop keeping \(what) here?",
                sentences: """
                    <p class="soft">It stays with \(page.name) for now. A restore on another \
                    device can move it, as your restore policy says. You can keep it again.</p>
                    """, path: .blockEnd(transaction, of: id),
                submit: "Stop keeping \(what) here"), in: frame)
    }

    private func grant(_ grant: Grant, number: Int, in frame: Frame) -> Markup {
        let until = grant.until.map { "until \(frame.time($0))" } ?? "until taken back"
        let isOver =
            grant.withdrawnAt != nil || grant.until.map { $0 <= frame.now } ?? false
        let fate: Markup =
            grant.withdrawnAt.map { ", taken back on \(frame.day($0))" } ?? (isOver ? ", over" : "")
        let reason: Markup = frame.viewer.seesReasons ? ": \(.bdi(grant.reason))" : ""
        let line: Markup = """
            <p class="small soft"><b>\(.bdi(grant.entitlement))</b> from \(frame.day(grant.from)) \
            \(until)\(fate)\(reason)</p>
            """
        guard !isOver else { return line }
        return act(
            beside: line,
            Dialog(
                id: "withdraw\(number)", button: "Take it back",
                title: "Take \(.bdi(grant.entitlement)) back?",
                sentences: """
                    <p class="soft">The grant ends at once. What \(page.name) has \
                    bought stays. You cannot undo this, but you can give it again.</p>
                    """, path: .withdrawal(of: grant.grantID, from: id),
                submit: "Take \(.bdi(grant.entitlement)) back"), in: frame)
    }

    private func act(beside line: Markup, _ dialog: Dialog, in frame: Frame) -> Markup {
        guard frame.viewer.mayHelp else { return line }
        return """
            <div><div class="row end">\(line)\(dialog.buttonMarkup)</div>\
            \(dialog.dialogMarkup(in: frame))</div>
            """
    }
}
