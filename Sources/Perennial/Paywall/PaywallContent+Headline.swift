import Foundation

extension Perennial.PaywallContent.Headline {
    init(_ situation: PaywallSituation, _ wording: Wording, calendar: Calendar) {
        if situation.plans.contains(where: situation.isKeptForGood) {
            self.init(kind: .unlocked, text: wording.text(.unlocked))
        } else if let open = situation.openSubscription {
            self.init(open, situation, wording, calendar: calendar)
        } else if situation.hasPaymentProblem {
            self.init(kind: .paymentProblem, text: wording.text(.paymentProblem))
        } else if !situation.snapshot.isKnown || situation.isAnythingUnknown {
            self.init(kind: .unknown, text: nil)
        } else if situation.plans.isEmpty && !situation.offering.products.isEmpty {
            self.init(kind: .nothing, text: nil)
        } else {
            self.init(kind: .notSubscribed, text: wording.text(.notSubscribed))
        }
    }

    /// The headline while a subscription is open.
    private init(
        _ open: Perennial.Access, _ situation: PaywallSituation, _ wording: Wording,
        calendar: Calendar
    ) {
        guard open.state != .grace else {
            self.init(kind: .paymentProblem, text: wording.text(.paymentProblem))
            return
        }
        let days = open.daysRemaining(at: situation.date, calendar: calendar)
        let left = days.flatMap { $0 > 0 ? $0 : nil }
        let text: String
        if let months = situation.lastMonth(of: open) {
            text = wording.text(.subscribedEndsAfterMonth, count: months)
        } else if open.willRenew == true, let until = open.until, until > situation.date {
            text = wording.text(.subscribedRenews, [.date: wording.date(until)])
        } else if let left {
            text = wording.text(.subscribedDays, count: left)
        } else {
            text = wording.text(.subscribed)
        }
        self.init(kind: .subscribed, text: text, daysRemaining: left)
    }
}

extension PaywallSituation {
    /// The products that are subscriptions.
    var plans: [Product] { offering.products.filter { [.renewing, .term].contains($0.kind) } }

    /// The open access that lasts longest. Ignores access that was bought to keep.
    var openSubscription: Access? {
        subscribedAccess.filter { $0.isActive && $0.state != .owned }.max {
            ($0.until ?? .distantFuture) < ($1.until ?? .distantFuture)
        }
    }

    /// Whether some access is shut because a renewal could not be charged.
    var hasPaymentProblem: Bool {
        subscribedAccess.contains { $0.state == .retry }
            || snapshot.subscriptions.contains {
                $0.state == .retry && !$0.isOfAnother && isOffered($0.product)
            }
    }

    var isAnythingUnknown: Bool { subscribedAccess.contains { !$0.isKnown } }

    func lastMonth(of access: Access) -> Int? {
        snapshot.subscriptions.first { $0.product == access.product && $0.commitment != nil }
            .flatMap(lastMonth)
    }

    /// The access that subscriptions of this offering can give; all access if the offering has no
    /// products.
    private var subscribedAccess: [Access] {
        if let everything { return [snapshot[everything]] }
        if offering.products.isEmpty {
            return snapshot.access.values.sorted {
                $0.entitlement.rawValue < $1.entitlement.rawValue
            }
        }
        let entitlements = Set(plans.flatMap(\.entitlements))
        return entitlements.sorted { $0.rawValue < $1.rawValue }.map { snapshot[$0] }
    }

    private func isOffered(_ id: Perennial.ProductID) -> Bool {
        offering.products.isEmpty || product(id) != nil
    }
}
