package import PerennialContract

/// What a product gives, by the signed offerings or the bundled file.
package struct ProductMeaning: Hashable, Sendable {
    package var entitlements: Set<String>

    package init(entitlements: Set<String>) { self.entitlements = entitlements }
}

/// What is known of one customer on one device, at one moment.
package struct Evidence: Hashable, Sendable {
    /// The id of the customer. Nil if the customer is anonymous.
    package var person: String?
    package var server: ServerWord?
    package var store: StoreWord
    /// Verdicts that were kept from earlier answers, by original transaction id.
    package var keptVerdicts: [String: Verdict]
    /// By product id.
    package var meanings: [String: ProductMeaning]
    /// Ends of terms that do not renew, computed from the offerings, by transaction id.
    package var termEnds: [String: Timestamp]
    /// When the server last answered. Nil if it never did.
    package var serverAnsweredAt: Timestamp?
    /// Whether the store was asked since the launch, whatever it answered.
    package var isStoreRead: Bool
    /// Right now, reckoned.
    package var now: Timestamp
    package var holds: Holds

    package init(
        person: String?, server: ServerWord? = nil, store: StoreWord = StoreWord(),
        keptVerdicts: [String: Verdict] = [:], meanings: [String: ProductMeaning] = [:],
        termEnds: [String: Timestamp] = [:], serverAnsweredAt: Timestamp? = nil,
        isStoreRead: Bool = true, now: Timestamp, holds: Holds = Holds()
    ) {
        self.person = person
        self.server = server
        self.store = store
        self.keptVerdicts = keptVerdicts
        self.meanings = meanings
        self.termEnds = termEnds
        self.serverAnsweredAt = serverAnsweredAt
        self.isStoreRead = isStoreRead
        self.now = now
        self.holds = holds
    }

    /// How long a right stays open after its end while its renewal is not confirmed.
    package struct Holds: Hashable, Sendable {
        /// While the server or the store answers. Milliseconds.
        package var answered: Int64
        /// While neither has answered since the end. Milliseconds.
        package var silent: Int64

        package init(answered: Int64 = 24 * 3_600_000, silent: Int64 = 7 * 24 * 3_600_000) {
            self.answered = answered
            self.silent = silent
        }
    }
}
