import Engine
import Ledger

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A purchase in the form that RevenueCat's SDK posts. The members of type ``Context`` and the
/// attributes are not signed. An unknown form of these members must not make the server refuse a
/// purchase.
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

    /// A value that counts only if it is a text. Any other value is nil.
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

    /// The changes to the customer's attributes, as far as the SDK had not sent these changes
    /// before.
    var changes: [AttributeChange] {
        attributes?.known.map(RevenueCatAttributes.changes) ?? []
    }

    /// The intent of a backend. A backend has no queue of transactions, so its request is about a
    /// new purchase unless it names another source.
    var intentOfServer: OwnershipClaim.Intent {
        initiationSource?.text == nil ? .purchase : intent
    }

    /// The intent, according to `initiation_source`. The member `is_restore` is not used, because
    /// it is also true for every new purchase of an anonymous customer. If the source is unknown,
    /// no purchase is taken from another customer.
    var intent: OwnershipClaim.Intent {
        switch initiationSource?.text {
        case "purchase": .purchase
        case "restore": .restore
        default: .sync
        }
    }

    /// Throws if a backend's request contains no document. A device without a purchase posts no
    /// document. But a backend that omits the document by mistake would believe that the purchase
    /// is recorded.
    func requireToken() throws(RevenueCatProblem) {
        guard fetchToken?.isEmpty ?? true else { return }
        throw RevenueCatProblem(
            .badRequest, .badRequest,
            "Send the signed transaction or the receipt as fetch_token.")
    }

    /// The documents in the request. Empty if the device has no purchase.
    ///
    /// - Throws: ``RevenueCatProblem`` if the request is about a transaction but does not contain
    ///   it. After a successful response, the SDK would finish that transaction.
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

    /// The token that the SDK posts in Xcode's local testing: JSON in Base64.
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
    /// Whether the evidence contains more than an app transaction, which only proves that a device
    /// has the app.
    fileprivate var isAboutTransactions: Bool {
        var other = self
        other.signedAppTransaction = nil
        return !other.isEmpty
    }
}
