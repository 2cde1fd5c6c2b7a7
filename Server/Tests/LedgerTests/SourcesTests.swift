import Dice
import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_000)
private let purchase = PurchaseID("1000", in: .production)

private func payment(
    line: String? = "a", revokedAt: Instant? = nil, _ change: (inout Payment) -> Void = { _ in }
) -> Payment {
    var payment = Payment(
        transaction: "1", line: line, product: "pro.monthly", from: start,
        until: start + .days(30),
        revocation: revokedAt.map { Revocation(at: $0, kind: .refund) })
    change(&payment)
    return payment
}

private func signed(_ payment: Payment, at: Instant) -> Fact {
    Fact(about: purchase, attestedAt: at, .payment(payment))
}

private func legacy(_ payment: Payment, at: Instant) -> Fact {
    Fact(about: purchase, attestedAt: at, grade: .legacy, .payment(payment))
}

private let price = Money(milliunits: 9990, currency: "USD")

/// Returns the timeline of facts. Requires that it is the same in both orders of the facts.
private func timeline(_ facts: [Fact]) throws -> Timeline {
    let timelines = Set([facts, facts.reversed()].map { Timeline(of: purchase, $0) })
    #expect(timelines.count == 1, "the order matters")
    return try #require(timelines.first)
}

@Suite struct SourcesTests {
    @Test(arguments: RandomLife.seeds)
    func `any order of signed and legacy facts gives the same timeline`(seed: UInt64) {
        var dice = Dice(seed: seed)
        let facts = RandomLife.facts(&dice).map { fact in
            var fact = fact
            fact.grade = Bool.random(using: &dice) ? .legacy : .signed
            if case .payment(var payment) = fact.statement, fact.grade == .legacy {
                payment.kind = ProductKind.allCases.randomElement(using: &dice) ?? .unknown
                payment.group = ["A", "B", nil].randomElement(using: &dice) ?? nil
                let isShared = Bool.random(using: &dice)
                payment.ownership = isShared ? .familyShared : .purchased
                payment.revocation?.kind = isShared ? .sharingEnded : .refund
                if Int.random(in: 0..<6, using: &dice) == 0 { payment.line = nil }
                fact.statement = .payment(payment)
            }
            if case .renewal(var renewal) = fact.statement, fact.grade == .legacy {
                let days = Int.random(in: 0...9, using: &dice)
                renewal.receivedAt = days == 0 ? nil : fact.attestedAt + .days(days)
                fact.statement = .renewal(renewal)
            }
            return fact
        }
        let expected = Timeline(of: RandomLife.purchase, facts)
        for _ in 0..<20 {
            var told = facts + facts.filter { _ in Bool.random(using: &dice) }
            told.shuffle(using: &dice)
            var grown = Timeline(of: RandomLife.purchase, [])
            while !told.isEmpty {
                let count = Int.random(in: 1...min(3, told.count), using: &dice)
                grown = grown.adding(Array(told.prefix(count)))
                told.removeFirst(count)
                grown = Timeline(
                    stored: grown.purchase, copies: grown.copies, renewal: grown.sourcedRenewal,
                    lastGrace: grown.lastGrace)
            }
            #expect(grown == expected, "seed \(seed), told and stored bit by bit")
        }
    }

    @Test func `the values of a signed document win over those of a later legacy document`() throws
    {
        let told = try timeline([
            signed(payment { $0.price = price }, at: start),
            legacy(payment { $0.terms = .trial }, at: start + .days(9)),
        ])
        #expect(told.periods.map(\.payment.price) == [price])
        #expect(told.periods.map(\.payment.terms) == [.full])
    }

    @Test func `a legacy document with a later date reports a refund and its reversal`() throws {
        let bought = signed(payment { $0.price = price }, at: start)
        let refunded = legacy(payment(revokedAt: start + .days(5)), at: start + .days(6))
        let both = try timeline([bought, refunded])
        #expect(both.periods[0].payment.revocation?.at == start + .days(5))
        #expect(both.periods[0].payment.price == price)
        let reversed = try timeline([bought, refunded, legacy(payment(), at: start + .days(7))])
        #expect(reversed.periods[0].payment.revocation == nil)
    }

