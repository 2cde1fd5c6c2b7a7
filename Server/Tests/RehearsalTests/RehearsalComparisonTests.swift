import Ledger
import Testing

@testable import Rehearsal

/// The cause of each difference, row by row.
@Suite struct RehearsalComparisonTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let monthEnd = now + .days(20)

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var ours: RehearsalOpinion
        var theirs: RehearsalOpinion
        var evidence: RehearsalEvidence
        var finds: [RehearsalAspect: RehearsalCause]
        var testDescription: String { name }

        init(
            _ name: String, ours: RehearsalOpinion, theirs: RehearsalOpinion,
            _ evidence: RehearsalEvidence = RehearsalEvidence(),
            finds: [RehearsalAspect: RehearsalCause]
        ) {
            (self.name, self.ours, self.theirs) = (name, ours, theirs)
            (self.evidence, self.finds) = (evidence, finds)
        }
    }

    // MARK: - Opinions

    private static func paid(
        until end: Instant? = monthEnd, renews: Bool? = true, _ transaction: TransactionID? = "2",
        product: ProductID = "pro.monthly", isShared: Bool? = false,
        billing: RehearsalOpinion.Billing = .settled
    ) -> RehearsalOpinion {
        RehearsalOpinion(
            isOpen: true, until: end, willRenew: renews, product: product,
            isFamilyShared: isShared, transaction: transaction, billing: billing)
    }

    private static func closed(
        _ transaction: TransactionID? = "2", _ billing: RehearsalOpinion.Billing = .settled
    ) -> RehearsalOpinion {
        RehearsalOpinion(isOpen: false, transaction: transaction, billing: billing)
    }

    private static func open(_ basis: RehearsalOpinion.Basis) -> RehearsalOpinion {
        RehearsalOpinion(isOpen: true, until: monthEnd, basis: basis)
    }

    private static func document(
        minutesAgo: Int = 600, isRevocation: Bool = false
    ) -> RehearsalDocument {
        let time = now - .seconds(minutesAgo * 60)
        return RehearsalDocument(
            id: "d", attestedAt: time, receivedAt: time, isRevocation: isRevocation)
    }

    /// Evidence that our answer would be different without one of the documents.
    private static func without(
        _ document: RehearsalDocument, _ opinion: RehearsalOpinion
    ) -> RehearsalEvidence {
        RehearsalEvidence(
            documents: [document],
            alternatives: [
                RehearsalAlternative(closed("0"), missing: []),
                RehearsalAlternative(opinion, missing: [document]),
            ])
    }

    private static func evidence(
        _ change: (inout RehearsalEvidence) -> Void
    ) -> RehearsalEvidence {
        var evidence = RehearsalEvidence()
        change(&evidence)
        return evidence
    }

    // MARK: - Rows

    static let agreements = [
        Row("the same", ours: paid(), theirs: paid(), finds: [:]),
        Row("both know nothing", ours: .none, theirs: .none, finds: [:]),
        Row("both are closed, for whatever reason", ours: closed("1"), theirs: .none, finds: [:]),
        Row(
            "their times are whole seconds", ours: paid(until: monthEnd + .milliseconds(999)),
            theirs: paid(), finds: [:]),
        Row(
            "a value that one side does not say", ours: paid(),
            theirs: paid(renews: nil, nil, isShared: nil), finds: [:]),
    ]

    static let documents = [
        Row(
            "they miss a renewal", ours: paid(), theirs: closed("1"),
            without(document(), closed("1")), finds: [.access: .missedThere]),
        Row(
            "they miss a renewal that is young", ours: paid(), theirs: closed("1"),
            without(document(minutesAgo: 14), closed("1")), finds: [.access: .lateThere]),
        Row(
            "the limit of lateness is exclusive", ours: paid(), theirs: closed("1"),
            without(document(minutesAgo: 15), closed("1")), finds: [.access: .missedThere]),
        Row(
            "they ignore a refund", ours: closed(), theirs: paid(),
            without(document(isRevocation: true), paid()),
            finds: [.access: .refundIgnoredThere]),
        Row(
            "a refund that is young", ours: closed(), theirs: paid(),
            without(document(minutesAgo: 1, isRevocation: true), paid()),
            finds: [.access: .lateThere]),
        Row(
            "they miss that renewal was turned off", ours: paid(renews: false), theirs: paid(),
            without(document(), paid()), finds: [.renewal: .missedThere]),
        Row(
            "without the document, nothing says whether it renews", ours: paid(renews: false),
            theirs: paid(), without(document(), paid(renews: nil)),
            finds: [.renewal: .unexplained]),
        Row(
            "they miss an extension", ours: paid(until: monthEnd + .days(7)), theirs: paid(),
            without(document(), paid()), finds: [.until: .missedThere]),
        Row(
            "they know another transaction than the alternative", ours: paid(), theirs: closed("9"),
            without(document(), closed("1")), finds: [.access: .unexplained]),
        Row(
            "they know the purchase, and the alternative does not", ours: paid(),
            theirs: closed("2"), without(document(), .none), finds: [.access: .unexplained]),
        Row(
            "they know the same transaction, and give nothing", ours: paid(), theirs: closed("2"),
            finds: [.access: .unexplained]),
        Row(
            "they know a transaction that is not here", ours: closed("1"), theirs: paid(),
            without(document(), .none), finds: [.access: .unexplained]),
    ]

    static let outside = [
        Row(
            "a grant there", ours: .none, theirs: open(.grant), finds: [.access: .grantedThere]),
        Row(
            "a longer grant there", ours: paid(until: now + .days(1)), theirs: open(.grant),
            finds: [.until: .grantedThere]),
        Row(
            "a grant here", ours: open(.grant), theirs: .none, finds: [.access: .grantedHere]),
        Row(
            "a grant here without end, and one there that ends",
            ours: RehearsalOpinion(isOpen: true, basis: .grant), theirs: open(.grant),
            finds: [.until: .grantedHere]),
        Row(
            "a grant here that ends, and one there without end", ours: open(.grant),
            theirs: RehearsalOpinion(isOpen: true, basis: .grant),
            finds: [.until: .grantedThere]),
        Row(
            "a grant here, and a purchase there that is unknown here", ours: open(.grant),
            theirs: paid(until: now + .days(9)), finds: [.until: .unexplained]),
        Row(
            "a longer grant here, and a purchase there that is known here", ours: open(.grant),
            theirs: paid(until: now + .days(9)),
            evidence { $0.isTheirPurchaseKnownHere = true }, finds: [.until: .grantedHere]),
        Row(
            "a grant here, and longer access there without a transaction", ours: open(.grant),
            theirs: RehearsalOpinion(isOpen: true, until: monthEnd + .days(5), basis: .nothing),
            finds: [.until: .unexplained]),
        Row(
            "a grant here, and a closed purchase there", ours: open(.grant), theirs: closed(),
            finds: [.access: .grantedHere]),
        Row(
            "a purchase in the sandbox", ours: .none, theirs: open(.sandbox),
            finds: [.access: .sandbox]),
        Row(
            "a purchase in another store", ours: .none, theirs: open(.otherStore("play_store")),
            finds: [.access: .otherStore]),
        Row(
            "another id has it here", ours: .none, theirs: paid(),
            evidence { $0.idWithAccessHere = "anna" }, finds: [.access: .aliasUnknownHere]),
        Row(
            "another id has it there, and all documents are missing", ours: paid(), theirs: .none,
            evidence {
                $0 = without(document(), .none)
                $0.idWithAccessThere = "anna"
            }, finds: [.access: .aliasUnknownThere]),
        Row(
            "the purchase has another owner", ours: .none, theirs: paid(),
            evidence { $0.isOwnedByAnother = true }, finds: [.access: .ownerDiffers]),
        Row(
            "only one side knows of family sharing", ours: .none, theirs: paid(isShared: true),
            finds: [.access: .familySharing]),
        Row(
            "one side says that it is shared", ours: paid(isShared: true), theirs: paid(),
            finds: [.ownership: .familySharing]),
        Row("nothing is known here", ours: .none, theirs: paid(), finds: [.access: .unexplained]),
        Row(
            "nothing is known there", ours: paid(), theirs: .none, finds: [.access: .unexplained]),
    ]

    static let readings = [
        Row(
            "the product gives another entitlement here", ours: .none, theirs: paid(),
            evidence { $0.isTheirPurchaseOpenHere = true },
            finds: [.access: .entitlementMapping]),
        Row(
            "the product gives another entitlement there", ours: paid(), theirs: .none,
            evidence { $0.isOurPurchaseOpenThere = true },
            finds: [.access: .entitlementMapping]),
        Row(
            "the product is not listed here", ours: .none, theirs: paid(product: "old"),
            evidence { $0.isTheirProductListed = false }, finds: [.access: .productMapping]),
        Row(
            "one transaction, two products", ours: paid(), theirs: paid(product: "pro.m"),
            finds: [.product: .productMapping]),
        Row(
            "two transactions, two products", ours: paid("3"), theirs: paid(product: "pro.yearly"),
            finds: [.product: .unexplained]),
        Row(
            "grace here, retry there", ours: paid(billing: .grace), theirs: closed("2", .retry),
            without(document(), closed("2")), finds: [.access: .billingReading]),
        Row(
            "two ends of one grace period", ours: paid(billing: .grace),
            theirs: paid(until: now + .days(3), billing: .grace), finds: [.until: .billingReading]),
        Row(
            "they miss that a payment fails", ours: paid(billing: .grace), theirs: closed("1"),
            without(document(), closed("1")), finds: [.access: .missedThere]),
        Row(
            "access is held open here", ours: paid(billing: .unconfirmed), theirs: closed(),
            finds: [.access: .unconfirmedHere]),
        Row(
            "ends that are a minute apart", ours: paid(until: monthEnd + .seconds(60)),
            theirs: paid(), finds: [.until: .clock]),
        Row(
            "ends that are more than a minute apart", ours: paid(until: monthEnd + .seconds(61)),
            theirs: paid(), finds: [.until: .unexplained]),
        Row(
            "an end that is just over here", ours: closed(), theirs: paid(until: now + .seconds(9)),
            finds: [.access: .clock]),
        Row(
            "an end and no end", ours: paid(until: nil), theirs: paid(),
            finds: [.until: .unexplained]),
        Row(
            "three differences at once",
            ours: paid(until: monthEnd + .days(1), renews: false, isShared: true), theirs: paid(),
            finds: [.until: .unexplained, .renewal: .unexplained, .ownership: .familySharing]),
    ]

    @Test(arguments: agreements + documents + outside + readings)
    func `each difference has the cause that the evidence shows`(row: Row) {
        let comparison = RehearsalComparison(
            ours: row.ours, theirs: row.theirs, evidence: row.evidence, at: Self.now)
        let aspects = row.ours.differences(from: row.theirs)
        #expect(Set(aspects) == Set(row.finds.keys))
        for aspect in aspects { #expect(comparison.cause(of: aspect) == row.finds[aspect]) }
    }

    @Test func `the tables of this test contain every cause`() {
        let all = Self.agreements + Self.documents + Self.outside + Self.readings
        #expect(Set(all.flatMap(\.finds.values)) == Set(RehearsalCause.allCases))
    }

    @Test func `the effect says who would lose access after the switch`() {
        let effect = { (ours: RehearsalOpinion, theirs: RehearsalOpinion) in
            RehearsalComparison(ours: ours, theirs: theirs, at: Self.now).effect
        }
        #expect(effect(.none, Self.paid()) == .loses)
        #expect(effect(Self.paid(), .none) == .gains)
        #expect(effect(Self.paid(renews: false), Self.paid()) == .none)
    }

    @Test func `a summary counts causes and effects`() {
        var summary = RehearsalSummary()
        summary.customers = 3
        summary.add(.unexplained, .loses)
        summary.add(.lateThere, .gains)
        summary.add(.lateThere, .none)
        #expect(summary.differences == 3)
        #expect(summary.causes == [.unexplained: 1, .lateThere: 2])
        #expect(summary.effects == [.loses: 1, .gains: 1, .none: 1])
        #expect(summary.verdict == "1 unexplained of 3 customers")
    }
}
