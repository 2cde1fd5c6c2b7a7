package import PerennialContract

/// The entitlements that a product gives according to the signed offerings or the bundled file.
package struct ProductMeaning: Hashable, Sendable {
    package var entitlements: Set<String>

    package init(entitlements: Set<String>) { self.entitlements = entitlements }
}

/// All evidence about one customer on one device, at one time.
package struct Evidence: Hashable, Sendable {
    /// The customer's id. Nil if the customer is anonymous.
    package var person: String?
    package var server: ServerEvidence?
    package var store: StoreEvidence
    /// The stored verdicts of earlier answers, by original transaction id.
    package var keptVerdicts: [String: Verdict]
    /// The entitlements that each product gives, by product id. Empty before the offerings were
    /// read.
    package var meanings: [String: ProductMeaning]
    /// Whether the server has sent or confirmed ``meanings`` since the launch. If false, the
    /// meanings come from an earlier launch or from the app's bundle, and a product may give more
    /// by now.
    package var areMeaningsCurrent: Bool
    /// The ends of terms, which do not renew, by transaction id. The ends are computed from the
    /// offerings.
    package var termEnds: [String: Timestamp]
    /// When the server last answered a request about the customer. Nil if it has never answered.
    package var serverAnsweredAt: Timestamp?
    /// Whether the store was asked since the launch, even if it did not answer.
    package var isStoreRead: Bool
    /// Whether the store was asked since the launch and has not answered for a long time.
    package var isStoreSilent: Bool
    /// Whether an unsent request may open an entitlement that the store's evidence does not
    /// contain. Such a request contains a receipt, or a log-in that joins two customers.
    package var isAnythingUnsent: Bool
    /// Whether no server decides about the purchases of this store, as with Xcode's local store.
    package var isStoreAlone: Bool
    /// The present time, by the reckoned clock.
    package var now: Timestamp
    package var holdTimes: HoldTimes

    package init(
        person: String?, server: ServerEvidence? = nil, store: StoreEvidence = StoreEvidence(),
        keptVerdicts: [String: Verdict] = [:], meanings: [String: ProductMeaning] = [:],
        areMeaningsCurrent: Bool = true, termEnds: [String: Timestamp] = [:],
        serverAnsweredAt: Timestamp? = nil, isStoreRead: Bool = true,
        isStoreSilent: Bool = false, isAnythingUnsent: Bool = false, isStoreAlone: Bool = false,
        now: Timestamp, holdTimes: HoldTimes = HoldTimes()
    ) {
        self.person = person
        self.server = server
        self.store = store
        self.keptVerdicts = keptVerdicts
        self.meanings = meanings
        self.areMeaningsCurrent = areMeaningsCurrent
        self.termEnds = termEnds
        self.serverAnsweredAt = serverAnsweredAt
        self.isStoreRead = isStoreRead
        self.isStoreSilent = isStoreSilent
        self.isAnythingUnsent = isAnythingUnsent
        self.isStoreAlone = isStoreAlone
        self.now = now
        self.holdTimes = holdTimes
    }

    /// How long an entitlement stays open after its end while its renewal is not confirmed.
    package struct HoldTimes: Hashable, Sendable {
        /// The hold while the server or the store answers, in milliseconds.
        package var answered: Int64
        /// The hold while neither the server nor the store has answered since the end, in
        /// milliseconds.
        package var silent: Int64

        package init(answered: Int64 = 24 * 3_600_000, silent: Int64 = 7 * 24 * 3_600_000) {
            self.answered = answered
            self.silent = silent
        }
    }
}

extension Evidence {
    /// How long an entitlement that ended at a given time is held open.
    ///
    /// - Parameter storeKnows: whether the store on this device would know of a renewal.
    func hold(since end: Timestamp, storeKnows: Bool = true) -> HoldTime {
        lastAnswer(ofStoreToo: storeKnows).map { $0 >= end } == true
            ? HoldTime(milliseconds: holdTimes.answered, isSilent: false)
            : HoldTime(milliseconds: holdTimes.silent, isSilent: true)
    }

    /// When the server last answered or, if `ofStoreToo` is true, when the server or the store last
    /// answered.
    private func lastAnswer(ofStoreToo: Bool) -> Timestamp? {
        let store = ofStoreToo && store.isTrusted ? store.answeredAt : nil
        return [serverAnsweredAt, store].compactMap(\.self).max()
    }
}

/// How long an entitlement stays open after its end while its renewal is not confirmed.
struct HoldTime: Hashable {
    var milliseconds: Int64
    /// Whether neither the server nor the store has answered since the entitlement's end.
    var isSilent: Bool
}
