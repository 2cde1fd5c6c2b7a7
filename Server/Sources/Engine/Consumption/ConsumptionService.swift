import AppStoreClient
import AppStoreFormats
import Ledger
import Storage

/// What an app's server reports about a customer whose purchases may be refunded.
package struct ConsumptionReport: Hashable, Sendable {
    package var isConsentGiven: Bool
    /// Whether the customer could try the content before buying. If nil, the app's configured rules
    /// apply.
    package var hadSample: Bool?
    /// Whether an earlier report about a sample stays valid, whatever this report says.
    package var keepsSample: Bool
    package var uses: [PurchaseUsage]

    /// The maximum number of purchases in one report.
    package static let usesMax = 100

    package init(
        isConsentGiven: Bool, hadSample: Bool? = nil, keepsSample: Bool = false,
        uses: [PurchaseUsage] = []
    ) {
        self.isConsentGiven = isConsentGiven
        self.hadSample = hadSample
        self.keepsSample = keepsSample
        self.uses = uses
    }
}

/// The App Store's inquiries about a customer's purchases, and the stored data for our responses.
package struct ConsumptionState: Hashable, Sendable {
    /// The customer's consent or refusal. Nil if neither a consent nor a refusal was recorded.
    package var consent: Consent?
    package var uses: [PurchaseUsage]
    /// The App Store's inquiries, in the order in which it made them.
    package var inquiries: [StoredConsumptionInquiry]
}

