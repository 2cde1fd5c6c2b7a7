import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

package typealias ImportPosition = Storage.ImportPosition
package typealias ImportKey = Storage.ImportKey

/// What came of one row of an import.
package enum ImportOutcome: Hashable, Sendable {
    /// What it says is kept, now or since before.
    case used
    /// It never will be of use, and why.
    case unusable(String)
    /// The App Store has not answered. Nil: nobody knows when to ask again.
    case notNow(until: Instant?, String)
    /// The App Store refuses whatever this app asks.
    case refusedAltogether(String)
}

extension Engine {
    /// Digits of a transaction's number. Apple's have up to 18.
    private static let transactionIDDigitsMax = 20

    // MARK: - Receipts

    /// Takes in an app receipt, or a transaction receipt, out of an operator's file, and makes its
    /// purchases a customer's that are nobody's yet. Harmless to repeat.
    ///
    /// - Parameters:
    ///   - text: Base64.
    ///   - id: nil leaves the purchases to whoever shows them next.
    ///   - isTrial: says what would come of it, and keeps nothing.
    package func bring(
        receipt text: String, of id: CustomerID?, app appID: AppID, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportOutcome {
        let (app, verifier) = try app(appID)
        let origin = Attestation.Origin(
            app: app, source: .imported, receivedAt: now(), digests: digests)
        let attestation: Attestation
        do throws(EngineFailure) {
            try id?.requireMeaning()
            try app.requireLegacy()
            guard let file = ReceiptText.bytes(of: text) else {
                throw EngineFailure.unreadable("The receipt is no Base64.")
            }
            attestation =
                file.first == UInt8(ascii: "{")
                ? try await attest(transactionReceipt: file, verifier, origin)
                : try await attest(appReceipt: file, verifier, origin)
            if isTrial { return .used }
        } catch { return try Self.outcome(of: error) }
        report(attestation)
        return try await transaction { tx in
            _ = try tx.keep(attestation.kept)
            let purchases = Set(attestation.facts.map(\.purchase)).sorted()
            return try tx.claim(purchases, for: id, also: nil, in: appID, at: origin.receivedAt)
        }
    }

    private static func outcome(of failure: EngineFailure) throws(EngineFailure) -> ImportOutcome {
        switch failure {
        case .unreadable, .tooMuch, .notForAnyApp, .legacyOff, .notTrusted, .incomplete,
            .renewalWithoutTransaction, .meaninglessCustomerID, .tooManyIDs,
            .belongsToAnotherCustomer:
            return .unusable("\(failure)")
        case .unknownApp, .cannotTellNow, .unknownCurrency, .walletHasTooLittle,
            .keyOfAnotherRequest, .notForwarded, .busy, .storage, .unknownContent, .contentNotOpen,
            .unknownPurchase, .unknownTransfer, .transferSuperseded, .unknownEntitlement,
            .unknownGrant, .grantWithoutTime, .noProof, .noOffersKey, .unknownOffer,
            .offerNotForThem, .offerForUnknownTransaction, .unknownCursor,
            .outdatedCursor, .queryTooLong, .documentBudgetSpent, .unknownAlias,
            .firstID, .notForSandbox:
            throw failure
        }
    }

    // MARK: - Numbers

    /// Asks the App Store about a purchase that is known by its number alone, keeps all that it
    /// says, and makes the purchase a customer's where it is nobody's yet. One that was asked
    /// about before is not asked about again. Harmless to repeat.
    ///
    /// - Parameters:
    ///   - number: of the purchase's first transaction, or of any other.
    ///   - other: one more id of the customer's.
    ///   - isTrial: says what is wrong with the row, asks nobody, and keeps nothing.
    package func bring(
        transaction number: String, of id: CustomerID?, also other: CustomerID? = nil,
        app appID: AppID, in environment: Ledger.Environment, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportOutcome {
        do throws(EngineFailure) {
            try id?.requireMeaning()
            try other?.requireMeaning()
        } catch { return try Self.outcome(of: error) }
        guard !number.isEmpty, number.utf8.count <= Self.transactionIDDigitsMax,
            number.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return .unusable("“\(number.prefix(40))” is no transaction's number") }
        if isTrial { return .used }
        let asked = PurchaseID(TransactionID(rawValue: number), in: environment)
        let known = try await reading { tx in
            try tx.checkHistory(of: asked, in: appID)?.history.askedAt != nil
        }
        let purchase: PurchaseID
        if known {
            purchase = asked
        } else {
            do {
                guard let found = try await find(asked, of: appID) else {
                    return .unusable("the App Store's answer holds no purchase of this number")
                }
                purchase = found
            } catch let failure as AppStoreFailure {
                return Self.outcome(of: failure)
            } catch let failure as EngineFailure {
                return try Self.outcome(of: failure)
            } catch { throw EngineFailure(error) }
        }
        return try await attribute(purchase, to: id, also: other, app: appID)
    }

    private func attribute(
        _ purchase: PurchaseID, to id: CustomerID?, also other: CustomerID?, app: AppID
    ) async throws(EngineFailure) -> ImportOutcome {
        guard let id else { return .used }
        let now = now()
        let outcome = try await transaction { tx in
            try tx.claim([purchase], for: id, also: other, in: app, at: now)
        }
        guard outcome == .used, let other, other != id else { return outcome }
        do throws(EngineFailure) {
            _ = try await alias(other, to: id, app: app, environment: purchase.environment)
            return .used
        } catch { return try Self.outcome(of: error) }
    }

    private static func outcome(of failure: AppStoreFailure) -> ImportOutcome {
        switch failure {
        case .unknownThere: .unusable("the App Store does not know this number")
        case .refused(let code, let message): .unusable("the App Store says \(code): \(message)")
        case .tooMany(let until): .notNow(until: Instant(until), "\(failure)")
        case .unavailable, .unreadable: .notNow(until: nil, "\(failure)")
        case .unauthorized: .refusedAltogether("\(failure) \(failure.remedy)")
        }
    }

    /// Reads the history of the account that a purchase is in, and, of a subscription, its state.
    /// Returns the purchase that has a transaction of that number; nil where there is none.
    private func find(_ asked: PurchaseID, of appID: AppID) async throws -> PurchaseID? {
        guard let client = asking.appStore(appID) else {
            throw AppStoreFailure.unauthorized(
                "App \(appID) has no app_store in the file.",
                remedy: "Add it, with an In-App Purchase key.")
        }
        let now = now()
        let lease = CheckLease(
            app: appID, timeline: Timeline(of: asked, []), history: CheckHistory(knownAt: now),
            revision: nil, holder: asking.worker.holder)
        var findings = Findings()
        try await readHistory(of: lease, from: client, into: &findings)
        guard let found = findings.purchase(with: asked.original) else {
            if let refused = findings.refused { throw EngineFailure.unreadable(refused) }
            return nil
        }
        if found.isSubscription {
            try await askState(of: found.purchase, for: lease, from: client, into: &findings)
        }
        let whole = CheckLease(
            app: appID, timeline: Timeline(of: found.purchase, []), history: lease.history,
            revision: nil, holder: lease.holder)
        if case .noAnswer(let reason) = try await end(whole, findings, asked: now) {
            throw EngineFailure.unreadable(reason)
        }
        return found.purchase
    }

    // MARK: - How far it is

    package func importPosition(
        of key: ImportKey
    ) async throws(EngineFailure) -> ImportPosition? {
        try await reading { tx in try tx.importPosition(of: key) }
    }

    /// Writes down how far an import is. At its end the App Store's history is walked as if for
    /// the first time: Apple may have told somebody else what the file does not hold yet, before
    /// this server walked at all.
    package func put(
        _ position: ImportPosition, of key: ImportKey
    ) async throws(EngineFailure) {
        let now = now()
        try await transaction { tx in
            try tx.put(position, of: key, at: now)
            guard position.endedAt != nil, position.used > 0,
                let newest = try tx.newestDocument(of: key.app)
            else { return }
            try tx.walkAnew(of: key.app, from: newest - Self.walkFirst)
        }
    }

    /// By the clock that all rows of an import have.
    package var moment: Instant { now() }

    /// Whether the App Store can be asked about an app's transactions.
    package func canAskByNumber(_ app: AppID) -> Bool { asking.appStore(app) != nil }
}

extension Findings {
    /// The purchase that has a transaction, of whichever number in its chain.
    fileprivate func purchase(
        with number: TransactionID
    ) -> (purchase: PurchaseID, isSubscription: Bool)? {
        for fact in attestations.flatMap(\.facts) {
            guard case .payment(let payment) = fact.statement,
                fact.purchase.original == number || payment.transaction == number
            else { continue }
            return (fact.purchase, payment.kind == .autoRenewable)
        }
        return nil
    }
}

extension StoreTransaction {
    /// Makes purchases a customer's, as far as they are nobody's and name nobody else.
    ///
    /// - Parameter other: one more id of the customer's.
    fileprivate func claim(
        _ purchases: [PurchaseID], for id: CustomerID?, also other: CustomerID?, in app: AppID,
        at now: Instant
    ) throws -> ImportOutcome {
        guard let id else { return .used }
        var refused: String?
        var purses = Purses()
        for purchase in purchases {
            let obstacle = try attribute(purchase, to: id, other, in: app, at: now, &purses)
            refused = refused ?? obstacle
        }
        return refused.map { .unusable($0) } ?? .used
    }

