import PerennialContract

/// The actions of support for a customer: buttons, and the dialogs that they open.
struct CustomerActs {
    var page: CustomerPage

    var id: String { page.id }
    var name: Markup { page.name }

    /// The default length of a new grant, in days.
    private static let grantDaysDefault: Int64 = 30

    func markup(in frame: Frame) -> Markup {
        guard frame.viewer.mayHelp else { return "" }
        var dialogs = [grant(in: frame), move]
        if !keepable.isEmpty { dialogs.append(keep) }
        if !page.waitingQuestions.isEmpty { dialogs.append(consumption) }
        if page.isKnown, frame.viewer.mayConfigure { dialogs.append(erase) }
        let buttons = dialogs.map(\.buttonMarkup)
        let opened = dialogs.map { $0.dialogMarkup(in: frame) }
        return "<div class=\"row\">\(buttons.joined())</div>\(opened.joined())"
    }

    private func grant(in frame: Frame) -> Dialog {
        let until = Timestamp(
            milliseconds: frame.now.milliseconds + Self.grantDaysDefault * 86_400_000)
        let options = page.entitlements.map { entitlement -> Markup in
            let isAdvised: Markup = entitlement == page.failingEntitlement ? " selected" : ""
            return "<option value=\"\(.value(entitlement))\"\(isAdvised)>\(entitlement)</option>"
        }
        return Dialog(
            id: "grant", button: "Give access", title: "Give \(name) access",
            sentences: """
                <p class="soft">It opens at once, beside what \(name) has bought. Apple does not \
                learn of it, and no money moves. You can take it back.</p>
                """, path: .act("grants", on: id),
            fields: """
                <input type="hidden" name="key" value="\(.value(page.formKey))">\
                <div class="fields"><div><label for="g-e">What</label>\
                <select id="g-e" name="entitlement">\(options.joined())</select></div>\
                <div><label for="g-u">Until (empty: until taken back)</label>\
                <input id="g-u" name="until" type="date" value="\(CivilTime(until).isoDate)"></div>\
                </div>\(Dialog.reasonField("g-w"))
                """, submit: "Give \(name) access")
    }

    private var move: Dialog {
        Dialog(
            id: "move", button: "Move a purchase here", title: "Move a purchase to \(name)",
            sentences: """
                <p class="soft">The customer who has it now loses it, and an event is recorded. \
                You can undo this until the purchase is moved again.</p>
                """, path: .act("transfers", on: id),
            fields: """
                <div><label for="m-i">Number of a transaction, or of Apple’s order mail \
                (M…)</label>\
                <input id="m-i" name="query" required placeholder="2000001234567890 or MLQ4X2…">\
                </div>\(Dialog.reasonField("m-w"))
                """, submit: "Find the purchase")
    }

    /// Purchases that can be blocked in favour of the customer and are not blocked yet.
    private var keepable: [(product: String, transaction: String)] {
        page.purchases.flatMap { line in
            line.originalTransactionIDs.map { (line.productID, $0) }
        }.filter { !page.blocked.contains($0.1) }
    }

    private var keep: Dialog {
        let options = keepable.map { purchase -> Markup in
            """
            <option value="\(.value(purchase.transaction))">\(purchase.product), \
            \(purchase.transaction)\
            </option>
            """
        }
        return Dialog(
            id: "keep", button: "Keep with this customer", title: "Keep a purchase with \(name)",
            sentences: """
                <p class="soft">Restoring on another device does not move it, whatever the restore \
                policy says. This lasts until you end it, or move the purchase.</p>
                """, path: .act("blocks", on: id),
            fields: """
                <div><label for="k-p">What</label><select id="k-p" name="original_transaction_id">\
                \(options.joined())</select></div>\(Dialog.reasonField("k-w"))
                """, submit: "Keep with \(name)")
    }

    private var erase: Dialog {
        let count = page.erasedPurchases
        let purchases: Markup =
            switch count {
            case 0: ""
            case 1: "<li>Their purchase is unlinked. \(shown("it"))</li>"
            default:
                "<li>Their \(Figures.count(count)) purchases are unlinked. \(shown("one"))</li>"
            }
        let events = page.eventsCount.map { Figures.count($0, "event") } ?? "earlier events"
        return Dialog(
            id: "erase", button: "Erase this person", title: "Erase \(name)?",
            sentences: """
                <p>This cannot be undone. It is one act for production and the sandbox.</p>\
                <ul><li>All ids of \(name), grants, transfers and what was spent are removed.</li>\
                \(purchases)<li>Consumables that were used up stay used up.</li><li>In \(events) \
                their id is replaced by a pseudonym.</li><li>Documents that Apple signed stay \
                unchanged, because your accounts need them.</li></ul>
                """, path: .act("erase", on: id),
            fields: """
                <div><label for="e-c">Type <b>\(name)</b> to continue</label>\
                <input id="e-c" name="confirm" required autocomplete="off"></div>
                """, submit: "Erase \(name) for ever", isGrave: true)
    }

    private func shown(_ purchase: String) -> Markup {
        "If a device posts \(purchase) again, it starts a new customer."
    }
}
