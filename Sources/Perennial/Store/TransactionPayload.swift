internal import AccessRules
internal import Foundation
internal import PerennialContract

/// The members of a signed transaction that the engine reads.
///
/// The signature is not verified here: StoreKit has verified the document, and the server verifies
/// it again.
struct TransactionPayload: Decodable, Hashable, Sendable {
    var transactionId: String
    var originalTransactionId: String
    var productId: String
    var type: String
    var purchaseDate: Int64
    var originalPurchaseDate: Int64?
    var expiresDate: Int64?
    var revocationDate: Int64?
    var isUpgraded: Bool?
    var inAppOwnershipType: String?
    var offerType: Int?
    var offerIdentifier: String?
    var offerDiscountType: String?
    var offerPeriod: String?
    var signedDate: Int64
    var appAccountToken: String?
    var environment: String?
    var quantity: Int?
    var subscriptionGroupIdentifier: String?
    /// The product of the bundle that contains the subscription. StoreKit calls this value
    /// `bundleProductID`. Signed documents spell the name with `Id`, as in their other fields.
    var bundleProductId: String?
    var commitmentInfo: Commitment?
    /// The seats of the transaction. Nil unless the customer bought several seats.
    var multiSeatInfo: Seats?

    struct Seats: Decodable, Hashable, Sendable {
        var revokedSeatQuantity: Int?
    }

    /// The month of a one-year commitment that is paid monthly.
    struct Commitment: Decodable, Hashable, Sendable {
        var billingPeriodNumber: Int?
        var totalBillingPeriods: Int?
        var commitmentExpiresDate: Int64?
    }

    init?(_ document: StoreDocument) {
        guard let payload = CompactPayload.bytes(of: document.jws),
            let value = try? JSONDecoder().decode(Self.self, from: payload)
        else { return nil }
        self = value
    }

    /// The store's evidence in the transaction.
    func makeTransaction(isHeld: Bool, firstSeenFor: String?) -> StoreTransaction {
        let isFamilyShared = inAppOwnershipType == "FAMILY_SHARED"
        return StoreTransaction(
            id: transactionId, originalID: originalTransactionId, productID: productId, kind: kind,
            purchasedAt: Timestamp(milliseconds: purchaseDate),
            expiresAt: expiresDate.map(Timestamp.init(milliseconds:)),
            revokedAt: revocationDate.map(Timestamp.init(milliseconds:)),
            isRevokedByFamily: isFamilyShared || inAppOwnershipType == "ASSIGNED",
            isUpgraded: isUpgraded ?? false,
            isFamilyShared: isFamilyShared, quantity: quantity ?? 1, seats: seats, offer: offer,
            signedAt: Timestamp(milliseconds: signedDate), isHeld: isHeld,
            firstSeenFor: firstSeenFor,
            details: StoreTransaction.Details(
                offerType: offerType, offerID: offerIdentifier, paymentMode: offerDiscountType,
                offerPeriod: offerPeriod, ownership: inAppOwnershipType,
                bundleProductID: bundleProductId, commitment: commitmentInfo?.makeCommitment()))
    }

    var kind: StoreTransaction.Kind {
        switch type {
        case "Auto-Renewable Subscription": .renewing
        case "Non-Renewing Subscription": .nonRenewing
        case "Consumable": .consumable
        default: .nonConsumable
        }
    }

    /// The seats that the purchaser has bought. Nil for a member's transaction, because such a
    /// transaction repeats the purchaser's numbers, which say nothing about the member.
    private var seats: StoreTransaction.Seats? {
        guard let multiSeatInfo, [nil, "PURCHASED"].contains(inAppOwnershipType) else { return nil }
        return .init(bought: quantity ?? 1, revoked: multiSeatInfo.revokedSeatQuantity ?? 0)
    }

    private var offer: StoreTransaction.Offer {
        if offerDiscountType == "FREE_TRIAL" { return .trial }
        return offerType == nil ? .none : .other
    }
}

extension TransactionPayload.Commitment {
    /// The commitment. Nil if one of its numbers is missing in the document.
    fileprivate func makeCommitment() -> StoreTransaction.Commitment? {
        guard let month = billingPeriodNumber, let months = totalBillingPeriods else { return nil }
        return StoreTransaction.Commitment(
            month: month, months: months,
            until: commitmentExpiresDate.map(Timestamp.init(milliseconds:)))
    }
}

/// The members of a signed renewal info that the engine reads.
struct RenewalPayload: Decodable, Hashable, Sendable {
    var originalTransactionId: String
    var autoRenewStatus: Int?
    var autoRenewProductId: String?
    var gracePeriodExpiresDate: Int64?
    var signedDate: Int64
    var commitmentInfo: Commitment?
    /// The number of seats in the next period.
    var renewalQuantity: Int?

    /// What follows a one-year commitment that is paid monthly.
    struct Commitment: Decodable, Hashable, Sendable {
        var commitmentAutoRenewStatus: Int?
    }

    init?(_ document: StoreDocument) {
        guard let payload = CompactPayload.bytes(of: document.jws),
            let value = try? JSONDecoder().decode(Self.self, from: payload)
        else { return nil }
        self = value
    }
}

extension StoreRenewal {
    /// The store's evidence in the renewal info. Nil if the renewal info is not verified or cannot
    /// be parsed.
    func makeStatus() -> StoreStatus? {
        guard renewalInfo.isVerified, let payload = RenewalPayload(renewalInfo), let stateOfRenewal
        else {
            return nil
        }
        return StoreStatus(
            originalID: payload.originalTransactionId, state: stateOfRenewal,
            willRenew: payload.autoRenewStatus.map { $0 == 1 },
            renewsTo: payload.autoRenewProductId,
            commitmentRenews: payload.commitmentInfo?.commitmentAutoRenewStatus.map { $0 != 0 },
            seatsAtRenewal: payload.renewalQuantity,
            graceUntil: payload.gracePeriodExpiresDate.map(Timestamp.init(milliseconds:)),
            signedAt: Timestamp(milliseconds: payload.signedDate), isConfirmed: false)
    }

    private var stateOfRenewal: StoreStatus.State? {
        switch state {
        case .subscribed: .subscribed
        case .expired: .expired
        case .retry: .retry
        case .grace: .grace
        case .revoked: .revoked
        case .unknown: nil
        }
    }
}

/// The decoded payload of a compact JWS. The signature is not checked.
enum CompactPayload {
    static func bytes(of jws: String) -> Data? {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        return Data(base64Encoded: text)
    }
}