    @Test
    func `a signed refund wins over an earlier legacy document, and over a later legacy refund`()
        throws
    {
        let revocation = Revocation(at: start + .days(5), kind: .refund, percentage: 50_000)
        let refunded = signed(payment { $0.revocation = revocation }, at: start + .days(6))
        let told = try timeline([refunded, legacy(payment(), at: start + .days(3))])
        #expect(told.periods[0].payment.revocation == revocation)
        let again = try timeline([
            refunded, legacy(payment(revokedAt: start + .days(5)), at: start + .days(9)),
        ])
        #expect(again.periods[0].payment.revocation == revocation, "it says how much")
    }

    @Test func `an upgrade counts even if only a legacy document reports it`() throws {
        let told = try timeline([
            signed(payment(), at: start),
            legacy(payment { $0.isUpgraded = true }, at: start + .days(5)),
        ])
        #expect(told.periods[0].payment.isUpgraded)
    }

    @Test func `each legacy document adds the fields that no other document has`() throws {
        let receipt = legacy(
            payment(line: nil) { ($0.kind, $0.until) = (.nonConsumable, nil) }, at: start)
        let answer = legacy(
            payment(line: nil) {
                ($0.kind, $0.until, $0.group, $0.accountToken) = (.unknown, nil, "G", "token")
            }, at: start + .days(1))
        let told = try timeline([receipt, answer])
        #expect(told.periods.count == 1)
        #expect(told.periods[0].payment.kind == .nonConsumable)
        #expect(told.accountToken == "token" && told.periods[0].payment.group == "G")
        #expect(told.access(at: start)?.state == .owned)
    }

    @Test func `if any document marks a payment as family shared, its revocation is not a refund`()
        throws
    {
        let answer = legacy(payment { $0.ownership = .familyShared }, at: start)
        let receipt = legacy(payment(revokedAt: start + .days(3)), at: start + .days(4))
        let told = try timeline([answer, receipt]).periods[0].payment
        #expect(told.ownership == .familyShared)
        #expect(told.revocation == Revocation(at: start + .days(3), kind: .sharingEnded))
        let signedToo = try timeline([
            signed(payment { $0.ownership = .familyShared }, at: start), receipt,
        ])
        #expect(signedToo.periods[0].payment.revocation?.kind == .sharingEnded)
        let own = try timeline([legacy(payment(), at: start), receipt]).periods[0].payment
        #expect(own.ownership == .purchased && own.revocation?.kind == .refund)
    }

    @Test func `an offer with a name is kept if a later legacy document has no offer`() throws {
        let named = legacy(
            payment { ($0.terms, $0.offer) = (.offer, Offer(.code, id: "spring")) }, at: start)
        let plain = legacy(payment(), at: start + .days(1))
        #expect(try timeline([named, plain]).periods[0].payment.offer?.id == "spring")
    }

    @Test func `a period without a line item is joined with the period that has the line item`()
        throws
    {
        let told = try timeline([
            signed(payment { $0.transaction = "7" }, at: start),
            legacy(payment(line: nil), at: start + .days(1)),
        ])
        #expect(told.periods.filter { !$0.isVoid }.map(\.payment.transaction) == ["7"])
        let twice = try timeline([
            legacy(payment(line: nil), at: start),
            legacy(payment(line: nil) { $0.transaction = "9" }, at: start + .days(1)),
        ])
        #expect(twice.periods.count == 1, "restored under another number")
    }

