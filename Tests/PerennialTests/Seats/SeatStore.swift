import Foundation
import PerennialContract

@testable import Perennial

/// An App Store on a device that sells `pro.monthly` in seats, and records its requests.
final class SeatStore: DeviceStore {
    struct Books: Sendable {
        /// The price tiers of the seats. Empty if the product is not sold in seats.
        var tiers = [
            Perennial.SeatTier(from: 1, through: 5, price: 9.99, displayPrice: "$9.99"),
            Perennial.SeatTier(from: 6, price: 7.99, displayPrice: "$7.99"),
        ]
        /// The documents that the store lists.
        var listed: [StoreDocument] = []
        /// The error that the next sheet throws.
        var failure: StoreError?
        /// The options of each sheet that was shown.
        var sheets: [StorePurchaseOptions] = []
    }

    let books = Locked(Books())

    var sheets: [StorePurchaseOptions] { books.withLock { $0.sheets } }

    /// A document of a running purchase of seats.
    ///
    /// - Parameter signed: milliseconds after the start of the clock.
    static func document(
        _ id: String, seats: Int, revoked: Int? = nil, isRefunded: Bool = false, signed: Int64 = 0
    ) -> StoreDocument {
        let start = VirtualClock.start.milliseconds
        var info: [String: Any] = ["invitationManagement": "DEVELOPER"]
        info["revokedSeatQuantity"] = revoked
        var fields: [String: Any] = [
            "transactionId": id, "originalTransactionId": "1", "productId": "pro.monthly",
            "type": "Auto-Renewable Subscription", "purchaseDate": start - 86_400_000,
            "expiresDate": start + 29 * 86_400_000, "signedDate": start + signed,
            "quantity": seats, "environment": "Production", "multiSeatInfo": info,
            "inAppOwnershipType": "PURCHASED", "subscriptionGroupIdentifier": "group",
        ]
        if isRefunded { fields["revocationDate"] = start + signed }
        let body = (try? JSONSerialization.data(withJSONObject: fields)) ?? Data()
        return StoreDocument(jws: "e30.\(Base64URL.encode(body)).e30", isVerified: true)
    }

    func products(_ ids: [String]) async throws(StoreError) -> [StoreProduct] {
        ids.filter { $0 == "pro.monthly" }.map { id in
            StoreProduct(
                id: id, kind: .renewing, name: "Pro", details: "", price: 9.99,
                displayPrice: "$9.99", currencyCode: "USD", period: .init(1, .month),
                group: "group", offers: [], isFamilyShareable: false,
                seatTiers: books.withLock { $0.tiers })
        }
    }

    func purchase(
        _ product: String, _ options: StorePurchaseOptions, anchor: PurchaseAnchor?
    ) async throws(StoreError) -> StorePurchaseResult {
        let (number, failure) = books.withLock { books in
            books.sheets.append(options)
            return (books.sheets.count, books.failure)
        }
        if let failure { throw failure }
        let present = books.withLock { $0.listed.count }
        let document = Self.document(
            "\(present + 1)", seats: options.seats ?? 1, signed: Int64(number))
        books.withLock { $0.listed.append(document) }
        return .bought(document)
    }

    func documents(_ list: StoreList) async -> [StoreDocument]? { books.withLock { $0.listed } }
    func renewals(of groups: Set<String>) async -> [StoreRenewal]? { [] }
    func isEligibleForIntroductoryOffer(group: String) async -> Bool { false }
    func finish(_ documents: [StoreDocument]) async {}
    func sync() async throws(StoreError) {}
    func appTransaction() async -> StoreDocument? { nil }
    func updates() -> AsyncStream<StoreUpdate> { AsyncStream { _ in } }
}
