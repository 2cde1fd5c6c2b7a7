import AppStoreFormats
import Eventually
import Ledger
import Storage
import Testing

/// Groups whose customers prove their identity, are merged or erased, or lose purchases.
@Suite(.serialized) struct SeatOwnerStories {
    @Test(arguments: StoryDatabase.allCases)
    func `an app acts for the purchaser or a member only with that customer's proof`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database, app: SeatStage.app) { stage in
            let app = stage.shop.server
            let seats = "/v1/purchases/\(stage.original)/seats"
            let invitations = "/v1/purchases/\(stage.original)/invitations"
            func proof(_ name: String?) -> [String: String] {
                name.map { SeatStage.proof(of: $0) } ?? [:]
            }
            // Neither the number of a purchase nor another customer's proof gives access to a
            // group.
            for path in [seats, invitations] {
                #expect(try await app.send("GET", path).status == 400)
                #expect(try await app.send("GET", "\(path)?customer_id=anna").status == 401)
                let other = try await app.send(
                    "GET", "\(path)?customer_id=ben", headers: proof("ben"))
                #expect(other.status == 404)
                #expect(try other.json.text("code") == "purchase_unknown")
            }
            let made = try await app.send(
                "POST", "\(invitations)?customer_id=anna", body: Array("{}".utf8),
                headers: proof("anna"))
            #expect(made.status == 201)
            let token = try made.json.text("token")
            func claim(_ name: String, _ proven: String?) async throws -> Wire.Answer {
                let body: JSON = ["customer_id": .string(name), "token": .string(token)]
                return try await app.send(
                    "POST", "/v1/seats/claims", body: body.bytes, headers: proof(proven))
            }
            #expect(try await claim("ben", nil).status == 401)
            #expect(try await claim("ben", "cleo").status == 401)
            #expect(try await claim("ben", "ben").status == 201)
            #expect(try await claim("cleo", "cleo").status == 404)
            let named: JSON = [
                "customer_id": "cleo", "original_transaction_id": .string(stage.original),
            ]
            let byName = try await app.send(
                "POST", "/v1/seats/claims", body: named.bytes, headers: proof("cleo"))
            #expect(byName.status == 400)
            let group = try await app.send(
                "GET", "\(seats)?customer_id=anna", headers: proof("anna"))
            let first = try #require(try group.json["claims"]?.array?.first)
            #expect(first["customer_id"] == "ben")
            let path = "/v1/seats/claims/\(try first.text("claim_id"))"
            #expect(try await app.send("DELETE", path).status == 400)
            #expect(try await app.send("DELETE", "\(path)?customer_id=ben").status == 401)
            let stranger = try await app.send(
                "DELETE", "\(path)?customer_id=cleo", headers: proof("cleo"))
            #expect(stranger.status == 404)
            #expect(try await stage.open("ben") == ["ben"])
            let removed = try await app.send(
                "DELETE", "\(path)?customer_id=anna", headers: proof("anna"))
            #expect(try removed.json["cause"] == "removed")
            #expect(try await stage.open("ben") == [])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if an upgrade is posted but the renewal before it was lost, the members keep their seats`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database) { stage in
            try await stage.join("ben")
            let (store, app) = (stage.shop.simulator, stage.shop.server)
            try await store.post("/_sim/faults", ["notifications": ["drop": 1]])
            try await stage.group.pass("P32D")
            let bought = try await store.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "premium.monthly", "seats": 3])
            let body: JSON = [
                "customer_id": "anna",
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ]
            try await app.post("/v1/purchases", body)
            #expect(try await stage.open("anna", "ben") == ["anna", "ben"])
            #expect(try await stage.seatEvents() == ["seat_claimed ben"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an invitation for an alias can be used by its customer, and is erased with the customer`(
        database: StoryDatabase
    ) async throws {
        let phone = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
        try await SeatStage.with(4, on: database) { stage in
            try await stage.join("ben")
            try await stage.shop.support.post(
                "/v1/customers/ben/aliases", ["customer_id": .string(phone)])
            let token = try await stage.invite(["customer_id": .string(phone.uppercased())]).token
            let known = try await stage.invite(["customer_id": .string(phone)]).token
            #expect(try await stage.claim("ben", token).status == 200)
            #expect(try await stage.claim("cleo", token).status == 404)
            let stranger = try await stage.invite(["customer_id": "dora"]).token
            for name in ["ben", "dora"] {
                let erased = try await stage.shop.support.send("DELETE", "/v1/customers/\(name)")
                #expect(erased.status == 200)
            }
            for (name, token) in [(phone, known), ("ben", token), ("dora", stranger)] {
                #expect(try await stage.claim(name, token).status == 404, "\(name)")
            }
            let left = try await stage.shop.support.get(
                "/v1/purchases/\(stage.original)/invitations")
            #expect(left["items"]?.array == [])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `when a member becomes the owner of the purchase, the member's claim ends`(
        database: StoryDatabase
    ) async throws {
        let token = "1016fae4-bd5b-4977-bc0c-919f427f0753"
        try await SeatStage.with(2, on: database) { stage in
            let (store, support) = (stage.shop.simulator, stage.shop.support)
            try await stage.shop.addDevice("emma")
            let bought = try await store.post(
                "/_sim/devices/emma-1/purchases",
                ["product_id": "pro.monthly", "seats": 3, "app_account_token": .string(token)])
            let original = try bought.text("original_transaction_id")
            func claim(_ name: String) async throws -> Int {
                let body: JSON = [
                    "customer_id": .string(name), "original_transaction_id": .string(original),
                ]
                return try await support.send("POST", "/v1/seats/claims", body: body.bytes).status
            }
            // Nobody has used this id yet.
            #expect(try await claim(token) == 409)
            #expect(try await claim("ben") == 201)
            try await support.post(
                "/v1/customers/ben/aliases", ["customer_id": .string(token)])
            #expect(try await support.get("/v1/purchases/\(original)/seats")["claimed"] == 0)
            #expect(try await stage.open("ben") == ["ben"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if proofs are off, an app key can claim a seat only for an anonymous device`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database) { stage in
            let device = "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
            func claim(_ name: String) async throws -> Wire.Answer {
                let body: JSON = [
                    "customer_id": .string(name),
                    "token": .string(try await stage.invite().token),
                ]
                return try await stage.shop.server.send(
                    "POST", "/v1/seats/claims", body: body.bytes)
            }
            #expect(try await claim("ben").status == 403)
            #expect(try await claim(device).status == 201)
            // When the person signs in, the seat belongs to the person.
            try await stage.shop.server.post(
                "/v1/customers/ben/aliases", ["customer_id": .string(device)])
            #expect(try await stage.open("ben") == ["ben"])
            #expect(try await stage.groupAnswer()["claimed"] == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `merged customers keep one claim, or none if they own the purchase`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(4, on: database) { stage in
            let first = try await stage.join("ben")
            try await stage.join("benjamin")
            let join: JSON = ["customer_id": "ben"]
            let merged = try await stage.shop.support.send(
                "POST", "/v1/customers/benjamin/aliases", body: join.bytes)
            #expect(merged.status == 200)
            let claims = try await stage.groupAnswer()["claims"]?.array ?? []
            #expect(try claims.map { try $0.text("claim_id") } == [first])
            #expect(try await stage.open("ben", "benjamin") == ["ben", "benjamin"])
            let own = try await stage.shop.support.send(
                "POST", "/v1/customers/anna/aliases", body: join.bytes)
            #expect(own.status == 200)
            #expect(try await stage.groupAnswer()["claimed"] == 0)
            #expect(try await stage.seatEvents().suffix(2).allSatisfy { $0.hasSuffix("joined") })
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `erasing a member ends the member's claim, and no answer names the member`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database) { stage in
            let claim = try await stage.join("ben")
            try await stage.join("cleo")
            let bound = try await stage.invite(["customer_id": "ben"])
            #expect(try await stage.shop.support.send("DELETE", "/v1/customers/ben").status == 200)
            #expect(try await stage.open("anna", "ben", "cleo") == ["anna", "cleo"])
            #expect(try await stage.claim("ben", bound.token).status == 404)
            let answers = [
                try await stage.groupAnswer(), try await stage.release(claim).json,
                try await stage.shop.support.get("/v1/events?limit=500"),
                try await stage.shop.support.get(
                    "/v1/purchases/\(stage.original)/invitations"),
            ]
            for answer in answers { #expect(!answer.text.contains("\"ben\"")) }
            #expect(answers[0]["claimed"] == 1)
            #expect(try await stage.seatEvents().last?.hasSuffix("erased") == true)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `erasing the purchaser ends the claims of all members`(database: StoryDatabase)
        async throws
    {
        try await SeatStage.with(3, on: database) { stage in
            try await stage.join("ben")
            let open = try await stage.invite()
            #expect(
                try await stage.shop.support.send("DELETE", "/v1/customers/anna").status == 200)
            #expect(try await stage.open("ben") == [])
            #expect(try await stage.claim("cleo", open.token).status == 404)
            #expect(try await stage.groupAnswer()["claimed"] == 0)
            #expect(try await stage.seatEvents().last == "seat_released ben erased")
            let log = try await stage.shop.support.get("/v1/events?limit=500")
            #expect(!log.text.contains("\"anna\""))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a transfer of a purchase keeps the members, and ends the open invitations`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(4, on: database) { stage in
            for name in ["ben", "cleo"] { try await stage.join(name) }
            let open = try await stage.invite()
            let order: JSON = [
                "original_transaction_id": .string(stage.original), "reason": "ticket",
            ]
            let moved = try await stage.shop.support.post("/v1/customers/ben/transfers", order)
            #expect(try await stage.claim("dora", open.token).status == 404)
            #expect(try await stage.open("anna", "ben", "cleo") == ["ben", "cleo"])
            // The new purchaser needs no claim.
            #expect(try await stage.groupAnswer()["claimed"] == 1)
            let transfer = try moved.text("transfer_id")
            let undone = try await stage.shop.support.send(
                "DELETE", "/v1/customers/ben/transfers/\(transfer)")
            #expect(undone.status == 200)
            #expect(try await stage.open("anna", "ben", "cleo") == ["anna", "cleo"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a member's waiting app learns at once that the purchaser's refund ended access`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database) { stage in
            for name in ["ben", "cleo"] { try await stage.join(name) }
            let path = "/v1/customers/cleo"
            let first = try await stage.shop.server.send("GET", path)
            let tag = try #require(first.etag)
            let known = ["If-None-Match": tag]
            #expect(try await stage.shop.server.send("GET", path, headers: known).status == 304)
            async let changed = stage.shop.server.send("GET", path + "?wait=45", headers: known)
            try await stage.group.does("refund", ["seats": 1])
            let answer = try await changed
            #expect(answer.status == 200)
            #expect(try answer.json["entitlements"]?["pro"]?["active"] == false)
            // The rows that operators read with SQL change, too.
            _ = try await stage.shop.engine.events.numberEvents()
            try await eventually("the rows of members are written") {
                try await stage.shop.engine.customers.show() == 0
            }
            let rows = try await stage.shop.database.read { connection in
                try connection.rows(
                    "SELECT customer_id, is_active FROM entitlements WHERE entitlement = 'pro' "
                        + "ORDER BY customer_id", []
                ) { row throws(StorageFailure) in "\(try row.text()) \(try row.integer())" }
            }
            #expect(rows == ["anna 1", "ben 1", "cleo 0"])
        }
    }
}
