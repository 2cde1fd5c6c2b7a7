import Foundation

extension Perennial.Shelf.Row {
    init(
        _ product: Perennial.Product, _ standing: ShelfSituation.Standing, _ wording: Wording,
        _ situation: ShelfSituation
    ) {
        let terms = wording.terms(of: product)
        let isPlan = product.kind == .renewing
        self.init(
            id: product.id, title: product.name, action: standing.action,
            actionTitle: wording.actionTitle(standing.action, for: product),
            price: product.displayPrice, terms: terms,
            status: standing.status.map(wording.status),
            hasPaymentProblem: standing.status == .paymentProblem)
        if isPlan, standing.action == .subscribe {
            trial = product.offers.first { $0.kind == .introductory && $0.isEligible }?
                .text(for: product, wording)
        }
        if isPlan, canBuy {
            disclosure = wording.text(.disclosure, [.price: terms ?? product.displayPrice])
        }
    }
}

extension Wording {
    /// The price with its period. Nil for what is bought to keep.
    func terms(of product: Perennial.Product) -> String? {
        guard let period = product.period else { return nil }
        switch product.kind {
        case .renewing: return price(product.displayPrice, every: period)
        case .term:
            return text(
                .priceForLength, [.price: product.displayPrice, .length: length(period)])
        default: return nil
        }
    }

    /// The title of a row's button. Nil where a checkmark belongs.
    func actionTitle(_ action: Perennial.Shelf.Action, for product: Perennial.Product) -> String? {
        switch action {
        case .owned, .included: nil
        case .renew: text(.renew)
        case .switchPlan: text(.switchPlan)
        case .pending: text(.waiting)
        default: text([.renewing, .term].contains(product.kind) ? .subscribe : .buy)
        }
    }

    func status(_ status: ShelfSituation.Status) -> String {
        switch status {
        case .renews(let day): text(.renewsOn, [.date: date(day)])
        case .ends(let day): text(.endsOn, [.date: date(day)])
        case .paidUntil(let day): text(.paidUntil, [.date: date(day)])
        case .changes(let name, let day): text(.changesOn, [.name: name, .date: date(day)])
        case .begins(let day): text(.beginsOn, [.date: date(day)])
        case .endsAfterMonth(let months): text(.endsAfterMonth, count: months)
        case .familyShared: text(.familyShared)
        case .paymentProblem: text(.paymentProblem)
        case .waiting(.approval): text(.waitingForApproval)
        case .waiting(.restore): text(.waitingForRestore)
        case .waiting: text(.waitingForServer)
        case .checking: text(.checking)
        }
    }
}
