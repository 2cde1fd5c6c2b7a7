public import Foundation

extension Perennial.Failure: LocalizedError {
    /// The text for the customer, in one or two sentences. The code and the remedy are for the
    /// developer.
    public var errorDescription: String? { text(in: .current) }

    public func text(in locale: Locale) -> String { Wording(locale: locale).text(textKey) }

    /// The key of the text. Customers care more about whether they were charged than about the
    /// cause.
    private var textKey: TextKey {
        switch charged {
        case .yes: .paidAndSafe
        case .unclear: .chargeUnclear
        default: Self.keys[code] ?? (isTemporary ? .failedForNow : .failed)
        }
    }

    private static let keys: [Code: TextKey] = [
        .serverUnreachable: .serverUnreachable,
        .storeUnreachable: .storeUnreachable,
        .storeFailed: .failedForNow,
        .productUnknown: .productUnknown,
        .purchaseNotAllowed: .purchaseNotAllowed,
        .offerNotAccepted: .offerNotAccepted,
        .storeAccountOfAnother: .accountOfAnother,
        .customerMissing: .customerMissing,
        .customerChanged: .customerChanged,
        .previewOutdated: .customerChanged,
        .walletBalanceTooLow: .walletBalanceTooLow,
        .seatsNotSold: .seatsNotSold,
        .seatsNotPositive: .seatsNotSold,
        .seatsUnchanged: .seatsUnchanged,
        .seatReductionNotAllowed: .seatReduction,
        // Codes of the server.
        Code(rawValue: "purchase_belongs_to_another_customer"): .restoreRefused,
        Code(rawValue: "offer_not_for_customer"): .offerNotAccepted,
        Code(rawValue: "customer_proof_missing"): .customerMissing,
        Code(rawValue: "customer_proof_not_valid"): .customerMissing,
        Code(rawValue: "content_not_available"): .contentNotAvailable,
        Code(rawValue: "seats_taken"): .seatsTaken,
        Code(rawValue: "invitation_unknown"): .invitationUnknown,
        Code(rawValue: "purchaser_needs_no_seat"): .purchaserNeedsNoSeat,
        Code(rawValue: "server_busy"): .failedForNow,
    ]
}
