import Foundation
import PerennialContract

@testable import Perennial

/// An App Store on a device that lists what a test sets.
final class ListedStore: DeviceStore {
    private struct State {
        var listed: [(sale: Sale, document: StoreDocument)] = []
        var reads = 0
        var finished: Set<String> = []
        var isSilent = false
    }

    private let state = Locked(State())

    init(_ listed: [Sale] = []) { list(listed) }

    /// The number of times that the list of entitlements was read.
    var reads: Int { state.withLock { $0.reads } }

    func list(_ sales: [Sale]) {
        let listed = sales.map { ($0, $0.document) }
        state.withLock { $0.listed = listed }
    }

    /// Sets whether reading a list returns only when its task is cancelled.
    func isSilent(_ silent: Bool) { state.withLock { $0.isSilent = silent } }

    func documents(_ list: StoreList) async -> [StoreDocument]? {
        if state.withLock({ $0.isSilent }) {
            for await _ in AsyncStream<Void>(Void.self, { _ in }) {}
            return nil
        }
        return state.withLock { state in
            if list == .entitlements { state.reads += 1 }
            let listed = state.listed.filter { sale, _ in
                switch list {
                case .unfinished: sale.isUnfinished && !state.finished.contains(sale.id)
                case .entitlements: sale.isCurrent
                case .all: true
                }
            }
            return listed.map(\.document)
        }
    }

    func renewals(of groups: Set<String>) async -> [StoreRenewal]? {
        state.withLock { $0.listed.compactMap(\.sale.renewal) }
    }

    func finish(_ documents: [StoreDocument]) async {
        let ids = documents.compactMap { TransactionPayload($0)?.transactionId }
        state.withLock { $0.finished.formUnion(ids) }
    }

    func purchase(
        _ product: String, _ options: StorePurchaseOptions, anchor: PurchaseAnchor?
    ) async throws(StoreError) -> StorePurchaseResult {
        let sale = state.withLock { state in
            let sale = Sale("\(900 + state.listed.count)", product)
            state.listed.append((sale, sale.document))
            return sale
        }
        return .bought(sale.document)
    }

    func products(_ ids: [String]) async throws(StoreError) -> [StoreProduct] { [] }
    func isEligibleForIntroductoryOffer(group: String) async -> Bool { false }
    func sync() async throws(StoreError) {}
    func appTransaction() async -> StoreDocument? { nil }
    func updates() -> AsyncStream<StoreUpdate> { AsyncStream { _ in } }
}

/// One transaction, as StoreKit's documents have it.
struct Sale: Sendable {
    var id: String
    var product: String
    var type = "Auto-Renewable Subscription"
    /// The times of the transaction, in days from the start of the clock.
    var from = -1.0
    var until: Double? = 29
    var refunded: Double?
    var isFamilyShared = false
    var isUnfinished = true
    /// Whether the server's token says that the subscription renews.
    var renews = false
    /// The state of the transaction's subscription; nil if the store does not report one.
    var state: StoreRenewal.State?

    init(_ id: String, _ product: String, _ change: (inout Sale) -> Void = { _ in }) {
        self.id = id
        self.product = product
        change(&self)
    }

    static func once(_ id: String, _ product: String) -> Sale {
        Sale(id, product) { ($0.type, $0.until) = ("Non-Consumable", nil) }
    }

    static func term(_ id: String, _ product: String) -> Sale {
        Sale(id, product) { ($0.type, $0.until) = ("Non-Renewing Subscription", nil) }
    }

    static func coins(_ id: String, _ product: String) -> Sale {
        Sale(id, product) { ($0.type, $0.until) = ("Consumable", nil) }
    }

    /// A subscription that ended a day ago, and was not renewed.
    static func lapsed(_ id: String, _ product: String) -> Sale {
        Sale(id, product) { ($0.from, $0.until, $0.state) = (-31, -1, .expired) }
    }

    static func refunded(_ id: String, _ product: String) -> Sale {
        Sale(id, product) { ($0.from, $0.refunded) = (-3, -2) }
    }

    var isCurrent: Bool { refunded == nil && (until ?? 1) > 0 && type != "Consumable" }

    private static func time(_ days: Double) -> Int64 {
        VirtualClock.start.milliseconds + Int64(days * 86_400_000)
    }

    private static func jws(_ fields: [String: Any]) -> StoreDocument {
        let body = (try? JSONSerialization.data(withJSONObject: fields)) ?? Data()
        return StoreDocument(jws: "e30.\(Base64URL.encode(body)).e30", isVerified: true)
    }

    var document: StoreDocument {
        var fields: [String: Any] = [
            "transactionId": id, "originalTransactionId": id, "productId": product, "type": type,
            "purchaseDate": Self.time(from), "signedDate": Self.time(max(from, refunded ?? from)),
            "environment": "Production",
            "inAppOwnershipType": isFamilyShared ? "FAMILY_SHARED" : "PURCHASED",
        ]
        if type.hasPrefix("Auto") { fields["subscriptionGroupIdentifier"] = "group" }
        if let until { fields["expiresDate"] = Self.time(until) }
        if let refunded { fields["revocationDate"] = Self.time(refunded) }
        return Self.jws(fields)
    }

    var renewal: StoreRenewal? {
        state.map { state in
            StoreRenewal(
                state: state, transaction: document,
                renewalInfo: Self.jws([
                    "originalTransactionId": id, "signedDate": Self.time(until ?? from),
                    "autoRenewStatus": state == .expired ? 0 : 1, "autoRenewProductId": product,
                ]))
        }
    }

    /// Whether the sale is valid at the start of the clock.
    var isPaid: Bool { isCurrent }
}
