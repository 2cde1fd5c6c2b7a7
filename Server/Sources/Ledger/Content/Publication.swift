/// Something that is published once and can be read from then on, such as one issue of a magazine.
package struct Publication: Hashable, Sendable {
    package var id: PublicationID
    package var publishedAt: Instant
    /// The entitlement whose holders may read the publication. Nil if the publication is only sold
    /// separately.
    package var entitlement: EntitlementID?
    /// Products that give access to the publication without the entitlement.
    package var products: Set<ProductID>

    package init(
        id: PublicationID, publishedAt: Instant, entitlement: EntitlementID?,
        products: Set<ProductID> = []
    ) {
        self.id = id
        self.publishedAt = publishedAt
        self.entitlement = entitlement
        self.products = products
    }
}

package struct PublicationID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// The app's rules for all its publications.
package struct PublicationRules: Hashable, Sendable {
    /// Whether customers who no longer have the entitlement may still read the publications that
    /// appeared while they had it.
    package var staysAfterLapse: Bool
    /// Whether customers with the entitlement may read everything that was ever published.
    package var opensEarlier: Bool

    package init(staysAfterLapse: Bool = true, opensEarlier: Bool = false) {
        self.staysAfterLapse = staysAfterLapse
        self.opensEarlier = opensEarlier
    }
}

/// Whether a customer may read a publication, and why.
package struct Reading: Hashable, Sendable {
    package var publication: PublicationID
    package var isOpen: Bool
    package var reason: Reason

    package enum Reason: Hashable, Sendable {
        /// The publication was bought separately.
        case bought(ProductID)
        /// The publication was published while the customer had the entitlement.
        case heldAtPublication
        /// The publication was the newest one when the customer's entitlement began.
        case currentAtStart(Instant)
        /// The customer has the entitlement, which also gives access to all earlier publications.
        case earlier
        /// The customer may not read the publication, but could read it with the entitlement.
        case lapsed
        /// The customer may not read the publication, and did not have the entitlement when it was
        /// published.
        case notHeldAtPublication
        case onlySold
    }
}

/// Everything that decides which publications one customer may read at one moment.
package struct PublicationReader {
    private let tenures: [EntitlementID: Tenure]
    /// The timelines that give access now, by the product that gives the access. A timeline may be
    /// listed under two products.
    private let openTimelines: [ProductID: [Timeline]]
    private let now: Instant
    private let access: AccessRules
    private let rules: PublicationRules

    package init(
        of timelines: [Timeline], _ terms: [Term], _ grants: [Grant],
        _ entitlements: [EntitlementID: Set<ProductID>], at now: Instant, access: AccessRules,
        rules: PublicationRules
    ) {
        openTimelines = timelines.reduce(into: [:]) { given, timeline in
            guard let answer = timeline.access(at: now, rules: access), answer.isOpen else {
                return
            }
            for product in Set([answer.product, answer.alternative].compactMap(\.self)) {
                given[product, default: []].append(timeline)
            }
        }
        self.now = now
        self.access = access
        self.rules = rules
        tenures = entitlements.reduce(into: [:]) { tenures, entry in
            let (entitlement, products) = entry
            let answer = Entitlement.access(
                through: products, of: timelines, terms, at: now, rules: access)
            let grants = grants.filter { $0.entitlement == entitlement }
            tenures[entitlement] = Tenure(
                timelines, terms, grants, through: products,
                isOpen: EntitlementStatus.strongest(answer, grants, at: now)?.isOpen ?? false,
                at: now,
                rules: access)
        }
    }

    /// For each publication that has come out, whether the customer may read it; the newest first.
    package func readings(of publications: [Publication]) -> [Reading] {
        let published = published(of: publications)
        let starts = starts(among: published)
        return published.map { reading(of: $0, starts) }
    }

    /// Whether the customer may read one publication. Returns nil if it has not come out.
    ///
    /// - Parameter publications: all publications of the app.
    package func reading(
        of id: PublicationID, among publications: [Publication]
    ) -> Reading? {
        let published = published(of: publications)
        guard let one = published.first(where: { $0.id == id }) else { return nil }
        return reading(of: one, starts(among: published))
    }

    /// Publications that have come out, the newest first.
    private func published(of publications: [Publication]) -> [Publication] {
        publications.filter { $0.publishedAt <= now }
            .sorted { ($0.publishedAt, $0.id) > ($1.publishedAt, $1.id) }
    }

    /// For each range of time in which the customer had an entitlement, finds the publication that
    /// was the newest when the range began. Returns these publications by entitlement, each with
    /// the start of the range. If several ranges have the same publication, returns the start of
    /// the first range.
    private func starts(
        among published: [Publication]
    ) -> [EntitlementID: [PublicationID: Instant]] {
        let byRight = Dictionary(grouping: published, by: \.entitlement)
        return tenures.reduce(into: [:]) { starts, entry in
            let (entitlement, tenure) = entry
            var earlier = byRight[entitlement, default: []][...]
            for run in tenure.runs.reversed() {
                earlier = earlier.drop { $0.publishedAt > run.lowerBound }
                guard let newest = earlier.first else { return }
                starts[entitlement, default: [:]][newest.id] = run.lowerBound
            }
        }
    }

    private func reading(
        of publication: Publication, _ starts: [EntitlementID: [PublicationID: Instant]]
    ) -> Reading {
        if let product = bought(publication) {
            return Reading(publication: publication.id, isOpen: true, reason: .bought(product))
        }
        guard let entitlement = publication.entitlement else {
            return Reading(publication: publication.id, isOpen: false, reason: .onlySold)
        }
        guard let tenure = tenures[entitlement] else {
            return Reading(
                publication: publication.id, isOpen: false, reason: .notHeldAtPublication)
        }
        if tenure.isOpen && rules.opensEarlier {
            return Reading(publication: publication.id, isOpen: true, reason: .earlier)
        }
        let start = starts[entitlement]?[publication.id]
        guard let reason = reason(of: publication, tenure, start) else {
            return Reading(
                publication: publication.id, isOpen: false, reason: .notHeldAtPublication)
        }
        let isOpen = tenure.isOpen || rules.staysAfterLapse
        return Reading(
            publication: publication.id, isOpen: isOpen, reason: isOpen ? reason : .lapsed)
    }

    private func bought(_ publication: Publication) -> ProductID? {
        let candidates = publication.products.flatMap { openTimelines[$0] ?? [] }
        guard !candidates.isEmpty else { return nil }
        let answer = Entitlement.access(
            through: publication.products, of: candidates, at: now, rules: access)
        return answer.flatMap { $0.isOpen ? $0.product : nil }
    }

    private func reason(
        of publication: Publication, _ tenure: Tenure, _ start: Instant?
    ) -> Reading.Reason? {
        if tenure.runs.contains(where: { $0.contains(publication.publishedAt) }) {
            return .heldAtPublication
        }
        return start.map { .currentAtStart($0) }
    }
}

