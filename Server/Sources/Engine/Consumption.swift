import AppStoreClient
import AppStoreFormats
import Ledger
import Storage

package typealias Consent = Storage.Consent
package typealias StoredQuestion = Storage.StoredQuestion

/// What an app's server reports about a customer whose purchases may be refunded.
package struct ConsumptionReport: Hashable, Sendable {
    package var isConsentGiven: Bool
    /// If nil, the app's configured rules apply.
    package var hadSample: Bool?
    package var uses: [PurchaseUse]

    /// The maximum number of purchases in one report.
    package static let usesMax = 100

    package init(isConsentGiven: Bool, hadSample: Bool? = nil, uses: [PurchaseUse] = []) {
        self.isConsentGiven = isConsentGiven
        self.hadSample = hadSample
        self.uses = uses
    }
}

/// What is known for the App Store's consumption inquiries about a customer's purchases.
package struct ConsumptionState: Hashable, Sendable {
    /// Nil if consent was neither given nor refused.
    package var consent: Consent?
    package var uses: [PurchaseUse]
    /// In the order in which the App Store made them.
    package var questions: [StoredQuestion]
}

extension Engine {
    /// Records what an app's server reports about a customer, and reschedules open inquiries. A new
    /// consent replaces the previous one; so does each use of a purchase. Idempotent.
    package func put(
        _ report: ConsumptionReport, of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> ConsumptionState {
        let (app, _) = try app(appID)
        try id.requireMeaning()
        guard report.uses.count <= ConsumptionReport.usesMax else {
            throw .tooMuch(what: "purchases in a report", limit: ConsumptionReport.usesMax)
        }
        let now = now()
        return try await transaction { tx in
            let customer = try tx.customer(id, in: appID, at: now).customer
            try tx.put(
                Consent(isGiven: report.isConsentGiven, hadSample: report.hadSample, at: now),
                of: customer, in: appID)
            try tx.put(report.uses, of: customer, in: appID, environment: environment)
            let purchases = try tx.purchases(of: id, in: app, environment: environment)
            try tx.wakeQuestions(about: purchases, in: appID, at: now)
            return try tx.consumption(of: id, in: app, environment: environment)
        }
    }

    /// What was reported about a customer, and the App Store's inquiries with our responses.
    package func consumption(
        of id: CustomerID, app appID: AppID, environment: Environment
    ) async throws(EngineFailure) -> ConsumptionState {
        let (app, _) = try app(appID)
        try id.requireMeaning()
        return try await reading { tx in
            try tx.consumption(of: id, in: app, environment: environment)
        }
    }

    // MARK: - Responses

    /// Inquiries of one app that are processed one after the other under one lease.
    private static let questionsMax = 8
    /// The pauses between attempts.
    private static let answerPauses = DoublingPauses(first: .seconds(60), longest: .hours(1))
    /// The last attempt is made this long before the deadline.
    private static let answerMargin = Duration.seconds(60)

    /// Responds to the App Store's consumption inquiries that are due. Returns how many were
    /// processed; 0 if nothing is due.
    ///
    /// Idempotent and safe for several servers at once: each inquiry is leased to one server.
    /// Nothing is sent without consent. A failed response is retried until the twelve hours are
    /// over, and then abandoned.
    package func answerQuestions() async throws(EngineFailure) -> Int {
        let now = now()
        let worker = asking.worker
        var count = 0
        for (id, app) in apps.sorted(by: { $0.key < $1.key }) {
            guard try await reading({ tx in try tx.hasDueQuestions(of: id, dueBy: now) }) else {
                continue
            }
            let leased = try await transaction { tx in
                try tx.leaseQuestions(
                    of: id, dueBy: now, limit: Self.questionsMax, for: worker)
            }
            for question in leased {
                let end = try await answer(question, of: app)
                let ended = self.now()
                try await transaction { tx in
                    try tx.ended(question, end, in: id, by: worker.holder, at: ended)
                }
            }
            count += leased.count
        }
        return count
    }

    private func answer(
        _ stored: StoredQuestion, of app: AppSettings
    ) async throws(EngineFailure) -> ConsumptionEnd {
        let now = now()
        let question = stored.question
        guard app.consumption.policy != .never else {
            return .withheld("The configuration says that no consumption data is sent.")
        }
        let answer = try await reading { tx in try tx.answer(to: question, in: app, at: now) }
        guard let answer else {
            let why = try await reading { tx in try tx.whyNobodyAgreed(to: question, in: app) }
            return now < question.deadline
                ? .later(question.deadline, why, isAttempt: false) : .withheld(why)
        }
        guard now < question.deadline else {
            return .givenUp(stored.trouble ?? "The twelve hours for the response are over.")
        }
        guard let client = asking.appStore(app.id) else {
            return again(stored, "No App Store key is configured for this app.", at: now)
        }
        do throws(AppStoreFailure) {
            try await client.sendConsumption(
                Consumption(answer), of: question.transaction.rawValue,
                in: question.purchase.storeEnvironment)
            return .answered(answer)
        } catch {
            switch error {
            case .refused: return .givenUp("\(error)")
            case .tooMany(let until):
                return again(stored, "\(error)", at: max(now, Instant(until)))
            case .unavailable where Task.isCancelled:
                // If this server is stopping, the failure is not the App Store's.
                let trouble = stored.trouble ?? "The server was stopped."
                return .later(now, trouble, isAttempt: false)
            case .unknownThere, .unauthorized, .unavailable, .unreadable:
                return again(stored, "\(error)", at: now)
            }
        }
    }

    private func again(
        _ stored: StoredQuestion, _ why: String, at now: Instant
    ) -> ConsumptionEnd {
        let last = stored.question.deadline - Self.answerMargin
        guard now < last else { return .givenUp(why) }
        let pause = Self.answerPauses.pause(after: stored.attempts + 1)
        return .later(min(now + pause, last), why, isAttempt: true)
    }
}

extension StoreTransaction {
    /// Returns nil if the customer has not consented, or the buyer is unknown.
    fileprivate func answer(
        to question: ConsumptionQuestion, in app: AppSettings, at now: Instant
    ) throws -> ConsumptionAnswer? {
        let environment = question.purchase.environment
        guard let own = try timeline(of: question.purchase, in: app.id),
            let owner = try holder(of: question, in: app),
            let known = try customer(known: owner, in: app.id),
            let consent = try consent(of: known.customer, in: app.id), consent.isGiven,
            let asked = own.payment(
                askedAboutBy: question.transaction,
                among: try facts(about: question.purchase, in: app.id).map(\.fact))
        else { return nil }
        let payment = asked.payment
        let timelines = try timelines(
            of: known, known.ids, in: app, environment: environment)
        let payments = timelines.flatMap { $0.periods.map(\.payment) }
        let spent = try app.wallets.all.sorted().compactMap { currency in
            try wallet(currency, of: known.customer, payments, in: app, environment: environment)
                .used(of: payment.transaction)
        }.max()
        let told = try uses(of: known.customer, in: app.id, environment: environment)
        return app.consumption.answer(
            about: payment,
            used: spent ?? app.terms.used(of: payment.transaction, among: timelines, at: now),
            told: asked.told(among: told),
            hadSample: consent.hadSample)
    }

