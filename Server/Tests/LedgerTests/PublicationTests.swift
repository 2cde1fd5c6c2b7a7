import Foundation
import Ledger
import Testing

/// Which publications may be read, according to a table in plain text. The text explains its
/// format.
@Suite struct PublicationTests {
    @Test func `the table of publications has the expected number of rows`() throws {
        #expect(try PublicationTable.rows().count >= 38)
    }

    @Test(arguments: try PublicationTable.rows())
    func `a customer who had access when a publication appeared may read the publication`(
        row: PublicationTable.Row
    ) throws {
        let readings = try row.reader(at: row.now).readings(of: row.publications)
        let open = readings.filter(\.isOpen).map(\.publication.rawValue)
        let text = open.isEmpty ? "nothing" : open.reversed().joined(separator: " ")
        #expect(text == row.expected)
        #expect(readings.allSatisfy { PublicationTable.fits($0, row.rules) })
    }

    private func reader(of facts: [Fact], _ grants: [Grant] = []) -> PublicationReader {
        let timelines = Set(facts.map(\.purchase)).map { Timeline(of: $0, facts) }
        return PublicationReader(
            of: timelines, PublicationTable.terms.terms(of: timelines), grants,
            ["magazine": ["monthly", "summer"], "archive": ["never sold"]],
            at: PublicationTable.day(50), access: AccessRules(), rules: PublicationRules())
    }

    private let publications = [20, 45].map { PublicationTable.publication("\($0)") }

    @Test func `a renewal that was charged and never began gives access to no publication`() {
        func paid(_ id: TransactionID, _ product: ProductID, _ days: Range<Int>, renews: Bool)
            -> Fact
        {
            let payment = Payment(
                transaction: id, product: product, kind: .autoRenewable,
                from: PublicationTable.day(days.lowerBound),
                until: PublicationTable.day(days.upperBound), isRenewal: renews)
            return Fact(
                about: PurchaseID("100", in: .production), attestedAt: payment.from,
                .payment(payment))
        }
        let facts = [
            paid("100", "monthly", 10..<40, renews: false),
            paid("101", "monthly", 40..<70, renews: true),
        ]
        let kept = reader(of: facts).readings(of: publications)
        #expect(kept.filter(\.isOpen).map(\.publication) == ["45", "20"])
        // The next period was charged ahead, and replaced by another product before it began.
        let upgrade = paid("102", "other", 39..<69, renews: false)
        let readings = reader(of: facts + [upgrade]).readings(of: publications)
        #expect(readings.filter(\.isOpen).map(\.publication) == ["20"])
    }

    @Test func `in a grace period, publications stay readable if a term or grant is added`() {
        let chain = PurchaseID("100", in: .production)
        let month = Payment(
            transaction: "100", product: "monthly", kind: .autoRenewable,
            from: PublicationTable.day(10), until: PublicationTable.day(40))
        let grace = Renewal(
            willRenew: true, isRetrying: true, graceUntil: PublicationTable.day(56))
        let held = [
            Fact(about: chain, attestedAt: month.from, .payment(month)),
            Fact(about: chain, attestedAt: PublicationTable.day(40), .renewal(grace)),
        ]
        let pass = Payment(
            transaction: "200", product: "summer", kind: .nonRenewing,
            from: PublicationTable.day(48), until: nil)
        let bought = Fact(
            about: PurchaseID("200", in: .production), attestedAt: pass.from, .payment(pass))
        let grant = Grant(
            id: "1", entitlement: "magazine", from: PublicationTable.day(48), until: nil,
            reason: "")
        let publications = [20, 42, 46].map { PublicationTable.publication("\($0)") }
        let readers = [
            reader(of: held), reader(of: held + [bought]), reader(of: held, [grant]),
        ]
        for one in readers {
            let readings = one.readings(of: publications)
            #expect(readings.filter(\.isOpen).map(\.publication) == ["46", "42", "20"])
        }
    }

