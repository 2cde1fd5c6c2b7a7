import AppStoreFormats
import Engine
import Foundation
import Ledger
import Testing

@testable import Program

/// Anna's subscription with several seats. Apple or the app invites the members. After each act,
/// every answer can be compared with the simulator's books: who has access and until when, how many
/// seats there are and who waits, and the payments and refunds of each day.
struct SeatCycle: Sendable {
    /// Who invites the members.
    enum Host: String, CaseIterable, Sendable {
        case apple
        case developer

        var other: Self { self == .apple ? .developer : .apple }
    }

    /// Every person has a device and is a customer of the same name. Fred is in anna's family.
    static let cast = ["anna", "ben", "cleo", "dora", "fred"]
    private static let firstDay = "2026-01-01"
    private static let tiers: JSON = ["tiers": [["from": 3, "price": "7.99"]]]

    let shop: Shop
    /// Who invites the members in the current group, or in the last one.
    private(set) var host: Host
    /// Who invites the members in groups that begin from now on.
    var nextHost: Host
    /// The number of anna's subscription; empty until she buys.
    private(set) var original = ""
    /// The transactions that anna has bought, oldest first.
    private(set) var orders: [String] = []
    /// Whether only some of the seats were refunded. No document names the day of such a refund, so
    /// reports correct the price instead, and only the sums of all days are compared.
    var isPriceCorrected = false
    /// The open claims of the group, oldest first; empty if Apple invites.
    private(set) var claims: [(name: String, id: String)] = []

    /// A shop that sells months in seats, and years with a free week.
    static func with(
        _ host: Host, on database: StoryDatabase, app: AppConfiguration = birds,
        asks: Bool = false,
        _ story: @escaping @Sendable (inout SeatCycle) async throws -> Void
    ) async throws {
        try await withShop(on: database, app: app, questions: asks ? .due : .none) { shop in
            try await shop.simulator.post(
                "/_sim/reset",
                [
                    "multi_seat": [
                        "pro.monthly": tiers, "premium.monthly": tiers, "pro.yearly": tiers,
                    ],
                    "seat_invitations": .string(host.rawValue),
                    "families": ["birds": ["anna", "fred"]],
                ])
            for name in cast { try await shop.addDevice(name) }
            var cycle = SeatCycle(shop: shop, host: host, nextHost: host)
            try await story(&cycle)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    // MARK: - Acts

    func does(_ verb: String, _ body: JSON = [:]) async throws {
        try await shop.simulator.post("/_sim/subscriptions/\(original)/\(verb)", body)
    }

    func pass(_ duration: String) async throws {
        try await shop.simulator.post("/_sim/clock", ["advance": .string(duration)])
    }

    /// A person buys on their device. Returns nil if the App Store refuses with this reason.
    ///
    /// - Parameter offer: the id of an offer that was made to them; nil if the App Store chooses.
    func order(
        _ product: String, _ seats: Int64, by name: String = "anna", offer: String? = nil,
        refused: String? = nil
    ) async throws -> JSON? {
        let body: JSON = [
            "product_id": .string(product), "seats": .integer(seats),
            "offer": offer.map { .string($0) } ?? .null,
        ]
        let path = "/_sim/devices/\(name)-1/purchases"
        guard let refused else { return try await shop.simulator.post(path, body) }
        let answer = try await shop.simulator.send("POST", path, body: body.bytes)
        #expect(answer.status == 409)
        #expect(try answer.json.text("code") == refused)
        return nil
    }

    /// Anna changes to this total number of seats.
    ///
    /// - Parameter isAnew: whether the members of the previous group have no seat in this group.
    mutating func buy(
        _ seats: Int64, _ product: String, offer: String? = nil, isAnew: Bool = false
    ) async throws {
        let bought = try #require(try await order(product, seats, offer: offer))
        #expect(try await shop.post(bought, as: "anna") == 200)
        if isAnew { claims = [] }
        if isAnew || original.isEmpty { host = nextHost }
        original = try bought.text("original_transaction_id")
        orders.append(try bought.text("transaction_id"))
    }

    mutating func join(_ name: String) async throws {
        switch host {
        case .apple:
            try await does("join-group", ["account": .string(name)])
            try await post(name)
        case .developer:
            let body: JSON = [
                "customer_id": .string(name), "original_transaction_id": .string(original),
            ]
            let answer = try await shop.support.send("POST", "/v1/seats/claims", body: body.bytes)
            #expect(answer.status == 201, "\(name)")
            claims.append((name, try answer.json.text("claim_id")))
            try await pass("PT1M")
        }
    }

    /// - Parameter speaker: the customer who ends the claim, which is the member or anna.
    mutating func leave(_ name: String, _ speaker: String) async throws {
        switch host {
        case .apple: try await does("leave-group", ["account": .string(name)])
        case .developer:
            let place = try #require(claims.firstIndex { $0.name == name })
            let path = "/v1/seats/claims/\(claims[place].id)?customer_id=\(speaker)"
            let answer = try await shop.support.send("DELETE", path)
            #expect(answer.status == 200, "\(name)")
            claims.remove(at: place)
        }
    }

    func organization(_ verb: String, _ name: String) async throws {
        try await shop.simulator.post(
            "/_sim/organizations/acme/\(verb)",
            ["account": .string(name), "product_id": "pro.monthly"])
        if verb == "assign" { try await post(name) }
    }

    /// The app on a customer's device posts all its transactions.
    func post(_ name: String) async throws {
        let all = try await shop.simulator.get("/_sim/devices/\(name)-1/transactions")
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": .string(name),
                "signed_transactions": all["signed_transactions"] ?? [],
            ])
    }

