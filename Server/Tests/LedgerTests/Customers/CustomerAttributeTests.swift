import Dice
import Ledger
import Testing

/// Which value of an attribute stays, whatever the order in which the values arrive.
@Suite struct CustomerAttributeTests {
    private static func attribute(
        _ name: String, _ value: String?, at moment: Int64,
        by author: CustomerAttribute.Author = .app
    ) -> CustomerAttribute {
        CustomerAttribute(
            name: name, value: value, updatedAt: Instant(milliseconds: moment), author: author)
    }

    @Test func `a later value replaces an earlier one, but a campaign keeps its earliest value`() {
        let (old, new) = (
            Self.attribute("bird", "owl", at: 1), Self.attribute("bird", "kite", at: 2)
        )
        #expect(new.outranks(old) && !old.outranks(new))
        let (first, second) = (
            Self.attribute("$campaign", "spring", at: 1), Self.attribute("$campaign", "fall", at: 2)
        )
        #expect(first.outranks(second) && !second.outranks(first))
        // A deletion of a write-once attribute stays, whatever its time.
        for moment: Int64 in [0, 3] {
            let deleted = Self.attribute("$campaign", nil, at: moment)
            #expect(deleted.outranks(first) && !first.outranks(deleted))
        }
    }

    @Test func `in a merge, a deletion wins over an older value`() {
        let deleted = Self.attribute("bird", nil, at: 5)
        let merged = CustomerAttribute.merged(
            [deleted], with: [Self.attribute("bird", "owl", at: 4)], keepsOwn: false)
        #expect(merged == [deleted])
    }

    @Test func `a merge has the same result in any order of the customers`() {
        let start = Dice.seed(announcedBy: "CustomerAttributeTests", usual: 1)
        for number in 0..<8 {
            let seed = start &+ UInt64(number)
            var dice = Dice(seed: seed)
            for round in 0..<300 {
                let people = (0..<3).map { _ in Self.person(&dice) }
                let one = Self.merged(people)
                let other = Self.merged(people.shuffled(using: &dice))
                #expect(one == other, "round \(round) of seed \(seed)")
            }
        }
    }

    private static func merged(_ people: [[CustomerAttribute]]) -> [CustomerAttribute] {
        people.dropFirst().reduce(people[0]) {
            CustomerAttribute.merged($0, with: $1, keepsOwn: false)
        }
    }

    private static func person(_ dice: inout Dice) -> [CustomerAttribute] {
        ["bird", "plan", "$email", "$campaign"].compactMap { name in
            guard Bool.random(using: &dice) else { return nil }
            let value = ["owl", "kite", nil].randomElement(using: &dice) ?? nil
            return attribute(
                name, value, at: Int64.random(in: 1...3, using: &dice),
                by: Bool.random(using: &dice) ? .app : .server)
        }
    }

    @Test func `a merge that keeps the first customer's values adds only names that are missing`() {
        let own = [Self.attribute("bird", "owl", at: 1)]
        let other = [Self.attribute("bird", "kite", at: 9), Self.attribute("plan", "gold", at: 9)]
        let merged = CustomerAttribute.merged(own, with: other, keepsOwn: true)
        #expect(merged.map(\.value) == ["owl", "gold"])
    }

    @Test
    func `a merge that keeps the first customer's values never displaces them by newer names`() {
        let own = [Self.attribute("$email", "anna@example.com", at: 1)]
        let other = (0..<CustomerAttribute.reservedMax).map {
            Self.attribute("$r\($0)", "x", at: 9)
        }
        let merged = CustomerAttribute.merged(own, with: other, keepsOwn: true)
        #expect(merged.count == CustomerAttribute.reservedMax)
        #expect(merged.contains(own[0]))
    }

    @Test func `if a customer has too many attributes, the latest ones stay`() {
        let many = (0..<CustomerAttribute.ownMax + 5).map {
            Self.attribute("a\($0)", "x", at: Int64($0))
        }
        let reserved = (0..<3).map { Self.attribute("$r\($0)", "x", at: 0) }
        let kept = CustomerAttribute.limited(many + reserved)
        #expect(kept.count == CustomerAttribute.ownMax + 3)
        #expect(!kept.contains { $0.name == "a4" } && kept.contains { $0.name == "a5" })
    }
}
