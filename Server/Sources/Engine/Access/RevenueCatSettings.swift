import AppStoreTrust
import Ledger

/// The settings for an app that still contains RevenueCat's SDK.
package struct RevenueCatSettings: Hashable, Sendable {
    /// The app's public keys at RevenueCat. The code of the app contains these keys. Each has
    /// exactly the rights of an app key.
    package var keys: Set<String>
    /// RevenueCat's package of a product, such as `$rc_monthly`.
    package var packages: [ProductID: String]
    /// The mail address that the customer center shows. Nil if it is not served.
    package var supportEmail: String?
    /// The id of the project in paths of RevenueCat's REST API, version 2. If nil, the app's name
    /// is used.
    package var project: String?
    /// Whether the attributes of customers who have logged in are stored, although the SDK proves
    /// no identity.
    package var takesUnprovenAttributes: Bool

    package init(
        keys: Set<String> = [], packages: [ProductID: String] = [:], supportEmail: String? = nil,
        project: String? = nil, takesUnprovenAttributes: Bool = false
    ) {
        self.keys = keys
        self.packages = packages
        self.supportEmail = supportEmail
        self.project = project
        self.takesUnprovenAttributes = takesUnprovenAttributes
    }
}

extension Context {
    /// The app to which a public key of RevenueCat belongs. Returns nil if the key belongs to no
    /// app.
    package func app(ofRevenueCatKey key: String) -> AppID? {
        apps.values.first { $0.revenueCat.keys.contains(key) }?.id
    }

    /// Whether any app is served to RevenueCat's SDK.
    package var servesRevenueCat: Bool { !appsOfRevenueCat.isEmpty }

    /// The apps that are served to RevenueCat's SDK, ordered by id.
    package var appsOfRevenueCat: [AppID] {
        apps.values.filter { !$0.revenueCat.keys.isEmpty }.map(\.id).sorted()
    }
}

extension EngineFailure {
    /// Whether the failure is final: the document is not genuine, or the purchase stays with
    /// another customer. A later attempt with the same document and customer would also fail. Any
    /// other failure may be resolved if the customer's id or the configuration is changed, or if a
    /// later version of the server knows further forms of documents.
    package var isFinalForDocument: Bool {
        switch self {
        case .notTrusted(let refusal): refusal.reason.isFinal
        case .belongsToAnotherCustomer: true
        default: false
        }
    }
}

extension Refusal.Reason {
    /// A genuine document in a form that Apple introduces later may have another algorithm, other
    /// certificates, or another payload. So the reasons about these parts are not final.
    fileprivate var isFinal: Bool {
        switch self {
        case .notAJWS, .headerUnreadable, .badSignature, .environmentNeverTrusted: true
        case .tooLong, .criticalHeader, .algorithm, .certificateCount, .certificateUnreadable,
            .untrustedChain, .missingMarker, .wrongKeyUsage, .payloadUnreadable,
            .receiptUnreadable, .notValidAtSigning, .fieldMissing, .wrongBundle, .wrongAppAppleID,
            .wrongDevice, .wrongSecret, .wrongEnvironment:
            false
        }
    }
}
