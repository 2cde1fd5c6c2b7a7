import Engine
import Ledger

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A purchase, as RevenueCat's SDK posts it. Its other members are context that nobody has signed;
/// a form of them that is not known must not make the server refuse a purchase.
struct RevenueCatReceipt: Decodable {
    var appUserId: String
    private var fetchToken: String?
    private var appTransaction: String?
    private var initiationSource: Context?
    private var transactionId: Context?
    private var productId: Context?
    private var attributes: Attributes?
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

    /// Attributes, or nil if they have a form that is not known.
    private struct Attributes: Decodable {
        var known: RevenueCatAttributes.Entries?

        init(from decoder: any Decoder) throws {
            known = try? RevenueCatAttributes.Entries(from: decoder)
        }
    }

    /// The first attribute whose JSON has no member `value`, perhaps because it is misspelt.
    var nameWithoutValue: String? {
        attributes?.known?.filter { !$0.value.hasValue }.keys.min()
    }

    /// What the SDK has not sent yet about the customer.
    var changes: [AttributeChange] {
        attributes?.known.map(RevenueCatAttributes.changes) ?? []
    }

    /// The intent of a backend. A backend has no queue of transactions, so it posts what
    /// somebody has bought, unless it says otherwise.
    var intentOfServer: OwnershipClaim.Intent {
        initiationSource?.text == nil ? .purchase : intent
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

    /// Requires a document of a backend. A device posts without one if it has no purchase, but a
    /// backend that leaves the document out by mistake would believe that it is recorded.
    func requireToken() throws(RevenueCatProblem) {
        guard fetchToken?.isEmpty ?? true else { return }
        throw RevenueCatProblem(
            .badRequest, .badRequest,
            "Send the signed transaction or the receipt as fetch_token.")
    }

    /// Empty if the device has no purchase.
    ///
    /// - Throws: ``RevenueCatProblem`` if the post is about a transaction and does not contain it:
    ///   the SDK would finish the transaction after a successful answer.
    var evidence: PurchaseEvidence {
        get throws(RevenueCatProblem) {
            let evidence = try Self.evidence(of: fetchToken, appTransaction)
            let isAboutTransaction =
                intent == .purchase || transactionId?.text != nil || productId?.text != nil
            guard !isAboutTransaction || evidence.isAboutTransactions else {
                throw RevenueCatProblem(
                    .serviceUnavailable, .internalFailure,
                    "The post is about a transaction. Post it as fetch_token.")
            }
            return evidence
        }
    }

    /// What the SDK posts in Xcode's local testing: JSON in Base64.
    private struct LocalToken: Decodable {
        var environment: String

        init?(_ token: String) {
            guard let json = Data(base64Encoded: token),
                let found = try? JSONDecoder().decode(Self.self, from: json)
            else { return nil }
            self = found
        }

        var isFromXcode: Bool { environment.lowercased() == "xcode" }
    }

    /// - Parameter token: a signed transaction (StoreKit 2), or an app receipt (StoreKit 1).
    /// - Throws: ``RevenueCatProblem`` if the token says that it is from Xcode.
    static func evidence(
        of token: String?, _ appTransaction: String?
    ) throws(RevenueCatProblem) -> PurchaseEvidence {
        var evidence = PurchaseEvidence(
            signedAppTransaction: appTransaction.flatMap { $0.isEmpty ? nil : $0 })
        guard let token, !token.isEmpty else { return evidence }
        if token.utf8.contains(UInt8(ascii: ".")) {
            evidence.signedTransactions = [token]
        } else if LocalToken(token)?.isFromXcode == true {
            throw RevenueCatProblem(
                .badRequest, .invalidReceipt,
                "Purchases from Xcode are not accepted: anybody can sign them. Use the sandbox.")
        } else {
            evidence.appReceipt = token
        }
        return evidence
    }
}

extension PurchaseEvidence {
    /// Whether it can prove more than that a device has the app.
    fileprivate var isAboutTransactions: Bool {
        var other = self
        other.signedAppTransaction = nil
        return !other.isEmpty
    }
}