    @Test func `a grant of another entitlement gives access to no publication`() {
        func grant(_ entitlement: EntitlementID) -> Grant {
            Grant(
                id: "1", entitlement: entitlement, from: PublicationTable.day(10), until: nil,
                reason: "")
        }
        let other = reader(of: [], [grant("archive")]).readings(of: publications)
        #expect(other.filter(\.isOpen).isEmpty)
        let own = reader(of: [], [grant("magazine")]).readings(of: publications)
        #expect(own.filter(\.isOpen).count == 2)
    }

    @Test(.timeLimit(.minutes(1)))
    func `access to 20,000 publications is computed within a minute`() throws {
        let count = 20_000
        let publications = (0..<count).map { PublicationTable.publication("\($0)") }
        let month = Payment(
            transaction: "1", product: "monthly", kind: .autoRenewable,
            from: PublicationTable.day(10) + .hours(12), until: PublicationTable.day(40))
        let issues = stride(from: 1, to: count, by: 10).map { number in
            Payment(
                transaction: TransactionID(rawValue: "b\(number)"),
                product: ProductID(rawValue: "publication \(number)"), kind: .nonConsumable,
                from: PublicationTable.day(number), until: nil)
        }
        let timelines = ([month] + issues).map { payment in
            let purchase = PurchaseID(payment.transaction, in: .production)
            let fact = Fact(about: purchase, attestedAt: payment.from, .payment(payment))
            return Timeline(of: purchase, [fact])
        }
        let reader = PublicationReader(
            of: timelines, [], [], ["magazine": ["monthly"]], at: PublicationTable.day(count),
            access: AccessRules(), rules: PublicationRules())
        let readings = reader.readings(of: publications)
        // The newest issue at the start, and the issues of the month. Three of them were also
        // bought separately.
        #expect(readings.filter(\.isOpen).count == issues.count + 30 - 3)
        let start = readings.first { $0.publication == "10" }
        #expect(start?.reason == .currentAtStart(month.from))
    }

    @Test(arguments: try PublicationTable.rows())
    func `access to a single publication equals the publication's access in the whole list`(
        row: PublicationTable.Row
    ) throws {
        let reader = try row.reader(at: row.now)
        for reading in reader.readings(of: row.publications) {
            let one = reader.reading(of: reading.publication, among: row.publications)
            #expect(one == reading)
        }
        #expect(reader.reading(of: "of another magazine", among: row.publications) == nil)
    }

    @Test func `publications are listed newest first, including closed ones`() throws {
        let row = try #require(try PublicationTable.rows().first { $0.what == "sub 10-40" })
        let reader = try row.reader(at: 60)
        let publications = [5, 20, 50].map { PublicationTable.publication("\($0)") }
        let readings = reader.readings(of: publications)
        #expect(readings.map(\.publication) == ["50", "20", "5"])
        #expect(
            readings.map(\.reason) == [
                .notHeldAtPublication, .heldAtPublication,
                .currentAtStart(PublicationTable.day(10)),
            ])
    }
}

struct PublicationTable {
    struct Row: Sendable, CustomTestStringConvertible {
        var claim: String
        var rules: PublicationRules
        var what: String
        var published: String
        var now: Int
        var expected: String
        var testDescription: String { "\(claim) (\(what) | \(published) | \(now))" }

        var publications: [Publication] {
            published.split(separator: " ").map { PublicationTable.publication(String($0)) }
        }

        func reader(at day: Int) throws -> PublicationReader {
            let all = what == "nothing" ? [] : what.components(separatedBy: ", ")
            let grants = try all.filter { $0.hasPrefix("grant") }.map(PublicationTable.grant)
            let bought = all.filter { !$0.hasPrefix("grant") }.enumerated().map { $0 }
            let payments = try bought.map {
                try PublicationTable.payment($1, transaction: 100 + $0)
            }
            let timelines = payments.map { payment in
                // A chain of renewals is one purchase.
                let isSubscription = payment.kind == .autoRenewable
                let id = isSubscription ? "100" : payment.transaction
                let purchase = PurchaseID(id, in: .production)
                return Fact(about: purchase, attestedAt: payment.from, .payment(payment))
            }
            let chains = Dictionary(grouping: timelines, by: \.purchase).map {
                Timeline(of: $0.key, $0.value)
            }
            return PublicationReader(
                of: chains, PublicationTable.terms.terms(of: chains), grants,
                ["magazine": ["monthly", "summer"]], at: PublicationTable.day(day),
                access: AccessRules(), rules: rules)
        }
    }