    // MARK: - The books

    /// Compares every answer with the books.
    ///
    /// - Parameter open: the people who have access according to the story, in the order of the
    ///   cast.
    func compare(_ when: String, open: String) async throws {
        let books = try await shop.simulator.get("/_sim/truth/anna")
        let own = try #require(
            (books["purchases"]?.array ?? []).first {
                $0["original_transaction_id"]?.string == original
            })
        let found = try await compareAccess(when, own)
        #expect(found.joined(separator: " ") == open, "\(when): the books")
        try await compareSeats(when, own)
        try await compareMoney(when, until: String(try books.text("now").prefix(10)))
    }

    /// The number of members for whom the books have seats, if the app invites the members.
    private func capacity(_ own: JSON) -> Int {
        guard own["open"] == true, own["seats"]?["invitations"] == "developer" else { return 0 }
        return Int(max(0, (own["seats"]?["count"]?.integer ?? 0) - 1))
    }

    /// Compares the access of all people. Returns those who have access by the books.
    private func compareAccess(_ when: String, _ own: JSON) async throws -> [String] {
        let seated = claims.prefix(capacity(own)).map(\.name)
        var open: [String] = []
        for name in Self.cast {
            let books = try await shop.simulator.get("/_sim/truth/\(name)")
            let bought = (books["purchases"]?.array ?? []).filter { $0["open"] == true }
            let rights = bought + (seated.contains(name) ? [own] : [])
            let answer = try await shop.support.get("/v1/customers/\(name)")
            let right = answer["entitlements"]?["plus"]
            #expect((right?["active"] == true) == !rights.isEmpty, "\(name), \(when)")
            guard !rights.isEmpty else { continue }
            open.append(name)
            let until = rights.compactMap { $0["until"]?.string }.max()
            #expect(right?["until"]?.string == until, "\(name), \(when)")
        }
        return open
    }

    private func compareSeats(_ when: String, _ own: JSON) async throws {
        let answer = try await shop.support.send("GET", "/v1/purchases/\(original)/seats")
        guard let seats = own["seats"] else {
            #expect(answer.status == 409, "\(when)")
            return
        }
        let group = try answer.json
        #expect(group["seats"] == seats["count"], "\(when)")
        #expect(group["invitations"] == seats["invitations"], "\(when)")
        guard seats["invitations"] == "developer" else {
            #expect(group["claimed"] == .null, "\(when)")
            return
        }
        let listed = (group["claims"]?.array ?? []).map { $0["customer_id"]?.string }
        #expect(listed == claims.map(\.name), "\(when)")
        guard own["open"] == true else { return }
        let rest = capacity(own) - claims.count
        #expect(group["available"]?.integer == Int64(max(0, rest)), "\(when)")
        #expect(group["waiting"]?.integer == Int64(max(0, -rest)), "\(when)")
    }

    /// Compares the report of each day, and the number of subscriptions that it counts as active at
    /// the end.
    private func compareMoney(_ when: String, until today: String) async throws {
        let span = "from=\(Self.firstDay)&to=\(today)"
        let books = try await shop.simulator.get("/_sim/books?\(span)")["days"]?.array ?? []
        let revenue = try await shop.support.get("/v1/reports/revenue?\(span)&by=day")
        var (told, booked) = (Self.told(revenue), Self.booked(books))
        if isPriceCorrected { (told, booked) = (Self.sums(of: told), Self.sums(of: booked)) }
        let days = Set(told.keys).union(booked.keys).sorted()
        let different = days.filter { told[$0] != booked[$0] }.map {
            "\($0): \(told[$0] ?? 0), in the books \(booked[$0] ?? 0)"
        }
        #expect(different == [], "\(when)")
        let active = try await shop.support.get(
            "/v1/reports/active?from=\(today)&to=\(today)&by=day")
        let count = active["rows"]?.array?.first?["values"]?.array?.first?.string ?? "0"
        #expect(Int64(count) == books.last?["active"]?.integer, "\(when)")
    }

    /// The amounts by day, currency and column, without zeros.
    private static func told(_ report: JSON) -> [String: Decimal] {
        let columns = (report["columns"]?.array ?? []).map { $0["name"]?.string ?? "" }
        var sums: [String: Decimal] = [:]
        for row in report["rows"]?.array ?? [] {
            let key = "\(row["from"]?.string ?? "") \(row["currency"]?.string ?? "")"
            for (column, value) in zip(columns, row["values"]?.array ?? []) {
                sums["\(key) \(column)"] = value.string.flatMap { Decimal(string: $0) }
            }
        }
        return sums.filter { $0.value != 0 }
    }

    /// The sums of all days, with refunds subtracted from payments.
    private static func sums(of amounts: [String: Decimal]) -> [String: Decimal] {
        var sums: [String: Decimal] = [:]
        for (key, amount) in amounts {
            let words = key.split(separator: " ").map(String.init)
            let isBack = ["refunded", "credited"].contains(words[2])
            let column = isBack || words[2] == "gross" ? "net" : words[2]
            sums["\(words[1]) \(column)", default: 0] += isBack ? -amount : amount
        }
        return sums.filter { $0.value != 0 }
    }

    private static func booked(_ days: [JSON]) -> [String: Decimal] {
        var sums: [String: Decimal] = [:]
        for day in days {
            for sum in day["money"]?.array ?? [] {
                func amount(_ name: String) -> Int64 { sum["\(name)_milliunits"]?.integer ?? 0 }
                let key = "\(day["date"]?.string ?? "") \(sum["currency"]?.string ?? "")"
                for (column, milliunits) in [
                    ("gross", amount("charged")),
                    ("refunded", amount("refunded") - amount("reversed")),
                    ("credited", amount("credited")), ("tax", amount("tax")),
                    ("commission", amount("commission")), ("proceeds", amount("proceeds")),
                ] {
                    sums["\(key) \(column)"] = Decimal(milliunits) / 1000
                }
            }
        }
        return sums.filter { $0.value != 0 }
    }
}
