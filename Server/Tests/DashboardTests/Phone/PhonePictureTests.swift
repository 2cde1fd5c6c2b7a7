import PerennialContract
import Testing

@testable import Dashboard

@Suite struct PhonePictureTests {
    private func texts(_ life: PhoneLife) -> [String] {
        PhonePicture(life.state).lanes.flatMap(\.spans).map { span in
            let end = span.until == PhonePicture.openEnd ? "…" : day(span.until)
            return "\(span.look) \(day(span.from)) – \(end)"
        }
    }

    private func day(_ timestamp: Timestamp) -> String { String("\(timestamp)".prefix(10)) }

    @Test func `the timeline shows the states of a subscription without a gap between them`() {
        var life = PhoneLife.inGrace
        #expect(
            texts(life) == [
                "paid 2026-09-24 – 2026-10-24", "paid 2026-10-24 – 2026-11-24",
                "grace 2026-11-24 – 2026-12-10",
            ])
        life.add(.graceEnded, "2026-12-10T09:00:00Z", .retry)
        #expect(texts(life).last == "retry 2026-12-10 – 2027-01-23")
        life.add(
            .billingRecovered, "2026-12-20T09:00:00Z", .paid, until: "2027-01-20T09:00:00Z",
            money: "9.99")
        #expect(texts(life).suffix(3).first == "retry 2026-12-10 – 2026-12-20")
        #expect(texts(life).suffix(2).first == "paid 2026-12-20 – 2027-01-20")
        #expect(texts(life).last == "next 2027-01-20 – …")
    }

    @Test func `a payment that was refused and recovered in one second is shown as paid`() {
        var life = PhoneLife()
        life.add(
            .purchased, "2026-10-24T09:00:00Z", .paid, until: "2026-11-24T09:00:00Z", money: "9.99")
        life.add(.billingFailed, "2026-11-24T09:00:00.001Z", .grace, until: "2026-12-10T09:00:00Z")
        life.add(
            .billingRecovered, "2026-11-24T09:00:00.000Z", .paid, until: "2026-12-24T09:00:00Z",
            money: "9.99")
        #expect(
            texts(life) == [
                "paid 2026-10-24 – 2026-11-24", "paid 2026-11-24 – 2026-12-24",
                "next 2026-12-24 – …",
            ])
        #expect(PhoneBooks(life.state).monthly == 9990)
    }

    @Test func `if two labels of the timeline overlap, only the newer one is shown`() {
        var life = PhoneLife.inGrace
        life.add(.refunded, "2026-11-24T09:00:00Z", .refunded, money: "-9.99")
        #expect(PhonePicture(life.state).flags.map(\.word) == ["card failed", "refunded"])
        #expect(life.piece("picture").contains(">refunded</text>"))
        #expect(!life.piece("picture").contains(">card failed</text>"))
    }

    @Test func `the timeline shows a refunded period until its original end`() {
        var life = PhoneLife()
        life.add(
            .purchased, "2026-09-24T09:00:00Z", .paid, until: "2026-10-24T09:00:00Z", money: "9.99")
        life.add(.refunded, "2026-09-30T09:00:00Z", .refunded, money: "-9.99")
        #expect(
            texts(life) == ["paid 2026-09-24 – 2026-09-30", "refunded 2026-09-30 – 2026-10-24"])
        #expect(PhonePicture(life.state).flags.map(\.word) == ["refunded"])
    }

    @Test func `if an event changes no period, no new bar begins in the timeline`() {
        var life = PhoneLife()
        life.add(
            .purchased, "2026-09-24T09:00:00Z", .paid, until: "2026-10-24T09:00:00Z", money: "9.99")
        life.add(.renewalTurnedOff, "2026-09-30T09:00:00Z", .paid, until: "2026-10-24T09:00:00Z")
        life.state.customer.entitlements["pro"]?.willRenew = false
        #expect(texts(life) == ["paid 2026-09-24 – 2026-10-24"])
    }

    @Test func `a one-time purchase has a separate row in the timeline`() {
        var life = PhoneLife()
        #expect(life.piece("picture").contains("Nothing yet"))
        life.state.customer.oneTime = [
            OneTimePurchase(productID: "guide", purchasedAt: PhoneLife.start, revokedAt: nil),
            OneTimePurchase(productID: "seeds.100", purchasedAt: PhoneLife.start, revokedAt: nil),
        ]
        #expect(PhonePicture(life.state).lanes.map(\.name) == ["guide"])
        #expect(life.piece("picture").contains(#"class="p-paid""#))
    }

    @Test func `a year of monthly periods fits into the frame of the timeline`() {
        var life = PhoneLife()
        for month in 1...11 {
            let next = month + 1 < 10 ? "0\(month + 1)" : "\(month + 1)"
            let this = month < 10 ? "0\(month)" : "\(month)"
            life.add(
                month == 1 ? .purchased : .renewed, "2026-\(this)-24T09:00:00Z", .paid,
                until: "2026-\(next)-24T09:00:00Z", money: "9.99")
        }
        let html = life.piece("picture")
        #expect(html.matches(of: #/class="p-paid"/#).count == 11)
        let places = html.matches(of: #/ x="([0-9.]+)%"/#).compactMap { Double($0.1) }
        #expect(places.count > 12 && places.allSatisfy { $0 <= 100 })
        #expect(!html.contains("style="))
    }

    @Test func `the sums below the charts change if grace ends or a payment is refunded`() {
        var life = PhoneLife.inGrace
        #expect(PhoneBooks(life.state).monthly == 9990)
        #expect(PhoneBooks(life.state).revenue == 19_980)
        #expect(life.piece("books").contains("at risk"))
        life.add(.graceEnded, "2026-12-10T09:00:00Z", .retry)
        #expect(PhoneBooks(life.state).monthly == 0)
        life.add(.refunded, "2026-12-12T09:00:00Z", .refunded, money: "-9.99")
        #expect(PhoneBooks(life.state).revenue == 9990)
        #expect(life.piece("books").contains("$9.99"))
    }
}