/// When a customer had an entitlement, and whether they have it now.
private struct Tenure {
    /// The ranges of time in which the customer had the entitlement, each without gaps, sorted by
    /// time.
    let runs: [Range<Instant>]
    let isOpen: Bool

    /// A refunded period does not count. After an upgrade or a partial refund, the period counts
    /// until the refund. While a purchase is open beyond its paid time, in grace or unconfirmed,
    /// its own range continues. Other purchases and grants in this time do not matter.
    init(
        _ timelines: [Timeline], _ terms: [Term], _ grants: [Grant],
        through products: Set<ProductID>, isOpen: Bool, at now: Instant, rules: AccessRules
    ) {
        let next = now + .milliseconds(1)
        let periods = timelines.flatMap(\.periods).filter {
            products.contains($0.product) && $0.payment.opensByItself && !$0.isVoid
                && !$0.payment.isFullyRefunded
        }
        let terms = terms.filter { products.contains($0.product) && !$0.payment.isFullyRefunded }
        var stretches =
            periods.map { $0.from..<max($0.from, $0.openUntil ?? next) }
            + terms.map { $0.from..<max($0.from, $0.until) }
            + grants.map { $0.from..<max($0.from, $0.end ?? next) }
        stretches += timelines.compactMap {
            $0.openRange(through: products, heldAt: now, rules: rules)
        }
        stretches = stretches.filter { $0.lowerBound <= now }
            .sorted { $0.lowerBound < $1.lowerBound }
        if isOpen, !stretches.contains(where: { $0.contains(now) }) {
            stretches.append((stretches.last?.lowerBound ?? now)..<next)
        }
        self.isOpen = isOpen
        runs = stretches.reduce(into: []) { runs, next in
            guard let last = runs.last, next.lowerBound <= last.upperBound else {
                return runs.append(next)
            }
            runs[runs.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
        }
    }
}

extension Timeline {
    /// The range of time, up to now, in which this purchase has given its present access through
    /// some products. Returns nil if it gives no access through them.
    fileprivate func openRange(
        through products: Set<ProductID>, heldAt now: Instant, rules: AccessRules
    ) -> Range<Instant>? {
        guard let access = access(through: products, at: now, rules: rules), access.isOpen,
            let period = period(at: now)
        else { return nil }
        // A refunded period does not count, and neither does a period of another product before a
        // change. Then the range begins at the end of that period.
        let counts = products.contains(period.product) && !period.payment.isFullyRefunded
        let from = counts ? period.from : period.payment.until ?? now
        return min(from, now)..<(now + .milliseconds(1))
    }
}

extension Payment {
    /// Whether the payment was fully refunded for a reason other than an upgrade.
    fileprivate var isFullyRefunded: Bool {
        guard let revocation, revocation.kind == .refund, !isUpgraded else { return false }
        return (revocation.percentage ?? Percentage.whole) >= Percentage.whole
    }
}
