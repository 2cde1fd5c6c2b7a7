import Engine
import Ledger

/// A purchase, as RevenueCat's SDK posts it. Its other members are context that nobody has signed;
/// a form of them that is not known must not make the server refuse a purchase.
struct RevenueCatReceipt: Decodable {
    var appUserId: String
    private var fetchToken: String?
    private var appTransaction: String?
    private var initiationSource: Context?
    /// The offering that the customer bought from.
    private(set) var presentedOfferingIdentifier: Context?
    private(set) var storeCountry: Context?

    /// A body with a purchase and nothing else.
    struct Token: Decodable {
        var fetchToken: String
    }

    /// A text, or nil if it is anything else.
    struct Context: Decodable {
        var text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }

    /// `is_restore` does not say whether the customer asked for it: it is true for every purchase
    /// of an anonymous customer. Without a known source, nothing is taken from another customer.
    var intent: OwnershipClaim.Intent {
        switch initiationSource?.text {
        case "purchase": .purchase
        case "restore": .restore
        default: .sync
        }
    }

    var evidence: PurchaseEvidence {
        get throws(EngineFailure) { try Self.evidence(of: fetchToken, appTransaction) }
    }

    /// Base64 of `{\n` and of `{"`.
    private static let beginningsOfXcode = ["ewog", "eyJ"]

    /// - Parameter token: a signed transaction (StoreKit 2), or an app receipt (StoreKit 1).
    static func evidence(
        of token: String?, _ appTransaction: String?
    ) throws(EngineFailure) -> PurchaseEvidence {
        var evidence = PurchaseEvidence(
            signedAppTransaction: appTransaction.flatMap { $0.isEmpty ? nil : $0 })
        guard let token, !token.isEmpty else { return evidence }
        if token.utf8.contains(UInt8(ascii: ".")) {
            evidence.signedTransactions = [token]
        } else if beginningsOfXcode.contains(where: token.hasPrefix) {
            throw .unreadable("Purchases from Xcode are not accepted: anybody can sign them.")
        } else {
            evidence.appReceipt = token
        }
        return evidence
    }
}
