import AppStoreFormats
import Foundation
import Ledger
import Testing

/// One life in one shop. Performs the acts on the simulator, plays the app, and compares the
/// answers of both sides.
struct Stage: Sendable {
    static let account = "anna"
    static let device = "anna-1"

    let simulator: Wire
    let server: Wire
    /// The chain of renewals that the acts change.
    private(set) var original: String?
    /// Whether the app has posted the purchase. Until then, the purchase has no owner.
    private(set) var isPosted = false
    /// In which form the app posts its purchases.
    var posting = Posting.signed
    private var postings = 0

    enum Posting: Sendable {
        case signed
        /// The app posts the receipt, as apps from before StoreKit 2 do.
        case receipt
        /// The app posts both forms in turn, as if it were updated on some devices only.
        case inTurn
    }

    init(simulator: Wire, server: Wire) {
        self.simulator = simulator
        self.server = server
    }

    mutating func play(_ act: Life.Act, checking: (Stage) async throws -> Void) async throws {
        switch act {
        case .buy(let product):
            let bought = try await buy(product)
            try await post([try bought.text("signed_transaction")], try bought.text("app_receipt"))
            isPosted = true
            try await checking(self)
        case .buyUnheard(let product):
            _ = try await buy(product)
        case .restore:
            let device = try await simulator.post("/_sim/devices/\(Self.device)/restore")
            try await post(
                (device["signed_transactions"]?.array ?? []).compactMap(\.string),
                try device.text("app_receipt"))
            isPosted = true
            try await checking(self)
        case .pass(let duration):
            try await pass(duration, checking: checking)
        case .change(let verb):
            try await simulator.post("/_sim/subscriptions/\(try chain())/\(verb)")
            try await checking(self)
        case .changeProduct(let product):
            try await simulator.post(
                "/_sim/subscriptions/\(try chain())/change-product",
                ["product_id": .string(product)])
            try await checking(self)
        case .onTransaction(let number, let verb):
            let all = try await simulator.get("/_sim/devices/\(Self.device)/transactions")
            let list = (all["signed_transactions"]?.array ?? []).compactMap(\.string)
            let jws = try #require(list.indices.contains(number) ? list[number] : nil)
            let payload = try #require(CompactJWS(jws)?.payload)
            let id = try JSON(parsing: payload).text("transactionId")
            try await simulator.post("/_sim/transactions/\(id)/\(verb)")
            try await checking(self)
        }
    }

    private func chain() throws -> String { try #require(original) }

    private mutating func buy(_ product: String) async throws -> JSON {
        let answer = try await simulator.post(
            "/_sim/devices/\(Self.device)/purchases", ["product_id": .string(product)])
        original = try answer.text("original_transaction_id")
        return answer
    }

    private mutating func post(_ transactions: [String], _ receipt: String) async throws {
        postings += 1
        let isSigned = posting == .signed || posting == .inTurn && postings.isMultiple(of: 2)
        try await server.post(
            "/v1/purchases",
            [
                "customer_id": .string(Self.account),
                isSigned ? "signed_transactions" : "app_receipt": isSigned
                    ? .array(transactions.map { .string($0) }) : .string(receipt),
            ])
    }

    // MARK: Time

    /// Lets time pass, with a stop just before and just after every end in the books.
    private func pass(
        _ duration: String, checking: (Stage) async throws -> Void
    ) async throws {
        let start = try await now()
        let target = start + (try #require(Self.length(duration)))
        var here = start
        for _ in 0..<Self.stopsMax {
            let next = try await nextEnd(after: here, until: target)
            for stop in [next.map { $0 - .milliseconds(1) }, next].compactMap({ $0 })
            where stop > here {
                try await set(clock: stop)
                try await checking(self)
            }
            guard let next else { break }
            here = next
        }
        try await set(clock: target)
        try await checking(self)
    }

    private static let stopsMax = 100

    private func nextEnd(after here: Instant, until target: Instant) async throws -> Instant? {
        let books = try await simulator.get("/_sim/truth/\(Self.account)")
        let ends = (books["purchases"]?.array ?? []).flatMap { purchase in
            [purchase["until"]?.string, purchase["grace_until"]?.string]
        }
        return ends.compactMap { $0.flatMap(Self.instant) }.filter { $0 > here && $0 <= target }
            .min()
    }

    func now() async throws -> Instant {
        let text = try await simulator.get("/_sim/clock").text("now")
        return try #require(Self.instant(text))
    }

    func set(clock: Instant) async throws {
        try await simulator.post("/_sim/clock", ["set": .string("\(clock)")])
    }

    private static func instant(_ text: String) -> Instant? {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = try? format.parse(text) else { return nil }
        return Instant(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }

    /// Reads durations such as `P2DT3H4M`.
    private static func length(_ text: String) -> Duration? {
        guard let match = text.wholeMatch(of: /P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?/) else {
            return nil
        }
        func number(_ part: Substring?) -> Int { part.flatMap { Int($0) } ?? 0 }
        return .days(number(match.1)) + .hours(number(match.2))
            + .seconds(60 * number(match.3))
    }

    // MARK: Checks

    /// Compares the server's answer with the books. Does nothing while the purchase has no owner.
    func compare(_ when: String) async throws {
        guard isPosted else { return }
        let (truth, answer, now) = (try await truth(), try await answer(), try await now())
        #expect(truth == answer, "\(when), at \(now)")
        let (paid, right) = (try await paidUntil(), try await rightUntil())
        #expect(paid == right, "\(when), at \(now)")
    }

    /// The latest end of the open purchases by the books; nil if none is open.
    private func paidUntil() async throws -> String? {
        let books = try await simulator.get("/_sim/truth/\(Self.account)")
        return (books["purchases"]?.array ?? []).filter { $0["open"]?.bool == true }
            .compactMap { $0["until"]?.string }.max()
    }

    /// When the entitlement that every subscription of the shop gives ends by the server's answer;
    /// nil if the entitlement is closed.
    private func rightUntil() async throws -> String? {
        let customer = try await server.get("/v1/customers/\(Self.account)")
        let right = customer["entitlements"]?["plus"]
        return right?["active"]?.bool == true ? right?["until"]?.string : nil
    }

    func truth() async throws -> [Verdict] {
        let books = try await simulator.get("/_sim/truth/\(Self.account)")
        return try (books["purchases"]?.array ?? []).map(Verdict.init(truth:))
    }

    func answer() async throws -> [Verdict] {
        let customer = try await server.get("/v1/customers/\(Self.account)")
        return try (customer["subscriptions"]?.array ?? []).map(Verdict.init(subscription:))
    }
}
