/// A store account's purchase or free download of the app itself.
package struct AppPurchase: Hashable, Sendable {
    /// The store's number for the account's copy of the app (Apple: `appTransactionId`).
    package var transaction: TransactionID
    package var from: Instant
    /// The first version that the account got: a build number, or on a Mac the version that people
    /// see. Nil if the App Store does not report it.
    package var version: String?
    package var isOnMac: Bool

    package init(
        transaction: TransactionID, from: Instant, version: String?, isOnMac: Bool = false
    ) {
        self.transaction = transaction
        self.from = from
        self.version = version
        self.isOnMac = isOnMac
    }
}

extension PurchaseID {
    /// No transaction's number begins with this prefix.
    private static let appPrefix = "app:"

    /// The purchase of the app itself.
    package init(ofApp transaction: TransactionID, in environment: Environment) {
        self.init(
            TransactionID(rawValue: Self.appPrefix + transaction.rawValue), in: environment)
    }

    /// The store's number for an account's copy of the app, if this is the purchase of an app.
    package var appTransaction: TransactionID? {
        guard original.rawValue.hasPrefix(Self.appPrefix) else { return nil }
        return TransactionID(
            rawValue: String(original.rawValue.dropFirst(Self.appPrefix.count)))
    }
}

/// For each platform, the earliest version at which a store account had the app, according to
/// documents. Later documents do not invalidate a proof: if an account gets the app on another
/// platform or device, it gets another first version there.
package struct AppProofs: Hashable, Sendable {
    /// The proof for all platforms other than the Mac.
    package private(set) var onDevices: Timeline.Attested<AppPurchase>?
    package private(set) var onMacs: Timeline.Attested<AppPurchase>?

    package init(_ proof: Timeline.Attested<AppPurchase>) {
        if proof.value.isOnMac { onMacs = proof } else { onDevices = proof }
    }

    /// One or two proofs: one for each platform that has a proof.
    package var all: [Timeline.Attested<AppPurchase>] { [onDevices, onMacs].compactMap(\.self) }

    /// Combines the proofs of two sets of documents: for each platform, the proof with the earlier
    /// version.
    package func adding(_ other: Self) -> Self {
        var proofs = self
        proofs.onDevices = Self.earlier(onDevices, other.onDevices)
        proofs.onMacs = Self.earlier(onMacs, other.onMacs)
        return proofs
    }

    private static func earlier(
        _ one: Timeline.Attested<AppPurchase>?, _ two: Timeline.Attested<AppPurchase>?
    ) -> Timeline.Attested<AppPurchase>? {
        guard let one, let two else { return one ?? two }
        return one.provesMore(than: two) ? one : two
    }
}

extension Timeline.Attested<AppPurchase> {
    /// Whether this purchase proves an earlier version than the other purchase, or proves the same
    /// version with an earlier date. The last rules only make the result independent of the order
    /// of arrival.
    fileprivate func provesMore(than other: Self) -> Bool {
        let (mine, others) = (value.parsedVersion, other.value.parsedVersion)
        if mine != others {
            guard let mine else { return false }
            return others.map { mine < $0 } ?? true
        }
        if value.from != other.value.from { return value.from < other.value.from }
        if at != other.at { return at > other.at }
        return (value.version ?? "") <= (other.value.version ?? "")
    }
}

extension AppPurchase {
    /// The version as numbers. Nil if the App Store names no version, or a version that does not
    /// consist of numbers.
    package var parsedVersion: AppVersion? { version.flatMap(AppVersion.init) }
}
