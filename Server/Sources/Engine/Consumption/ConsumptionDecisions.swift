import AppStoreClient
import AppStoreFormats
import Ledger
import Storage

/// Decides how to respond to Apple's requests for consumption information.
struct ConsumptionDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Saves a report about a customer's use of purchases. Returns whether the report contains
    /// anything new.
    func save(
        _ report: ConsumptionReport, of customer: CustomerID, in app: AppID,
        environment: Environment, at now: Instant
    ) throws -> Bool {
        let known = try tx.consents.find(of: customer, in: app)
        let uses = try tx.consents.uses(of: customer, in: app, environment: environment)
        let hadSample = report.keepsSample ? known?.hadSample : report.hadSample
        // The report is saved even if it is unchanged, to update the time of the last report.
        try tx.consents.save(
            Consent(isGiven: report.isConsentGiven, hadSample: hadSample, at: now), of: customer,
            in: app)
        try tx.consents.save(report.uses, of: customer, in: app, environment: environment)
        return known?.isGiven != report.isConsentGiven || known?.hadSample != hadSample
            || !report.uses.allSatisfy(uses.contains)
    }

    /// The response to a request of Apple. Returns nil if the customer has not consented, or if the
    /// buyer is unknown.
    func response(
        to question: ConsumptionInquiry, in app: AppSettings, at now: Instant
    ) throws -> ConsumptionResponse? {
        let environment = question.purchase.environment
        guard let own = try tx.purchases.timeline(of: question.purchase, in: app.id),
            let owner = try buyer(of: question, in: app),
            let known = try tx.customers.find(known: owner, in: app.id),
            let consent = try tx.consents.find(of: known.customer, in: app.id), consent.isGiven,
            let asked = own.payment(
                askedAboutBy: question.transaction,
                among: try tx.facts.all(about: question.purchase, in: app.id).map(\.fact))
        else { return nil }
        let payment = asked.payment
        let timelines = try CustomerReader(tx).timelines(
            of: known, known.ids, in: app, environment: environment)
        let payments = timelines.flatMap { $0.periods.map(\.payment) }
        let spent = try app.wallets.allCurrencies.sorted().compactMap { currency in
            try WalletDecisions(tx).wallet(
                currency, of: known.customer, payments, in: app, environment: environment
            )
            .usedShare(of: payment.transaction)
        }.max()
        let told = try tx.consents.uses(of: known.customer, in: app.id, environment: environment)
        return app.consumption.response(
            about: payment,
            used: spent ?? app.terms.usedShare(of: payment.transaction, among: timelines, at: now),
            told: asked.usage(among: told),
            hadSample: consent.hadSample)
    }

    func reasonForNoConsent(
        to question: ConsumptionInquiry, in app: AppSettings
    ) throws -> String {
        guard let holder = try buyer(of: question, in: app) else {
            return "The purchase belongs to no customer, so there is no consent."
        }
        return try tx.erasedIDs.isPseudonym(holder, in: app.id)
            ? "The customer was erased, together with the consent."
            : "The customer has not consented."
    }

    /// The customer who is known to have bought the purchase of an inquiry.
    func buyer(
        of question: ConsumptionInquiry, in app: AppSettings
    ) throws -> CustomerID? {
        let own = try tx.purchases.timeline(of: question.purchase, in: app.id)
        let owner = try tx.links.find(of: question.purchase, in: app.id)?.customer
        return try OwnershipUpdates(tx).beneficiary(owner, token: own?.accountToken, in: app.id)
    }

    func consumption(
        of id: CustomerID, in app: AppSettings, environment: Environment
    ) throws -> ConsumptionState {
        let customer = try tx.customers.find(known: id, in: app.id)?.customer
        let purchases = try purchases(of: id, in: app, environment: environment)
        return ConsumptionState(
            consent: try customer.flatMap { try tx.consents.find(of: $0, in: app.id) },
            uses: try customer.map {
                try tx.consents.uses(of: $0, in: app.id, environment: environment)
            } ?? [],
            inquiries: try tx.inquiries.all(about: purchases, in: app.id))
    }

    func purchases(
        of id: CustomerID, in app: AppSettings, environment: Environment
    ) throws -> [PurchaseID] {
        try CustomerReader(tx).timelines(answeringFor: id, in: app, environment: environment).map(
            \.purchase)
    }
}
