import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Intake
import Ledger
import Storage

/// The result of one row of an import.
package enum ImportOutcome: Hashable, Sendable {
    /// The row's evidence is recorded, by this import or before.
    case recorded
    /// The row can never be used, for the given reason.
    case unusable(String)
    /// The App Store has not responded. `until` is when to retry; nil if that is unknown.
    case retryLater(until: Instant?, String)
    /// The App Store rejects every request of this app.
    case unauthorized(String)
}

/// Imports the purchases of an operator's file, from receipts or transaction ids.
package struct ImportService: Sendable {
    let context: Context
    let verification: VerificationService
    let reconciliation: ReconciliationService
    let customers: CustomerService

    /// The maximum number of digits of a transaction id. Apple's ids have up to 18.
    private static let transactionIDDigitsMax = 20

    // MARK: - Receipts

    /// Records an app receipt or a transaction receipt from an operator's file, and links its
    /// purchases to a customer, if they have no owner. Idempotent.
    ///
    /// - Parameters:
    ///   - text: the receipt in Base64.
    ///   - id: the customer. If nil, the purchases get no owner until a customer's device presents
    ///     them.
    ///   - isTrial: whether to only report the outcome, and record nothing.
    package func record(
        receipt text: String, of id: CustomerID?, app appID: AppID, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportOutcome {
        let (app, verifier) = try context.app(appID)
        let origin = VerifiedDocument.Origin(
            app: app, source: .imported, receivedAt: context.now(), digests: context.digests)
        let attestation: VerifiedDocument
        do throws(EngineFailure) {
            try id?.requireValid()
            try app.requireLegacy()
            guard let file = ReceiptText.bytes(of: text) else {
                throw EngineFailure.unreadable("The receipt is not Base64.")
            }
            attestation =
                file.first == UInt8(ascii: "{")
                ? try await verification.verify(transactionReceipt: file, verifier, origin)
                : try await verification.verify(appReceipt: file, verifier, origin)
            if isTrial { return try await trial(of: id, also: nil, app: appID) }
        } catch { return try Self.outcome(of: error) }
        verification.logShortcomings(attestation)
        return try await context.transaction { tx in
            _ = try DocumentRecorder(tx).record(attestation.documentWithFacts)
            let purchases = Set(attestation.facts.map(\.purchase)).sorted()
            return try ImportDecisions(tx).linkImported(
                purchases, for: id, also: nil, in: appID, at: origin.receivedAt)
        }
    }

    /// The outcome for a row that caused a failure: a defect of the row itself rejects only the
    /// row. Any other failure is thrown, and ends the import.
    static func outcome(of failure: EngineFailure) throws(EngineFailure) -> ImportOutcome {
        switch failure {
        case .unreadable, .limitExceeded, .notForAnyApp, .legacyDisabled, .notTrusted, .incomplete,
            .mixedEnvironments, .renewalWithoutTransaction, .invalidCustomerID, .tooManyIDs,
            .belongsToAnotherCustomer:
            return .unusable("\(failure)")
        default:
            throw failure
        }
    }

    // MARK: - Transaction ids

    /// Queries the App Store about a purchase that is known only by a transaction id, and records
    /// the whole response. Links the purchase to a customer if it has no owner. A purchase that was
    /// queried before is not queried again. Idempotent.
    ///
    /// - Parameters:
    ///   - number: the id of the purchase's first transaction, or of any other of its transactions.
    ///   - other: another id of the customer.
    ///   - isTrial: whether to only validate the row; Apple is not queried, nothing is recorded.
    package func record(
        transaction number: String, of id: CustomerID?, also other: CustomerID? = nil,
        app appID: AppID, in environment: Ledger.Environment, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportOutcome {
        do throws(EngineFailure) {
            try id?.requireValid()
            try other?.requireValid()
        } catch { return try Self.outcome(of: error) }
        guard !number.isEmpty, number.utf8.count <= Self.transactionIDDigitsMax,
            number.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return .unusable("“\(number.prefix(40))” is not a transaction id") }
        if isTrial { return try await trial(of: id, also: other, app: appID) }
        let asked = PurchaseID(TransactionID(rawValue: number), in: environment)
        let known = try await context.read { tx in
            try tx.checks.history(of: asked, in: appID)?.history.askedAt != nil
        }
        let purchase: PurchaseID
        if known {
            purchase = asked
        } else {
            do {
                guard let found = try await findPurchase(asked, of: appID) else {
                    return .unusable("the App Store's answer contains no purchase with this id")
                }
                purchase = found
            } catch let failure as AppStoreFailure {
                return Self.outcome(of: failure)
            } catch let failure as EngineFailure {
                return try Self.outcome(of: failure)
            } catch { throw EngineFailure(error) }
        }
        return try await linkPurchase(purchase, to: id, also: other, app: appID)
    }

    /// The outcome that a valid row would have, as far as it is known without a query to Apple.
    private func trial(
        of id: CustomerID?, also other: CustomerID?, app: AppID
    ) async throws(EngineFailure) -> ImportOutcome {
        guard let id else { return .recorded }
        let erasure = try await context.read { tx in
            try ImportDecisions(tx).erasure(of: id, also: other, in: app)
        }
        return erasure.map { .unusable($0) } ?? .recorded
    }

    private func linkPurchase(
        _ purchase: PurchaseID, to id: CustomerID?, also other: CustomerID?, app: AppID
    ) async throws(EngineFailure) -> ImportOutcome {
        guard let id else { return .recorded }
        let now = context.now()
        let (outcome, alias) = try await context.transaction {
            tx -> (ImportOutcome, CustomerID?) in
            let decisions = ImportDecisions(tx)
            let alias = try decisions.alias(other, in: app)
            let outcome = try decisions.linkImported(
                [purchase], for: id, also: other, in: app, at: now)
            return (outcome, alias)
        }
        guard outcome == .recorded else { return outcome }
        return try await join(alias, to: id, app: app, purchase.environment)
    }

    private static func outcome(of failure: AppStoreFailure) -> ImportOutcome {
        switch failure {
        case .unknownID: .unusable("the App Store does not know this id")
        case .refused(let code, let message): .unusable("the App Store says \(code): \(message)")
        case .rateLimited(let until): .retryLater(until: Instant(until), "\(failure)")
        case .unavailable, .unreadable: .retryLater(until: nil, "\(failure)")
        case .unauthorized: .unauthorized("\(failure) \(failure.remedy)")
        }
    }

    /// Reads the history of the account that a purchase belongs to, and the status of a
    /// subscription. Returns the purchase that contains the transaction with the requested id.
    /// Returns nil if there is none.
    private func findPurchase(_ asked: PurchaseID, of appID: AppID) async throws -> PurchaseID? {
        guard let client = context.reconciliationSettings.appStore(appID) else {
            throw AppStoreFailure.unauthorized(
                "App \(appID) has no app_store in perennial.yaml.",
                remedy: "Add it, with an In-App Purchase key.")
        }
        let now = context.now()
        let lease = CheckLease(
            app: appID, timeline: Timeline(of: asked, []), history: CheckHistory(knownAt: now),
            revision: nil, holder: context.reconciliationSettings.worker.holder)
        var findings = CheckResult()
        try await reconciliation.readHistory(of: lease, from: client, into: &findings)
        guard let found = findings.purchase(with: asked.original) else {
            if let refused = findings.rejection { throw EngineFailure.unreadable(refused) }
            return nil
        }
        if found.isSubscription {
            try await reconciliation.fetchStatuses(
                of: found.purchase, for: lease, from: client, into: &findings)
        }
        let whole = CheckLease(
            app: appID, timeline: Timeline(of: found.purchase, []), history: lease.history,
            revision: nil, holder: lease.holder)
        if case .noResponse(let reason) = try await reconciliation.completeCheck(
            whole, findings, asked: now)
        {
            throw EngineFailure.unreadable(reason)
        }
        return found.purchase
    }

    // MARK: - Progress

    package func position(
        of key: ImportKey
    ) async throws(EngineFailure) -> ImportPosition? {
        try await context.read { tx in try tx.imports.position(of: key) }
    }

    /// Saves the position of an import. At the end of the file, a new walk through the whole
    /// notification history is scheduled. Before this server's first walk, Apple may have sent
    /// notifications to another backend about purchases that the file does not contain yet.
    package func save(
        _ position: ImportPosition, of key: ImportKey
    ) async throws(EngineFailure) {
        let now = context.now()
        try await context.transaction { tx in
            try tx.imports.save(position, of: key, at: now)
            guard position.endedAt != nil, position.used > 0,
                let newest = try tx.documents.newest(of: key.app)
            else { return }
            try tx.appStore.walkAnew(of: key.app, from: newest - BackfillService.firstWalkSpan)
        }
    }
}

extension ImportService {
    /// Whether the App Store can be queried about an app's transactions.
    package func canQueryTransactions(_ app: AppID) -> Bool {
        context.reconciliationSettings.appStore(app) != nil
    }
}

extension CheckResult {
    /// The purchase that contains a transaction, whether or not it is the first transaction of its
    /// chain.
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
