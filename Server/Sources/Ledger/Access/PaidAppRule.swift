/// A version of an app: numbers with dots between them, such as `3.0` or `417`. Missing numbers at
/// the end count as zero.
package struct AppVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    private static let partsMax = 8
    private let parts: [UInt64]
    package let description: String

    /// Parses a version. Returns nil if the text is anything other than numbers with dots between
    /// them.
    package init?(_ text: String) {
        var parts: [UInt64] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt64(part),
                parts.count < Self.partsMax
            else { return nil }
            parts.append(number)
        }
        while parts.last == 0 { parts.removeLast() }
        self.parts = parts
        description = text
    }

    package static func < (one: Self, other: Self) -> Bool {
        one.parts.lexicographicallyPrecedes(other.parts)
    }

    package static func == (one: Self, other: Self) -> Bool { one.parts == other.parts }

    package func hash(into hasher: inout Hasher) { hasher.combine(parts) }
}

/// The rule for customers who got the app before it became free.
package struct PaidAppRule: Hashable, Sendable {
    /// The first version that was free.
    package var before: AppVersion
    /// The first version that was free on Macs, where the App Store reports another number. Nil if
    /// Macs have the same first version as ``before``.
    package var beforeOnMac: AppVersion?
    package var entitlements: Set<EntitlementID>
    /// Whether the rule applies in the sandbox, where every account got the app at version 1.0.
    package var countsInSandbox: Bool

    package init(
        before: AppVersion, beforeOnMac: AppVersion? = nil, entitlements: Set<EntitlementID>,
        countsInSandbox: Bool = false
    ) {
        self.before = before
        self.beforeOnMac = beforeOnMac
        self.entitlements = entitlements
        self.countsInSandbox = countsInSandbox
    }

    /// The access to an entitlement from a bought copy of the app. Returns nil if the rule does not
    /// give the entitlement, or if the copy is not known to be old enough.
    ///
    /// - Parameter app: the product id that stands for the app.
    package func access(
        to entitlement: EntitlementID, through timeline: Timeline, of app: ProductID
    ) -> Access? {
        guard entitlements.contains(entitlement), let proof = proof(in: timeline),
            let version = proof.value.parsedVersion
        else { return nil }
        return Access(
            purchase: timeline.purchase, product: app, state: .owned, until: nil,
            reason: .ownedApp(since: proof.value.from, version: version), willRenew: false)
    }

    /// The proof that the customer had the app before its first free version; if there are several
    /// proofs, the proof with the earliest date. Returns nil if there is no proof.
    package func proof(in timeline: Timeline) -> Timeline.Attested<AppPurchase>? {
        guard timeline.purchase.environment == .production || countsInSandbox else { return nil }
        let valid = timeline.appProofs?.all.filter { proves($0.value) } ?? []
        return valid.min { $0.value.from < $1.value.from }
    }

    private func proves(_ copy: AppPurchase) -> Bool {
        guard let version = copy.parsedVersion else { return false }
        return version < (copy.isOnMac ? beforeOnMac ?? before : before)
    }
}
