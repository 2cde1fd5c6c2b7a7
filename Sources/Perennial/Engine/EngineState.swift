package import AccessRules
internal import Foundation
internal import PerennialContract

/// Everything that is known about the present customer on this device. The type is a value: the
/// engine changes it, and every reader gets a complete copy.
struct EngineState: Sendable {
    /// The values that are stored from one launch to the next.
    var device: DeviceState
    var aliases: [String] = []
    /// Whether the store is Xcode's local store, whose documents are never posted.
    var isXcode = false
    /// The server's last answer about this customer, or the stored token.
    var serverEvidence: ServerEvidence?
    /// The server's last complete answer in this process.
    var answer: PerennialContract.Customer?
    var answerOrder: AnswerOrder?
    /// When the server last answered any request.
    var serverAnsweredAt: Timestamp?
    /// When the server last answered a request about the customer. Other answers and failures do
    /// not show whether a subscription has renewed.
    var customerAnsweredAt: Timestamp?
    /// Whether the store was asked in this process, even if it did not answer.
    var isStoreRead = false
    /// Whether the store was asked in this process, and did not answer in time.
    var isStoreSilent = false
    /// Whether the file contains evidence of the store that was not read yet.
    var hasUnreadEvidence = false
    /// Whether a receipt or a log-in of the present customer waits for the server.
    var isAnythingUnsent = false
    /// The time that the latest token describes. The token's signature proves this time.
    var lastToken: Timestamp?
    /// The subscription groups that transactions name, by original transaction id.
    var groups: [String: String] = [:]
    /// The last verified renewal info of each subscription, by original transaction id.
    var renewalInfos: [String: String] = [:]
    var offerings: Offerings?
    /// Whether the server has sent or confirmed the offerings in this process.
    var areOfferingsCurrent = false
    var clock: ReckonedClock
    var waiting: [Perennial.WaitingPurchase] = []
    /// The amounts that were spent but are not confirmed yet, by currency.
    var unconfirmedDebits: [String: Int64] = [:]
    /// How many milliseconds access stays open while neither the server nor the store answers.
    var silentHold: Int64
}

extension EngineState {
    /// The id of the customer as a person. Nil if nobody has signed in.
    var person: String? { device.isAnonymous ? nil : device.customerID }

    var contractEnvironment: PerennialContract.StoreEnvironment {
        device.environment ?? .production
    }

    var environment: Perennial.StoreEnvironment {
        isXcode ? .xcode : .init(rawValue: contractEnvironment.rawValue)
    }

    var customer: Perennial.Customer {
        Perennial.Customer(
            id: device.customerID ?? "", aliases: aliases, isAnonymous: device.isAnonymous,
            accountToken: device.accountToken.flatMap { UUID(uuidString: $0) })
    }

    func makeEvidence(at now: Timestamp) -> Evidence {
        let products = offerings?.products ?? []
        let person = person
        return Evidence(
            person: person, server: serverEvidence, store: device.storeEvidence,
            keptVerdicts: device.verdicts.mapValues {
                $0.verdict(for: person, salt: device.salt)
            },
            meanings: Dictionary(
                products.map { ($0.productID, ProductMeaning(entitlements: Set($0.entitlements))) },
                uniquingKeysWith: { first, _ in first }),
            areMeaningsCurrent: areOfferingsCurrent, termEnds: termEnds(),
            serverAnsweredAt: customerAnsweredAt, isStoreRead: isStoreRead && !hasUnreadEvidence,
            isStoreSilent: isStoreSilent, isAnythingUnsent: isAnythingUnsent, isStoreAlone: isXcode,
            now: now,
            holdTimes: Evidence.HoldTimes(
                answered: Int64(offerings?.unconfirmedHoldHours ?? 24) * 3_600_000,
                silent: silentHold))
    }

    private func termEnds() -> [String: Timestamp] {
        guard let offerings else { return [:] }
        return TermRules(offerings).ends(of: device.storeEvidence.transactions.values)
    }
}

// MARK: - Snapshots

extension EngineState {
    /// The snapshot of everything that is known now, and when it will change without new evidence.
    func makeSnapshot(
        of evidence: Evidence
    ) -> (snapshot: Perennial.Snapshot, changesAt: Timestamp?) {
        let decisions = AccessRules.decisions(by: evidence)
        var access: [Perennial.EntitlementID: Perennial.Access] = [:]
        for (name, decision) in decisions {
            let id = Perennial.EntitlementID(rawValue: name)
            access[id] = Perennial.Access(decision, of: id)
        }
        let unnamed = AccessRules.decision(on: Self.unnamed, by: evidence)
        let snapshot = Perennial.Snapshot(
            customer: customer, environment: environment, access: access,
            subscriptions: subscriptions(), terms: terms(evidence), owned: owned(),
            wallets: wallets(), areWalletsKnown: answer != nil,
            waiting: waiting(at: evidence.now), isKnown: unnamed.isKnown,
            serverAnswered: serverAnsweredAt?.date,
            storeAnswered: device.storeEvidence.answeredAt?.date)
        let ends = waiting.compactMap(\.end).filter { $0 > evidence.now }
        let changes = (Array(decisions.values) + [unnamed]).compactMap(\.changesAt)
        return (snapshot, (changes + ends).min())
    }

