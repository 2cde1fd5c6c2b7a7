import AppStoreFormats
import Crypto
import Engine
import Ledger
import Simulator
import Testing

@testable import Program

/// A group whose members the app invites. Anna pays, and others have seats.
struct SeatStage: Sendable {
    static let secret = "0123456789abcdef0123456789abcdef"
    static let proofSeconds: Int64 = 400 * 86_400

    let group: SeatGroupStage
    /// The number of anna's purchase.
    let original: String

    var shop: Shop { group.shop }

    /// The app, which requires proofs.
    static var app: AppConfiguration {
        var app = birds
        app.settings.proof = .hmac(AppSecret(secret))
        return app
    }

    /// Anna buys seats for a month, and her app posts the purchase.
    static func with(
        _ seats: Int64, on database: StoryDatabase, app: AppConfiguration = birds,
        invitations: String = "developer",
        _ story: @escaping @Sendable (SeatStage) async throws -> Void
    ) async throws {
        try await withShop(on: database, app: app) { shop in
            try await shop.simulator.post(
                "/_sim/reset",
                [
                    "multi_seat": ["pro.monthly": true, "premium.monthly": true],
                    "seat_invitations": .string(invitations),
                ])
            try await shop.addDevice("anna")
            let group = SeatGroupStage(shop: shop)
            let original = try await group.buy(seats, by: app.settings.proof != nil)
            try await story(SeatStage(group: group, original: original))
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    /// A proof as the app's own backend makes it.
    static func proof(of id: String) -> [String: String] {
        let end = SimulatorSettings.defaultNow.milliseconds / 1000 + proofSeconds
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(id)\n\(end)".utf8), using: SymmetricKey(data: Array(secret.utf8)))
        let digits = code.withUnsafeBytes { Hexadecimal.text($0) }
        return ["Perennial-Customer-Proof": "\(end).\(digits)"]
    }

    // MARK: - The app's server

    func invite(_ body: JSON = [:]) async throws -> (id: String, token: String) {
        let made = try await shop.support.send(
            "POST", "/v1/purchases/\(original)/invitations", body: body.bytes)
        #expect(made.status == 201)
        return (try made.json.text("invitation_id"), try made.json.text("token"))
    }

    /// Claims a seat with an invitation, by a request with the secret key.
    func claim(_ customer: String, _ token: String) async throws -> Wire.Answer {
        let body: JSON = ["customer_id": .string(customer), "token": .string(token)]
        return try await shop.support.send("POST", "/v1/seats/claims", body: body.bytes)
    }

    /// Invites a person, who then joins. Returns the id of the claim.
    @discardableResult
    func join(_ customer: String) async throws -> String {
        let answer = try await claim(customer, try await invite().token)
        #expect(answer.status == 201, "\(customer)")
        try await shop.simulator.post("/_sim/clock", ["advance": "PT1M"])
        return try answer.json.text("claim_id")
    }

    func release(_ claim: String, _ query: String = "") async throws -> Wire.Answer {
        try await shop.support.send("DELETE", "/v1/seats/claims/\(claim)\(query)")
    }

    func groupAnswer() async throws -> JSON {
        try await shop.support.get("/v1/purchases/\(original)/seats")
    }

    // MARK: - Checks

    func isOpen(_ customer: String) async throws -> Bool {
        let answer = try await shop.support.get("/v1/customers/\(customer)")
        return answer["entitlements"]?["pro"]?["active"] == true
    }

    /// The customers among the given ones who have access.
    func open(_ customers: String...) async throws -> [String] {
        var open: [String] = []
        for customer in customers where try await isOpen(customer) { open.append(customer) }
        return open
    }

    func subscription(of customer: String) async throws -> JSON? {
        try await shop.support.get("/v1/customers/\(customer)")["subscriptions"]?.array?.first
    }

    /// The events about seats. Each text contains the event's type and customer and, if the event
    /// is an end, the cause.
    func seatEvents() async throws -> [String] {
        _ = try await shop.engine.events.numberEvents()
        let list = try await shop.support.get("/v1/events?limit=500")
        return try (list["items"]?.array ?? []).compactMap { event in
            guard let seat = event["seat"] else { return nil }
            let parts = [
                try event.text("type"), event["customer_id"]?.string ?? "-",
                seat["cause"]?.string,
            ]
            return parts.compactMap(\.self).joined(separator: " ")
        }
    }
}

extension SeatGroupStage {
    /// Anna buys seats, and her app posts the purchase. Returns its number.
    fileprivate func buy(_ seats: Int64, by proof: Bool) async throws -> String {
        let bought = try await shop.simulator.post(
            "/_sim/devices/anna-1/purchases",
            ["product_id": "pro.monthly", "seats": .integer(seats)])
        let body: JSON = [
            "customer_id": "anna",
            "signed_transactions": [.string(try bought.text("signed_transaction"))],
        ]
        let answer = try await shop.server.send(
            "POST", "/v1/purchases", body: body.bytes,
            headers: proof ? SeatStage.proof(of: "anna") : [:])
        #expect(answer.status == 200)
        return try bought.text("original_transaction_id")
    }
}