    fileprivate func whyNobodyAgreed(
        to question: ConsumptionQuestion, in app: AppSettings
    ) throws -> String {
        guard let holder = try holder(of: question, in: app) else {
            return "The purchase belongs to no customer, so nobody can have consented."
        }
        return try isPseudonym(holder, in: app.id)
            ? "The customer was erased, and their consent with them."
            : "The customer has not consented."
    }

    /// The customer who is known to have bought the purchase of an inquiry.
    fileprivate func holder(
        of question: ConsumptionQuestion, in app: AppSettings
    ) throws -> CustomerID? {
        let own = try timeline(of: question.purchase, in: app.id)
        let owner = try link(of: question.purchase, in: app.id)?.customer
        return try holder(owner, token: own?.accountToken, in: app.id)
    }

    func consumption(
        of id: CustomerID, in app: AppSettings, environment: Environment
    ) throws -> ConsumptionState {
        let customer = try customer(known: id, in: app.id)?.customer
        let purchases = try purchases(of: id, in: app, environment: environment)
        return ConsumptionState(
            consent: try customer.flatMap { try consent(of: $0, in: app.id) },
            uses: try customer.map {
                try uses(of: $0, in: app.id, environment: environment)
            } ?? [],
            questions: try questions(about: purchases, in: app.id))
    }

    fileprivate func purchases(
        of id: CustomerID, in app: AppSettings, environment: Environment
    ) throws -> [PurchaseID] {
        try timelines(answeringFor: id, in: app, environment: environment).map(\.purchase)
    }
}

extension Consumption {
    /// Converts a response to the App Store's format.
    fileprivate init(_ answer: ConsumptionAnswer) {
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