/// What apps report about consumption, and our responses to Apple's inquiries.
package struct ConsumptionService: Sendable {
    let context: Context

    /// Records what an app's server reports about a customer, and reschedules open inquiries. A new
    /// consent replaces the previous one, and a new use of a purchase replaces that purchase's
    /// previous use. Idempotent: an action that repeats known values gets no second entry in the
    /// audit.
    ///
    /// - Parameter isByApp: whether the request has an app key.
    package func record(
        _ report: ConsumptionReport, of id: CustomerID, app appID: AppID, environment: Environment,
        isByApp: Bool = false
    ) async throws(EngineFailure) -> ConsumptionState {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        guard report.uses.count <= ConsumptionReport.usesMax else {
            throw .limitExceeded(what: "purchases in a report", limit: ConsumptionReport.usesMax)
        }
        let now = context.now()
        let wait = isByApp ? context.growth.wait(of: app, at: now) : nil
        let (state, added) = try await context.decide { tx -> Decision<(ConsumptionState, Int)> in
            let new = try IdentityDecisions(tx).countUnknown([id], in: appID)
            if let wait, new > 0 { return .refused(.growthBudgetExhausted(wait: wait)) }
            let customer = try IdentityUpdates(tx).customer(id, in: appID, at: now).customer
            let isNew = try ConsumptionDecisions(tx).save(
                report, of: customer, in: appID, environment: environment, at: now)
            let purchases = try ConsumptionDecisions(tx).purchases(
                of: id, in: app, environment: environment)
            try tx.inquiries.reschedule(about: purchases, in: appID, at: now)
            let state = try ConsumptionDecisions(tx).consumption(
                of: id, in: app, environment: environment)
            return isNew ? .done((state, new)) : .unchanged((state, new))
        }
        if isByApp { context.growth.add(added, of: app, at: now) }
        return state
    }

    /// What was reported about a customer, and the App Store's inquiries with our responses.
    package func state(
        of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> ConsumptionState {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        return try await context.read { tx in
            try ConsumptionDecisions(tx).consumption(of: id, in: app, environment: environment)
        }
    }

    // MARK: - Responses

    /// The maximum number of an app's inquiries that are processed one after the other under one
    /// lease.
    private static let inquiriesMax = 8
    /// The pauses between attempts to send a response.
    private static let responseBackoff = ExponentialBackoff(first: .seconds(60), longest: .hours(1))
    /// How long before the deadline the last attempt is made.
    private static let responseMargin = Duration.seconds(60)

    /// Responds to the App Store's consumption inquiries that are due. Returns how many were
    /// processed; 0 if nothing is due.
    ///
    /// Idempotent and safe for several servers at once: each inquiry is leased to one server.
    /// Nothing is sent without consent. A failed response is retried until Apple's limit of twelve
    /// hours, and then abandoned.
    package func respondToInquiries() async throws(EngineFailure) -> Int {
        let now = context.now()
        let worker = context.reconciliationSettings.worker
        var count = 0
        for (id, app) in context.apps.sorted(by: { $0.key < $1.key }) {
            let isDue = try await context.read { tx in
                try tx.queues.hasDue(.consumptionInquiries, of: id, by: now)
            }
            guard isDue else { continue }
            let leased = try await context.transaction { tx in
                try tx.inquiries.lease(
                    of: id, dueBy: now, limit: Self.inquiriesMax, for: worker)
            }
            for question in leased {
                let end = try await respond(question, of: app)
                let ended = self.context.now()
                try await context.transaction { tx in
                    try ConsumptionUpdates(tx).complete(
                        question, end, in: id, by: worker.holder, at: ended)
                }
            }
            count += leased.count
        }
        return count
    }

    private func respond(
        _ stored: StoredConsumptionInquiry, of app: AppSettings
    ) async throws(EngineFailure) -> ConsumptionOutcome {
        let now = context.now()
        let question = stored.inquiry
        guard app.consumption.policy != .never else {
            return .withheld("The configuration says that no consumption data is sent.")
        }
        let answer = try await context.read { tx in
            try ConsumptionDecisions(tx).response(to: question, in: app, at: now)
        }
        guard let answer else {
            let why = try await context.read { tx in
                try ConsumptionDecisions(tx).reasonForNoConsent(to: question, in: app)
            }
            return now < question.deadline
                ? .later(question.deadline, why, isAttempt: false) : .withheld(why)
        }
        guard now < question.deadline else {
            return .givenUp(stored.lastError ?? "The twelve hours for the response are over.")
        }
        guard let client = context.reconciliationSettings.appStore(app.id) else {
            return retry(stored, "No App Store key is configured for this app.", at: now)
        }
        do throws(AppStoreFailure) {
            try await client.sendConsumption(
                Consumption(answer), of: question.transaction.rawValue,
                in: question.purchase.storeEnvironment)
            return .answered(answer)
        } catch {
            switch error {
            case .refused: return .givenUp("\(error)")
            case .rateLimited(let until):
                return retry(stored, "\(error)", at: max(now, Instant(until)))
            case .unavailable where Task.isCancelled:
                // If this server is stopping, the App Store did not cause the failure.
                let trouble = stored.lastError ?? "The server was stopped."
                return .later(now, trouble, isAttempt: false)
            case .unknownID, .unauthorized, .unavailable, .unreadable:
                return retry(stored, "\(error)", at: now)
            }
        }
    }

    private func retry(
        _ stored: StoredConsumptionInquiry, _ why: String, at now: Instant
    ) -> ConsumptionOutcome {
        let last = stored.inquiry.deadline - Self.responseMargin
        guard now < last else { return .givenUp(why) }
        let pause = Self.responseBackoff.delay(after: stored.attempts + 1)
        return .later(min(now + pause, last), why, isAttempt: true)
    }
}

extension Consumption {
    /// Converts a response to the App Store's format.
    fileprivate init(_ answer: ConsumptionResponse) {
        let delivery: Delivery =
            switch answer.delivery {
            case .delivered: .delivered(consumedMilliunits: answer.used)
            case .qualityIssue: .undelivered(.qualityIssue)
            case .wrongProduct: .undelivered(.wrongProduct)
            case .serverOutage: .undelivered(.serverOutage)
            case .other: .undelivered(.other)
            }
        let preference: Preference? =
            switch answer.preference {
            case .decline?: .decline
            case .grantFull?: .grantFull
            case .grantProrated?: .grantProrated
            case nil: nil
            }
        self.init(delivery: delivery, hadSample: answer.hadSample, preference: preference)
    }
}