    @Test
    func `later renewal information wins; if a legacy document agrees, signed values stay`()
        throws
    {
        let on = Renewal(willRenew: true, renewsTo: "pro.monthly", price: price)
        let first = Fact(about: purchase, attestedAt: start, .renewal(on))
        func older(_ renewal: Renewal, _ days: Int) -> Fact {
            Fact(
                about: purchase, attestedAt: start + .days(days), grade: .legacy,
                .renewal(renewal))
        }
        let same = older(Renewal(willRenew: true, renewsTo: "pro.monthly"), 3)
        let off = older(Renewal(willRenew: false, renewsTo: "pro.monthly"), 4)
        let confirmed = try timeline([first, same])
        #expect(confirmed.renewal?.value == on)
        #expect(confirmed.renewal?.at == start + .days(3))
        #expect(try timeline([first, same, off]).renewal?.value.willRenew == false)
        let before = older(Renewal(willRenew: false), -1)
        #expect(try timeline([first, before]).renewal?.value == on)
    }

    @Test
    func `dated renewal information wins over undated, and the latest arrival time is kept`()
        throws
    {
        func older(_ renewal: Renewal, at: Instant) -> Fact {
            Fact(about: purchase, attestedAt: at, grade: .legacy, .renewal(renewal))
        }
        let (heard, later) = (start + .days(6), start + .days(9))
        let plus = Renewal(willRenew: true, renewsTo: "plus.monthly", receivedAt: heard)
        let again = Renewal(willRenew: true, renewsTo: "pro.monthly", receivedAt: later)
        let undated = older(plus, at: start + .milliseconds(1))
        let off = Renewal(willRenew: false, renewsTo: "pro.monthly", ending: .cancelled)
        let cancelled = older(off, at: start + .days(3))
        let signed = Fact(about: purchase, attestedAt: start + .days(3), .renewal(off))
        for fact in [cancelled, signed] {
            let told = try timeline([undated, fact])
            #expect(told.renewal?.value.willRenew == false)
            #expect(told.renewal?.at == start + .days(3))
            #expect(told.sourcedRenewal?.receivedAt == heard)
            let twice = try timeline([undated, fact, older(again, at: start)])
            #expect(twice.sourcedRenewal?.receivedAt == later)
            #expect(twice.renewal?.value.willRenew == false)
        }
        let first = older(Renewal(willRenew: true, renewsTo: "pro.monthly"), at: start)
        #expect(try timeline([first, undated]).renewal?.value.renewsTo == "plus.monthly")
    }

    @Test(arguments: Grade.allCases)
    func `a reported grace period wins over a legacy document that does not mention it`(
        grade: Grade
    ) throws {
        let end = start + .days(30)
        let told = Renewal(willRenew: true, isRetrying: true, graceUntil: end + .days(6))
        let silent = Renewal(willRenew: true, isRetrying: true)
        let facts = [
            legacy(payment(), at: start),
            Fact(about: purchase, attestedAt: end + .days(1), grade: grade, .renewal(told)),
            Fact(about: purchase, attestedAt: end + .days(2), grade: .legacy, .renewal(silent)),
        ]
        let access = try timeline(facts).access(at: end + .days(3))
        #expect(access?.state == .grace)
        #expect(access?.until == end + .days(6))
        #expect(try timeline(facts).access(at: end + .days(7))?.state == .retry)
    }

    @Test func `a refunded period stays refunded if grace is over or renewal is off`() throws {
        let end = start + .days(30)
        let recovered = Renewal(willRenew: true, graceUntil: start + .days(6))
        let failed = Renewal(willRenew: true, isRetrying: true, graceUntil: end + .days(6))
        let refunded = legacy(payment(revokedAt: start + .days(2)), at: start + .days(3))
        func told(_ renewal: Renewal) -> Fact {
            Fact(
                about: purchase, attestedAt: end + .days(1), grade: .legacy, .renewal(renewal))
        }
        let after = end + .days(2)
        #expect(try timeline([refunded, told(recovered)]).access(at: after)?.state == .refunded)
        #expect(try timeline([refunded, told(failed)]).access(at: after)?.state == .grace)
        let off = Renewal(willRenew: false, graceUntil: end + .days(6))
        #expect(try timeline([refunded, told(off)]).access(at: after)?.state == .refunded)
    }

