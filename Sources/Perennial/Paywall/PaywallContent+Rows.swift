import Foundation

extension Perennial.PaywallContent.Row {
    init(
        _ product: Perennial.Product, _ standing: PaywallSituation.Standing, _ wording: Wording,
        _ situation: PaywallSituation
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
                .text(before: product.displayPrice, every: product.period, wording)
        }
        if isPlan, canBuy {
            disclosure = wording.text(.disclosure, [.price: terms ?? product.displayPrice])
            plans =
                product.plans.count > 1 || product.plans.contains(where: \.isCommitment)
                ? product.plans.map { .init($0, isNew: standing.action == .subscribe, wording) }
                : []
        }
    }
}

extension Perennial.PaywallContent.PlanRow {
    /// - Parameter isNew: whether the customer would begin a subscription. False if the customer
    ///   would change to another product.
    init(_ plan: Perennial.Plan, isNew: Bool, _ wording: Wording) {
        let terms = wording.price(plan.displayPrice, every: plan.billingPeriod)
        self.init(
            plan: plan, title: plan.payments.map { wording.text(.payments, count: $0) } ?? terms,
            terms: terms, total: plan.isCommitment ? wording.total(of: plan) : nil,
            disclosure: wording.disclosure(of: plan, terms: terms))
        if isNew {
            trial = plan.offers.first { $0.kind == .introductory && $0.isEligible }?
                .text(before: plan.displayPrice, every: plan.billingPeriod, wording)
        }
    }
}

extension Wording {
    /// The price with its period. Nil for a product that is bought to keep.
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

    /// The total that a customer promises to pay.
    func total(of plan: Perennial.Plan) -> String {
        text(
            .planTotal,
            [.total: plan.totalDisplayPrice, .length: length(plan.totalPeriod)])
    }

    /// The text that App Review requires beside the button of a plan.
    func disclosure(of plan: Perennial.Plan, terms: String) -> String {
        guard plan.isCommitment else { return text(.disclosure, [.price: terms]) }
        guard let payments = plan.payments else {
            return text(.disclosure, [.price: "\(terms), \(total(of: plan))"])
        }
        return text(
            .planDisclosure, count: payments,
            [
                .price: plan.displayPrice, .total: plan.totalDisplayPrice,
                .length: length(plan.totalPeriod),
            ])
    }

    /// The title of a row's button. Nil if the row shows a checkmark instead.
    func actionTitle(_ action: Perennial.PaywallContent.Action, for product: Perennial.Product)
        -> String?
    {
        switch action {
        case .owned, .included: nil
        case .renew: text(.renew)
        case .switchPlan: text(.switchPlan)
        case .pending: text(.waiting)
        default: text([.renewing, .term].contains(product.kind) ? .subscribe : .buy)
        }
    }

    func status(_ status: PaywallSituation.Status) -> String {
        switch status {
        case .renews(let day): text(.renewsOn, [.date: date(day)])
        case .ends(let day): text(.endsOn, [.date: date(day)])
        case .paidUntil(let day): text(.paidUntil, [.date: date(day)])
        case .changes(let name, let day): text(.changesOn, [.name: name, .date: date(day)])
        case .begins(let day): text(.beginsOn, [.date: date(day)])
        case .endsAfterMonth(let months): text(.endsAfterMonth, count: months)
        case .familyShared: text(.familyShared)
        case .assigned: text(.assigned)
        case .paymentProblem: text(.paymentProblem)
        case .waiting(.approval): text(.waitingForApproval)
        case .waiting(.restore): text(.waitingForRestore)
        case .waiting: text(.waitingForServer)
        case .checking: text(.checking)
        }
    }
}
