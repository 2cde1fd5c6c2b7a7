import PerennialContract

/// The part of the screen with the customer's settings: renewal, card, refund, family.
struct PhoneSettings {
    let state: PhoneState
    let hint: PhoneAct?

    init(_ state: PhoneState, hint: PhoneAct?) {
        self.state = state
        self.hint = hint
    }

    var markup: Markup {
        let device = state.device
        return """
            \(group)\(renewal)\
            \(toggle(
                .switchCard, "My card works", isOn: device.cardWorks,
                device.cardWorks ? "switch off: renewals fail" : "renewals are refused"))
            \(refund)\
            \(restore)\
            \(entry(.switchScreen, "Family and privacy", choices, isDisabled: false))
            """
    }

    /// The choices that fill another screen of the phone.
    var choicesMarkup: Markup {
        let device = state.device
        return """
            \(entry(.switchScreen, "Back to the birds", "", isDisabled: false))\
            \(toggle(
                .switchParent, "Ask a parent first", isOn: device.asksParent,
                "each purchase waits for them"))\
            \(toggle(
                .switchFamily, "Share with my family", isOn: device.sharesWithFamily,
                device.sharesWithFamily ? "ben is in it" : "\(shareable)"))\
            \(toggle(
                .switchConsumption, "Apple may learn how I use it", isOn: device.allowsConsumption,
                "before it decides on a refund"))
            """
    }

    /// The choices and whether they are on.
    private var choices: Markup {
        let device = state.device
        let words: [Markup] = [
            device.asksParent ? "parent" : "",
            device.sharesWithFamily ? "family" : "",
            device.allowsConsumption ? "Apple" : "",
        ]
        let on = words.filter { !$0.isEmpty }
        return on.isEmpty ? "ask a parent, share" : "on: \(on.joined(by: ", "))"
    }

    private var running: BookedPurchase? { state.subscription.flatMap { $0.isOver ? nil : $0 } }

    private var shareable: Markup {
        let names = state.products.filter(\.isFamilyShareable).map {
            PhoneScreen.name(of: $0, in: state)
        }
        return names.isEmpty
            ? "nothing here can be shared" : "\(names.joined(separator: " and ")) can be shared"
    }

    /// A link to the screen with the group.
    private var group: Markup {
        guard let group = state.group else { return "" }
        let taken = "\(group.seats - group.free) of \(Figures.count(group.seats, "seat")) taken"
        return entry(.switchGroup, "My group", "\(taken)", isDisabled: false)
    }

    private var renewal: Markup {
        let small: Markup =
            switch running?.willRenew {
            case nil: "nothing to renew"
            case true?: "switch off to cancel"
            case false?: "cancelled"
            }
        return toggle(
            .switchRenewal, "Renew automatically", isOn: running?.willRenew == true, small,
            isDisabled: running == nil)
    }

    private var refund: Markup {
        let decided = state.refund.map { Markup(text: CivilTime($0.decidedAt).date) }
        return entry(
            .requestRefund, decided == nil ? "Ask for a refund" : "Refund asked for",
            decided.map { "Apple decides on \($0)" }
                ?? (mustPayFirst ? "first let the card work" : ""),
            isDisabled: decided != nil || state.refundableID == nil)
    }

    /// Whether a refund will be possible once the payment is collected.
    private var mustPayFirst: Bool { state.refundableID == nil && running?.isRetried == true }

    private var restore: Markup {
        let count = state.device.restoredCount
        let iPads: Markup = "\(count) \(count == 1 ? "iPad" : "iPads")"
        let isOpen = state.access?.active == true
        return entry(
            .restoreElsewhere, "Restore on another device",
            count == 0 ? "" : isOpen ? "open on \(iPads), too" : "restored on \(iPads)",
            isDisabled: state.books.isEmpty)
    }

    private func toggle(
        _ act: PhoneAct, _ title: Markup, isOn: Bool, _ small: Markup, isDisabled: Bool = false
    ) -> Markup {
        let button = PhoneButton(act: act, isHinted: act == hint, isDisabled: isDisabled)
        return """
            <button \(button.attributes("it")) role="switch" \
            aria-checked="\(isOn ? "true" : "false")"><span>\(title)\
            <small>\(small)</small></span><i class="sw"></i></button>
            """
    }

    private func entry(
        _ act: PhoneAct, _ title: Markup, _ small: Markup, isDisabled: Bool
    ) -> Markup {
        let button = PhoneButton(act: act, isHinted: act == hint, isDisabled: isDisabled)
        return """
            <button \(button.attributes("it"))><span>\(title)\
            \(small.isEmpty ? "" : "<small>\(small)</small>")</span>\
            <span class="muted" aria-hidden="true">›</span></button>
            """
    }
}

extension PhoneState {
    /// The transaction whose refund the customer can request. If a subscription is paid, this is
    /// its transaction; otherwise it is the newest purchase.
    package var refundableID: String? {
        let own = books.filter { !$0.isShared && $0.isOpen && !$0.isRetried }
        let subscription = own.last { product($0.productID)?.period != nil }
        return (subscription ?? own.last)?.refundableID
    }
}