    @Test func `a later receipt can extend a period and cannot shorten it`() throws {
        let bought = signed(payment(), at: start)
        let end = start + .days(30)
        let extended = try timeline([
            bought, legacy(payment { $0.until = end + .days(20) }, at: start + .days(9)),
        ])
        #expect(extended.periods.map(\.payment.until) == [end + .days(20)])
        for until in [end - .milliseconds(999), end - .days(3), nil] {
            let cut = try timeline([
                bought, legacy(payment { $0.until = until }, at: start + .days(9)),
            ])
            #expect(cut.periods.map(\.payment.until) == [end])
        }
        let twice = try timeline([
            legacy(payment { $0.until = end + .days(20) }, at: start + .days(9)),
            legacy(payment(), at: start + .days(12)),
        ])
        #expect(twice.periods.map(\.payment.until) == [end + .days(20)])
        let earlier = try timeline([
            signed(payment(), at: start + .days(10)),
            legacy(payment { $0.until = end + .days(20) }, at: start + .days(9)),
        ])
        #expect(earlier.periods.map(\.payment.until) == [end])
    }

    @Test
    func `a receipt that does not mention an upgrade does not restore the old product`()
        throws
    {
        func year(_ change: (inout Payment) -> Void = { _ in }) -> Payment {
            payment {
                ($0.product, $0.until) = ("pro.yearly", start + .days(365))
                change(&$0)
            }
        }
        func next(_ product: ProductID) -> Payment {
            payment(line: "b") {
                $0.transaction = "2"
                $0.product = product
                ($0.from, $0.until) = (start + .days(10), start + .days(40))
            }
        }
        let late = start + .days(12)
        let upgraded = try timeline([
            legacy(year(), at: late), legacy(next("premium.monthly"), at: late),
        ])
        #expect(upgraded.periods.map(\.isReplaced) == [true, false])
        let partly = try timeline([
            signed(year(), at: start), legacy(year(), at: late),
            signed(next("premium.monthly"), at: start + .days(10)),
        ])
        #expect(partly.periods.map(\.isReplaced) == [true, false])
        // A customer who has the same product twice bought it again after a refund, and the refund
        // was reversed later.
        let again = try timeline([
            legacy(year(), at: late), legacy(next("pro.yearly"), at: late),
        ])
        #expect(again.periods.map(\.isReplaced) == [false, false])
        let spoken = try timeline([
            signed(year(), at: late), signed(next("premium.monthly"), at: start + .days(10)),
        ])
        #expect(spoken.periods.map(\.isReplaced) == [false, false])
    }

    @Test func `a price increase counts even if only a legacy document reports it`() throws {
        let on = Renewal(
            willRenew: true, renewsTo: "pro.monthly", renewsAt: start + .days(30), price: price)
        var legacyOn = Renewal(willRenew: true, renewsTo: "pro.monthly")
        func renewal(_ renewal: Renewal, _ grade: Grade, at: Instant) -> Fact {
            Fact(about: purchase, attestedAt: at, grade: grade, .renewal(renewal))
        }
        legacyOn.priceRise = .waiting
        let told = try timeline([
            renewal(on, .signed, at: start), renewal(legacyOn, .legacy, at: start + .days(3)),
        ])
        #expect(told.renewal?.value.priceRise == .waiting)
        #expect(told.renewal?.value.price == price)
        // By the time of the older document, the renewal is for another product.
        var rising = on
        rising.priceRise = .waiting
        let other = try timeline([
            renewal(rising, .signed, at: start),
            renewal(
                Renewal(willRenew: true, renewsTo: "pro.yearly"), .legacy, at: start + .days(3)),
        ])
        #expect(other.renewal?.value.priceRise == nil)
    }
}
