import PerennialContract

/// The screen of the phone: what the app sells, and what a customer can do in the settings.
struct PhoneScreen {
    let state: PhoneState
    let hint: PhoneAct?

    init(_ state: PhoneState, hint: PhoneAct?) {
        self.state = state
        self.hint = hint
    }

    var markup: Markup {
        let now = CivilTime(state.now)
        return """
            <div class="screen" id="screen"><div class="status"><span>\(now.clock) UTC</span>\
            <span class="island"></span><span>\(now.day) \(now.shortMonth)</span></div>
            \(hero)
            \(content)
            <div class="homebar"></div>\(sheet)</div>
            """
    }

    private var content: Markup {
        if state.device.showsGroup, let group = state.group {
            return PhoneGroupScreen(state: state, group: group, hint: hint).markup
        }
        return state.device.showsChoices ? choices : app
    }

    private var app: Markup {
        """
        <div class="group">\(plans.map(row).joined())</div>
        <div class="group">\(once.map(row).joined())</div>
        <div class="group">\(PhoneSettings(state, hint: hint).markup)</div>
        """
    }

    private var choices: Markup {
        "<div class=\"group\">\(PhoneSettings(state, hint: hint).choicesMarkup)</div>"
    }

    private var plans: [PhoneProduct] { state.products.filter { $0.period != nil } }
    private var once: [PhoneProduct] { state.products.filter { $0.period == nil } }
    private var isOpen: Bool { state.access?.active == true }
    private var running: BookedPurchase? { state.subscription.flatMap { $0.isOver ? nil : $0 } }

    private func button(_ act: PhoneAct, isDisabled: Bool = false) -> PhoneButton {
        PhoneButton(act: act, isHinted: act == hint, isDisabled: isDisabled)
    }

    // MARK: - The app

    private var hero: Markup {
        let right = Markup.bdi(
            state.entitlement.prefix(1).uppercased() + state.entitlement.dropFirst())
        let until = state.access?.until.map { Markup(text: CivilTime($0).date) }
        let words: Markup =
            if isOpen, state.access?.state == .grace {
                "Still open. Please update your payment method."
            } else if isOpen {
                until.map { "\(right) is open until \($0)" } ?? "\(right) is open."
            } else if state.access?.state == .refunded {
                "Refunded. Wake the birds again?"
            } else if state.access != nil {
                "\(right) has ended. Wake the birds again?"
            } else {
                "120 songs wait for you in \(right)."
            }
        return """
            <div class="hero\(isOpen ? "" : " shut")">\(Self.bird)<p><strong>\
            \(isOpen ? "Dawn chorus, unlocked" : "Dawn chorus, asleep")</strong>\(words)</p></div>
            """
    }

    private func row(_ product: PhoneProduct) -> Markup {
        """
        <div class="it"><span>\(.bdi(Self.name(of: product, in: state)))\
        <small>\(small(product))</small></span>\(buyButton(product))</div>
        """
    }

    /// The name of a plan: its period, unless two plans have the same period.
    static func name(of product: PhoneProduct, in state: PhoneState) -> String {
        guard let period = product.period,
            state.products.count(where: { $0.period == period }) == 1
        else { return product.name }
        return period.adverb
    }

    private func small(_ product: PhoneProduct) -> Markup {
        if state.pending?.productID == product.id { return "a parent is asked" }
        if let period = product.period {
            guard let trial = product.freeTrial, running == nil else {
                return "\(product.price) \(period.rate)"
            }
            return "\(trial.span) free, then \(product.price)"
        }
        guard let wallet = product.wallet else {
            return product.isConsumable ? "to use" : "to keep"
        }
        let balance = state.customer.wallets[wallet]?.balance ?? 0
        return balance == 0 ? "to feed them" : "you have \(Figures.count(balance))"
    }

    private func buyButton(_ product: PhoneProduct) -> Markup {
        let (word, isDisabled) = label(product)
        let name = Markup.bdi(Self.name(of: product, in: state))
        let button = button(.openSheet(product.id), isDisabled: isDisabled)
        return """
            <button \(button.attributes("buy"))>\(word)<span class="vh"> \(name)</span></button>
            """
    }

    private func label(_ product: PhoneProduct) -> (Markup, isDisabled: Bool) {
        if state.pending?.productID == product.id { return ("Asked", true) }
        guard product.period != nil else {
            let isOwned = state.customer.oneTime.contains {
                $0.productID == product.id && $0.revokedAt == nil
            }
            return isOwned && !product.isConsumable
                ? ("Yours", true) : (Markup(text: product.price), false)
        }
        guard let running else { return (product.freeTrial == nil ? "Buy" : "Try free", false) }
        let next = running.renewsTo ?? running.productID
        switch (running.productID == product.id, next == product.id) {
        case (true, true) where state.asksForSeats(of: product): return ("Add seats", false)
        case (true, true): return ("Yours", true)
        case (true, false): return ("Stay", running.isRetried)
        case (false, true): return ("Next", true)
        case (false, false): return ("Switch", running.isRetried)
        }
    }