    /// A term lasts as many days as its product says.
    static let terms = TermRules(products: [
        "summer": TermRules.Product(length: Term.Length(months: 0, days: 30), chain: "all")
    ])

    static func day(_ number: Int) -> Instant {
        Instant(milliseconds: 1_767_225_600_000) + .days(number)
    }

    static func publication(_ text: String) -> Publication {
        let day = Int(text.filter(\.isNumber)) ?? -1
        return Publication(
            id: PublicationID(rawValue: text), publishedAt: PublicationTable.day(day),
            entitlement: text.hasSuffix("!") ? nil : "magazine",
            products: [ProductID(rawValue: "publication \(text)")])
    }

    /// Whether the reason of a reading fits the publication and the rules.
    static func fits(_ reading: Reading, _ rules: PublicationRules) -> Bool {
        switch reading.reason {
        case .bought, .heldAtPublication, .currentAtStart: reading.isOpen
        case .earlier: reading.isOpen && rules.opensEarlier
        case .lapsed: !reading.isOpen && !rules.staysAfterLapse
        case .notHeldAtPublication, .onlySold: !reading.isOpen
        }
    }

    static func grant(_ text: String) throws -> Grant {
        guard let match = text.wholeMatch(of: #/grant (\d+)-(\d+)/#)?.output,
            let from = Int(match.1), let until = Int(match.2)
        else { throw TermTable.Unreadable(text) }
        return Grant(
            id: "1", entitlement: "magazine", from: day(from), until: day(until), reason: "")
    }

    static func payment(_ text: String, transaction: Int) throws -> Payment {
        let pattern =
            #/(?:(sub|term) (\d+)-(\d+)|buy (\S+) on (\d+))(?: (back|shared) (\d+)(?: (\d+)%)?)?/#
        guard let match = text.wholeMatch(of: pattern)?.output else {
            throw TermTable.Unreadable(text)
        }
        func number(_ part: Substring?) -> Int? { part.flatMap { Int($0) } }
        let revocation = number(match.7).map { at in
            Revocation(
                at: day(at), kind: match.6 == "back" ? .refund : .sharingEnded,
                percentage: number(match.8).map { Int64($0) * 1000 })
        }
        let id = TransactionID(rawValue: "\(transaction)")
        if let publication = match.4, let at = number(match.5) {
            return Payment(
                transaction: id, product: ProductID(rawValue: "publication \(publication)"),
                kind: .nonConsumable, from: day(at), until: nil, revocation: revocation)
        }
        guard let from = number(match.2), let until = number(match.3) else {
            throw TermTable.Unreadable(text)
        }
        guard match.1 == "sub" else {
            guard until - from == 30 else { throw TermTable.Unreadable(text) }
            return Payment(
                transaction: id, product: "summer", kind: .nonRenewing, from: day(from), until: nil,
                revocation: revocation)
        }
        return Payment(
            transaction: id, product: "monthly", kind: .autoRenewable, from: day(from),
            until: day(until), revocation: revocation)
    }

    static func rows() throws -> [Row] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Tables/publications.txt")
        var rows: [Row] = []
        var rules = PublicationRules()
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("#") { continue }
            if line.hasPrefix("[") {
                rules = PublicationRules(
                    staysAfterLapse: line.hasPrefix("[keep"), opensEarlier: line.hasSuffix("all]"))
                continue
            }
            guard let match = line.wholeMatch(of: #/(.+?): (.+) \| (.+) \| (\d+) => (.+)/#)?.output,
                let now = Int(match.4)
            else { throw TermTable.Unreadable(String(line)) }
            rows.append(
                Row(
                    claim: String(match.1), rules: rules, what: String(match.2),
                    published: String(match.3), now: now, expected: String(match.5)))
        }
        return rows
    }
}
