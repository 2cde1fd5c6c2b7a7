import AccessRules
import PerennialContract
import Testing

@Suite struct SituationTests {
    @Test(arguments: try Situation.rows())
    func `each situation leads to the decision in the table`(row: Situation) throws {
        #expect(try row.decided() == row.expected)
    }

    @Test func `each claim in the table of situations occurs once`() throws {
        let claims = try Situation.rows().map(\.claim)
        #expect(claims.count > 60)
        #expect(Set(claims).count == claims.count)
    }

    @Test func `every entitlement in any evidence gets a decision`() {
        var evidence = Evidence(
            person: nil, store: StoreEvidence(isTrusted: true), meanings: Situation.meanings,
            now: Timestamp(milliseconds: 0))
        evidence.server = ServerEvidence(
            asOf: evidence.now, isLive: true, offlineUntil: nil,
            rights: ["gift": .init(isActive: true, state: .granted, until: nil)], verdicts: [:])
        evidence.store.record(.bought("1", "basic", from: -1, to: 1))
        let decisions = AccessRules.decisions(by: evidence)
        #expect(decisions.filter(\.value.isActive).keys.sorted() == ["basic", "gift"])
        for (name, decision) in decisions {
            #expect(AccessRules.decision(on: name, by: evidence) == decision)
        }
    }

    @Test func `each step of an explanation is a sentence with the number of its rule`() throws {
        for row in try Situation.rows() {
            let steps = AccessRules.decision(on: "pro", by: try row.evidence()).steps
            #expect(!steps.isEmpty, "\(row.claim)")
            for step in steps {
                #expect((1...10).contains(step.rule))
                #expect(step.text.hasSuffix(".") && !step.text.contains("Optional"))
            }
        }
    }
}

extension StoreTransaction {
    /// A purchase with times in days.
    static func bought(
        _ id: String, in original: String? = nil, _ product: String, from: Int64, to end: Int64,
        signed: Int64? = nil
    ) -> StoreTransaction {
        let kind = Situation.products[product]?.kind ?? .renewing
        let day: Int64 = 86_400_000
        return StoreTransaction(
            id: id, originalID: original ?? id, productID: product, kind: kind,
            purchasedAt: Timestamp(milliseconds: from * day),
            expiresAt: kind == .renewing ? Timestamp(milliseconds: end * day) : nil,
            signedAt: Timestamp(milliseconds: (signed ?? from) * day))
    }
}