    // MARK: - The payment sheet

    private var sheet: Markup {
        guard let product = state.product(state.device.sheet) else { return "" }
        let refused: Markup =
            state.device.cardWorks ? "" : " <b class=\"down\">Your card will be refused.</b>"
        let parent: Markup = state.device.asksParent ? " A parent is asked first." : ""
        return """
            <div class="shade"><div class="sheet" role="dialog" aria-label="Buy">\
            <div class="row end">\
            <b>\(.bdi(product.name))</b><span class="muted">App Store</span></div>\
            \(people(product))\
            <div class="muted small">\(terms(product))\(parent)\(refused)</div>\
            <button \(button(.confirmSheet).attributes("buy"))>Confirm</button>\
            <button \(button(.closeSheet).attributes("alt2"))>Not now</button></div></div>
            """
    }

    /// The buttons that choose the number of people for a product with seats. Empty for other
    /// products.
    private func people(_ product: PhoneProduct) -> Markup {
        guard state.asksForSeats(of: product) else { return "" }
        return """
            <div class="row end"><button \(button(.fewerSeats).attributes("btn s"))>−\
            <span class="vh"> one seat fewer</span></button>\
            <b>\(Figures.count(state.device.seats, "person", "people"))</b>\
            <button \(button(.moreSeats).attributes("btn s"))>+\
            <span class="vh"> one seat more</span></button></div>
            """
    }

    /// The price of several seats.
    private func seatTerms(_ product: PhoneProduct, _ period: PhonePeriod) -> Markup? {
        let seats = state.device.seats
        guard state.asksForSeats(of: product), seats > 1 else { return nil }
        let all = 1..<seats + 1
        let together = Figures.money(product.cost(of: all))
        guard let present = state.presentSeats(of: product.id) else {
            return """
                \(product.breakdown(of: all)): <b>\(together)</b> \(period.rate), until cancelled.
                """
        }
        let added = all.dropFirst(present)
        return """
            Now \(product.breakdown(of: added)): <b>\(Figures.money(product.cost(of: added)))</b> \
            for \(Figures.count(added.count, "more seat")). Then \(together) \(period.rate).
            """
    }

    private func terms(_ product: PhoneProduct) -> Markup {
        guard let period = product.period else { return "\(product.price), once." }
        if let terms = seatTerms(product, period) { return terms }
        if let running, running.productID != product.id || running.renewsTo != product.id {
            let end = running.until.map { Markup(text: CivilTime($0).date) } ?? "the next period"
            return "From \(end). Nothing is charged now."
        }
        if let trial = product.freeTrial {
            return "Free for \(trial.span), then \(product.price) \(period.rate)."
        }
        return "\(product.price) \(period.rate), until cancelled."
    }

    /// The bird sings while the app is unlocked.
    private static let bird: Markup = """
        <svg viewBox="0 0 300 131" class="bird" aria-hidden="true"><path class="wood" \
        d="M-5 112Q70 98 150 108T305 100" fill="none" stroke-width="7" stroke-linecap="round"/>\
        <path class="leaf" d="M52 102c-6-22-22-30-42-30 2 22 18 34 42 30zM246 104c4-20 18-30 40-31 \
        0 21-16 33-40 31z"/><path class="b2" d="M98 84 62 100l6 7 44-10z"/><path class="b1" \
        d="M92 86c0-26 20-48 48-48 8-14 36-16 44 4 3 8 1 15-2 20 2 30-24 46-52 44-24-1-38-8-38-20z\
        "/><path class="b3" d="M182 62c2 24-16 42-40 44-4-14 4-34 40-44z"/><path class="b2" \
        d="M100 84c4-20 22-30 44-28 0 22-18 34-44 28z"/><path class="b2" d="m186 44 17 5-17 6z"/>\
        <circle class="eye" cx="170" cy="45" r="3.6"/><path d="M136 105v6m12-6v6" class="wood" \
        stroke-width="3"/><path class="note" \
        d="M222 52V32l14-4v19a4.5 4 0 1 1-3-4V33l-8 2.5v17a4.5 4 0 1 1-3-4z"/>\
        <path class="note n2" d="M254 32V14h2.5c1 5 7 6 7 12-1-3-4-4-6.5-4v12a4.5 4 0 1 1-3-4z"/>\
        <text class="zz" x="206" y="40">z z</text></svg>
        """
}