    /// Links a purchase that is nobody's. Returns why not, where it is another customer's or names
    /// somebody else: then nothing is written, and an id never heard of stays so.
    private func attribute(
        _ purchase: PurchaseID, to id: CustomerID, _ other: CustomerID?, in app: AppID,
        at now: Instant, _ purses: inout Purses
    ) throws -> String? {
        let number = purchase.original.rawValue
        let known = try customer(known: id, in: app)?.customer
        if let link = try link(of: purchase, in: app) {
            guard link.customer != known else { return nil }
            return "\(number) is another customer's already; it is kept as theirs"
        }
        let token = try timeline(of: purchase, in: app)?.accountToken
        let named = try named(by: token, or: [id] + (other.map { [$0] } ?? []), in: app)
        let second = try other.flatMap { try customer(known: $0, in: app)?.customer }
        guard named == nil || [known, id, second, other].contains(named) else {
            return
                "\(number) names another person by its account token; it is kept as theirs. Give "
                + "the token as the customer's alias, or write `account_tokens: other`"
        }
        let owner = try customer(id, in: app, at: now).customer
        // What another backend knew is what a device has told it, and no decision about this
        // purchase: as after a posting, whom the account token names gets it whenever that is
        // heard, and the policy counts. Else it would depend on which was heard first.
        let evidence: Claim.Evidence = named == nil ? .device : .token
        try link(purchase, to: owner, by: evidence, in: app, at: now, &purses)
        return nil
    }
}
