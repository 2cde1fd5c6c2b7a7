import AppStoreFormats
import Testing

/// One act of a person in a group, or some time that passes.
struct SeatAct: Sendable {
    let text: String
    let run: @Sendable (inout SeatCycle) async throws -> Void

    private init(
        _ text: String, _ run: @escaping @Sendable (inout SeatCycle) async throws -> Void
    ) {
        (self.text, self.run) = (text, run)
    }

    // MARK: - The purchaser

    /// Anna changes to this total number of seats.
    static func buys(_ seats: Int64, _ product: String = "pro.monthly") -> Self {
        Self("anna buys \(seats) of \(product)") { try await $0.buy(seats, product) }
    }

    /// The apps of anna and of the person with whom she shares one seat post the purchase.
    static func shares(_ product: String, with name: String) -> Self {
        Self("anna buys \(product), and shares it with \(name)") {
            try await $0.buy(1, product)
            try await $0.post(name)
        }
    }

    /// Anna buys a new group after the previous group has ended.
    ///
    /// - Parameter offer: the id of an offer that was made to her; nil if the App Store chooses.
    static func buysAnew(_ seats: Int64, offer: String? = nil) -> Self {
        Self("anna buys \(seats) anew, offer \(offer ?? "none")") {
            try await $0.buy(seats, "pro.monthly", offer: offer, isAnew: true)
        }
    }

    static func cannotBuy(_ seats: Int64, _ code: String) -> Self {
        Self("anna cannot buy \(seats)") {
            _ = try await $0.order("pro.monthly", seats, refused: code)
        }
    }

    static func plans(_ seats: Int64) -> Self { does("change-seats", ["seats": .integer(seats)]) }

    static func refundsSeats(_ seats: Int64) -> Self {
        Self("\(seats) seats are refunded") {
            $0.isPriceCorrected = true
            try await $0.does("refund", ["seats": .integer(seats)])
        }
    }

    /// Anna changes to a product of a higher level. Her app posts all transactions, because no
    /// notification contains the refund.
    static func upgrades(_ seats: Int64, _ product: String) -> Self {
        Self("anna changes to \(seats) of \(product)") {
            try await $0.buy(seats, product)
            try await $0.post("anna")
        }
    }

    /// - Parameter place: the position of the refunded transaction in the list of all transactions
    ///   that anna has bought.
    static func refunds(_ place: Int) -> Self { changes(place, "refund") }

    static func reverses(_ place: Int) -> Self { changes(place, "reverse-refund") }

    private static func changes(_ place: Int, _ verb: String) -> Self {
        Self("\(verb) of order \(place)") {
            // A report omits documents that were signed after the last moment of the report.
            try await $0.pass("PT1M")
            try await $0.does(verb, ["transaction_id": .string($0.orders[place])])
        }
    }

    /// Uses a verb of the simulator on the subscription.
    static func does(_ verb: String, _ body: JSON = [:]) -> Self {
        Self("\(verb) \(body.text)") { try await $0.does(verb, body) }
    }

    // MARK: - The other people

    static func joins(_ name: String) -> Self { Self("\(name) joins") { try await $0.join(name) } }

    static func leaves(_ name: String) -> Self {
        Self("\(name) leaves") { try await $0.leave(name, name) }
    }

    static func isRemoved(_ name: String) -> Self {
        Self("\(name) is removed") { try await $0.leave(name, "anna") }
    }

    static func isAssigned(_ name: String) -> Self {
        Self("acme gives \(name) a seat") { try await $0.organization("assign", name) }
    }

    static func isUnassigned(_ name: String) -> Self {
        Self("acme takes the seat of \(name)") { try await $0.organization("unassign", name) }
    }

    /// A person buys a separate subscription.
    static func subscribes(_ name: String, _ product: String) -> Self {
        Self("\(name) buys \(product)") {
            let bought = try await $0.order(product, 1, by: name)
            #expect(try await $0.shop.post(try #require(bought), as: name) == 200)
        }
    }

    // MARK: - App Store Connect, time and lost notifications

    /// Changes who invites the members of groups that begin from now on: Apple instead of the app,
    /// or the app instead of Apple.
    static let changesHost = Self("the host of invitations changes") {
        $0.nextHost = $0.nextHost.other
        try await $0.shop.simulator.post(
            "/_sim/seats", ["invitations": .string($0.nextHost.rawValue)])
    }

    static func sells(_ isSold: Bool) -> Self {
        Self("seats are sold: \(isSold)") {
            try await $0.shop.simulator.post(
                "/_sim/seats", ["sold": ["pro.monthly": .bool(isSold)]])
        }
    }

    static func waits(_ duration: String) -> Self {
        Self("\(duration) pass") { try await $0.pass(duration) }
    }

    /// Lets time pass, after which the app posts. Compares nothing before the app posts.
    static func waitsAndPosts(_ duration: String, _ name: String) -> Self {
        Self("\(duration) pass, and \(name)'s app posts") {
            try await $0.pass(duration)
            try await $0.post(name)
        }
    }

    /// From now on no notification arrives.
    static let losesNotifications = Self("notifications are lost") {
        try await $0.shop.simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
    }
}

/// A sequence of acts, each with the people who have access afterwards.
struct SeatRow: CustomTestStringConvertible, Sendable {
    typealias Step = (act: SeatAct, open: String)

    let name: String
    let hosts: [SeatCycle.Host]
    let steps: [Step]

    init(
        _ name: String, by hosts: [SeatCycle.Host] = SeatCycle.Host.allCases, _ steps: [Step]
    ) {
        (self.name, self.hosts, self.steps) = (name, hosts, steps)
    }

    var testDescription: String { name }

    /// Plays all acts, and compares after each act.
    func play(_ cycle: inout SeatCycle) async throws {
        for (number, step) in steps.enumerated() {
            try await step.act.run(&cycle)
            let when = "\(name), \(cycle.host) invites, \(number + 1). \(step.act.text)"
            try await cycle.compare(when, open: step.open)
        }
    }
}
