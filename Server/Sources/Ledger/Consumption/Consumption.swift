/// Whether the purchase was delivered.
package enum Delivery: String, Hashable, Sendable, CaseIterable {
    case delivered
    case qualityIssue = "quality_issue"
    case wrongProduct = "wrong_product"
    case serverOutage = "server_outage"
    case other
}

/// Which decision the app prefers for a customer's refund request.
package enum RefundPreference: String, Hashable, Sendable, CaseIterable {
    case decline
    case grantFull = "grant_full"
    /// The app prefers that only the unused part is refunded.
    case grantProrated = "grant_prorated"
}

/// The response to the App Store about a purchase whose refund is requested.
package struct ConsumptionResponse: Hashable, Sendable {
    package var delivery: Delivery
    /// How much of the purchase was used, in thousandths of a percent. Nil if unknown, and for
    /// subscriptions.
    package var used: Int64?
    /// Whether the customer could try the content before buying.
    package var hadSample: Bool
    package var preference: RefundPreference?

    package init(
        delivery: Delivery, used: Int64?, hadSample: Bool, preference: RefundPreference?
    ) {
        self.delivery = delivery
        self.used = used
        self.hadSample = hadSample
        self.preference = preference
    }
}

/// The report of the app's server about the use of one purchase.
package struct PurchaseUsage: Hashable, Sendable {
    package var transaction: TransactionID
    package var delivery: Delivery
    /// How much of the purchase was used, in thousandths of a percent. Nil to use the figure that
    /// Perennial computes.
    package var used: Int64?

    package init(transaction: TransactionID, delivery: Delivery, used: Int64?) {
        self.transaction = transaction
        self.delivery = delivery
        self.used = used
    }
}

/// Whether to respond to the App Store's inquiries, and with which data.
package struct ConsumptionRules: Hashable, Sendable {
    package enum Policy: String, Hashable, Sendable, CaseIterable {
        /// Nothing is sent, and no inquiry is recorded.
        case never
        /// Responses are sent only about customers who have given consent.
        case withConsent = "with_consent"
    }

    package var policy: Policy
    package var hasSample: Bool
    package var preference: RefundPreference?

    package init(
        policy: Policy = .never, hasSample: Bool = false, preference: RefundPreference? = nil
    ) {
        self.policy = policy
        self.hasSample = hasSample
        self.preference = preference
    }

    /// - Parameters:
    ///   - payment: the payment whose refund is requested.
    ///   - used: how much of the payment is used up, according to the stored data.
    ///   - told: the report of the app's server, which takes precedence over the stored data.
    ///   - hadSample: whether the customer could try the content, according to the app's server;
    ///     nil to use the value of these rules.
    package func response(
        about payment: Payment, used: Int64?, told: PurchaseUsage?, hadSample: Bool?
    ) -> ConsumptionResponse {
        let delivery = told?.delivery ?? .delivered
        var answer = ConsumptionResponse(
            delivery: delivery, used: nil, hadSample: hadSample ?? hasSample,
            preference: preference)
        guard payment.kind != .autoRenewable else { return answer }
        answer.used = delivery == .delivered ? told?.used ?? used : 0
        guard preference == .grantProrated else { return answer }
        // A partial refund is possible only if a part of the purchase is unused.
        switch answer.used {
        case nil: answer.preference = nil
        case .some(...0): answer.preference = .grantFull
        case .some(Percentage.whole...): answer.preference = .decline
        case .some: break
        }
        return answer
    }
}

// MARK: - Numbers

/// A payment whose refund is requested. Contains the payment from its timeline, and every
/// transaction number under which it was reported.
package struct InquiredPayment: Hashable, Sendable {
    package var payment: Payment
    /// All numbers of the payment, without duplicates. First comes the number that the inquiry
    /// names, then the number in the timeline, then the other numbers in ascending order.
    package var numbers: [TransactionID]

    package init(payment: Payment, numbers: [TransactionID]) {
        self.payment = payment
        self.numbers = numbers
    }

    /// The report of the app's server about the payment, under any of the payment's numbers. If
    /// there are several reports, the report under the number that comes first in ``numbers``.
    package func usage(among uses: [PurchaseUsage]) -> PurchaseUsage? {
        for number in numbers {
            if let use = uses.first(where: { $0.transaction == number }) { return use }
        }
        return nil
    }
}

extension Timeline {
    /// The payment that was reported under a number. Returns nil if no fact names the number. A
    /// payment may be reported under several numbers, and its period contains only one of them.
    ///
    /// - Parameter facts: the facts that this timeline is made of.
    package func payment(
        askedAboutBy number: TransactionID, among facts: [Fact]
    ) -> InquiredPayment? {
        var told: [(number: TransactionID, period: Period)] = []
        for fact in facts where fact.purchase == purchase {
            guard case .payment(let payment) = fact.statement,
                let period = period(toldBy: payment, fact.grade)
            else { continue }
            told.append((payment.transaction, period))
        }
        let own = told.filter { $0.number == number }.map(\.period)
        // A period that is not void is preferred.
        guard let period = own.last(where: { !$0.isVoid }) ?? own.last else { return nil }
        let kept = period.payment.transaction
        let others = Set(told.filter { $0.period.id == period.id }.map(\.number))
            .subtracting([number, kept]).sorted()
        let numbers = kept == number ? [number] : [number, kept]
        return InquiredPayment(payment: period.payment, numbers: numbers + others)
    }
}

// MARK: - Use

extension Wallet {
    /// How much of a transaction's credit is spent, in thousandths of a percent. Credits of
    /// purchases are spent in the order of purchase, before manual credits. Returns nil if the
    /// transaction credited nothing.
    package func usedShare(of transaction: TransactionID) -> Int64? {
        spent(of: transaction).map { Self.share($0.amount, of: $0.credited) }
    }

    /// How much of a transaction's credit is spent, and how much it credited. Returns nil if the
    /// transaction credited nothing.
    package func spent(of transaction: TransactionID) -> (amount: Int64, credited: Int64)? {
        var kept: [(transaction: TransactionID, amount: Int64)] = []
        var credited: Int64?
        // The spent part of manual credits is subtracted first: the sum of these credits minus the
        // part that is left.
        var spent = given
        for entry in entries {
            switch entry.cause {
            case .purchase(let id, _):
                kept.append((id, entry.amount))
                if id == transaction { credited = entry.amount }
            case .refund(let id, _):
                // The part that was spent before the refund stays spent.
                if let index = kept.firstIndex(where: { $0.transaction == id }) {
                    kept[index].amount += entry.amount
                }
            case .debit, .credit: spent -= entry.amount
            }
        }
        guard let credited, credited > 0 else { return nil }
        for (id, amount) in kept {
            let share = min(amount, spent)
            guard id != transaction else { return (max(0, share), credited) }
            spent -= share
        }
        return nil
    }

    private static func share(_ part: Int64, of whole: Int64) -> Int64 {
        part * Percentage.whole / whole
    }
}

extension TermRules {
    /// The share of the bought time of a transaction that has passed, in thousandths of a percent.
    /// Returns nil if the transaction bought no time.
    package func usedShare(
        of transaction: TransactionID, among timelines: [Timeline], at now: Instant
    ) -> Int64? {
        let bought = terms(of: timelines).first { $0.payment.transaction == transaction }
        guard let term = bought, term.from < term.until else { return nil }
        let length = term.until.milliseconds - term.from.milliseconds
        let passed = min(max(0, now.milliseconds - term.from.milliseconds), length)
        return passed * Percentage.whole / length
    }
}