    private func waiting(at now: Timestamp) -> [Perennial.WaitingPurchase] {
        waiting.filter { $0.end.map { $0 > now } ?? true }
    }

    /// A name that no evidence contains. If the entitlement with this name is known to be shut,
    /// then all other unnamed entitlements are shut.
    private static let unnamed = ""

    private func subscriptions() -> [Perennial.Subscription] {
        if let answer {
            return answer.subscriptions.map {
                Perennial.Subscription($0, transaction(of: $0)?.details ?? .init())
            }
        }
        guard device.storeEvidence.isTrusted else { return [] }
        return latestOfEachPurchase(.renewing).map { transaction in
            Perennial.Subscription(
                transaction, device.storeEvidence.statuses[transaction.originalID],
                seats: device.storeEvidence.transactions.values.seats(inPeriodOf: transaction))
        }
    }

    /// The App Store's document of the period that the server reports. Nil if this device has no
    /// such document.
    private func transaction(of subscription: PerennialContract.Subscription) -> StoreTransaction? {
        guard device.storeEvidence.isTrusted else { return nil }
        let period = subscription.period
        let own = device.storeEvidence.transactions.values.filter {
            $0.originalID == subscription.originalTransactionID
                && $0.productID == subscription.productID
        }
        // Added seats have the same end as the period, but a later date of purchase.
        return own.first { $0.purchasedAt == period.from }
            ?? own.filter { period.until != nil && $0.expiresAt == period.until }
            .max { ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id) }
    }

    private func terms(_ evidence: Evidence) -> [Perennial.Term] {
        if let answer {
            return answer.nonRenewing.map {
                Perennial.Term(
                    product: .init(rawValue: $0.productID), from: $0.from.date,
                    until: $0.until?.date)
            }
        }
        guard device.storeEvidence.isTrusted else { return [] }
        return device.storeEvidence.transactions.values.filter { $0.kind == .nonRenewing }
            .sorted { ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id) }
            .map {
                Perennial.Term(
                    product: .init(rawValue: $0.productID), from: $0.purchasedAt.date,
                    until: evidence.termEnds[$0.id]?.date)
            }
    }

    private func owned() -> [Perennial.OwnedProduct] {
        if let answer {
            return answer.oneTime.map {
                Perennial.OwnedProduct(
                    product: .init(rawValue: $0.productID), purchased: $0.purchasedAt.date,
                    revoked: $0.revokedAt?.date)
            }
        }
        guard device.storeEvidence.isTrusted else { return [] }
        return latestOfEachPurchase(.nonConsumable).map {
            Perennial.OwnedProduct(
                product: .init(rawValue: $0.productID), purchased: $0.purchasedAt.date,
                revoked: $0.revokedAt?.date)
        }
    }

    private func wallets() -> [Perennial.WalletID: Perennial.Wallet] {
        var wallets: [Perennial.WalletID: Perennial.Wallet] = [:]
        for (name, wallet) in answer?.wallets ?? [:] {
            let spent = unconfirmedDebits[name] ?? 0
            wallets[.init(rawValue: name)] = Perennial.Wallet(
                balance: Int(wallet.balance - spent), unconfirmed: Int(-spent))
        }
        return wallets
    }

    private func latestOfEachPurchase(_ kind: StoreTransaction.Kind) -> [StoreTransaction] {
        let purchases = Dictionary(
            grouping: device.storeEvidence.transactions.values.filter { $0.kind == kind },
            by: \.originalID)
        return purchases.values.compactMap(\.latestPeriod)
            .sorted { ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id) }
    }
}

extension Perennial.Access {
    package init(_ decision: AccessDecision, of entitlement: Perennial.EntitlementID) {
        self.init(
            entitlement: entitlement, isActive: decision.isActive, isKnown: decision.isKnown,
            state: .init(rawValue: decision.state.rawValue), until: decision.until?.date,
            willRenew: decision.willRenew,
            product: decision.productID.map(Perennial.ProductID.init(rawValue:)),
            basis: .init(decision.basis), asOf: decision.asOf?.date)
    }
}

extension Perennial.Basis {
    package init(_ basis: AccessDecision.Basis) {
        switch basis {
        case .server: self = .server
        case .token: self = .token
        case .store: self = .store
        case .held: self = .held
        case .none: self = .nothing
        }
    }
}

extension Perennial.WaitingPurchase {
    /// How many hours a request for approval counts as waiting. StoreKit does not report that an
    /// approval was declined, so an older request counts as declined.
    private static let approvalHours = 24.0

    /// When the wait ends. Nil if the wait has no limit.
    fileprivate var end: Timestamp? {
        guard reason == .approval else { return nil }
        let end = since.addingTimeInterval(Self.approvalHours * 3600)
        return Timestamp(milliseconds: Int64(end.timeIntervalSince1970 * 1000))
    }
}
