import AccessRules
import PerennialContract
import Testing

@Suite struct SituationTests {
    @Test(arguments: try Situation.rows())
    func `each situation is judged as the table says`(row: Situation) throws {
        #expect(try row.judged() == row.expected)
    }

    @Test func `each claim of the table is made once`() throws {
        let claims = try Situation.rows().map(\.claim)
        #expect(claims.count > 60)
        #expect(Set(claims).count == claims.count)
    }

    @Test func `every right that a word names is judged`() {
        var evidence = Evidence(
            person: nil, store: StoreWord(isTrusted: true), meanings: Situation.meanings,
            now: Timestamp(milliseconds: 0))
        evidence.server = ServerWord(
            asOf: evidence.now, isLive: true, offlineUntil: nil,
            rights: ["gift": .init(isActive: true, state: .granted, until: nil)], verdicts: [:])
        evidence.store.record(.bought("1", "basic", from: -1, to: 1))
        let judged = AccessRules.judgeAll(evidence)
        #expect(judged.filter(\.value.isActive).keys.sorted() == ["basic", "gift"])
        for (name, judgement) in judged {
            #expect(AccessRules.judge(name, by: evidence) == judgement)
        }
    }

    @Test func `each step is a sentence with the number of its rule`() throws {
        for row in try Situation.rows() {
            let steps = AccessRules.judge("pro", by: try row.evidence()).steps
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
