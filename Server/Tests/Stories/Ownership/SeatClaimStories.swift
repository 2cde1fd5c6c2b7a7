import AppStoreFormats
import Ledger
import Testing

/// Groups whose members the app invites. The stories check who has a seat and what each person
/// sees.
@Suite(.serialized) struct SeatClaimStories {
    @Test(arguments: StoryDatabase.allCases)
    func `members have the purchaser's access as long as the purchase is paid`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(4, on: database) { stage in
            let claim = try await stage.join("ben")
            try await stage.join("cleo")
            let group = try await stage.groupAnswer()
            #expect(group["invitations"] == "developer")
            #expect(group["seats"] == 4)
            #expect(group["claimed"] == 2)
            #expect(group["available"] == 1)
            #expect(group["waiting"] == 0)
            let listed = group["claims"]?.array ?? []
            #expect(listed.map { $0["customer_id"]?.string } == ["ben", "cleo"])
            #expect(listed.allSatisfy { $0["standing"] == "held" })
            let anna = try #require(try await stage.subscription(of: "anna"))
            let ben = try #require(try await stage.subscription(of: "ben"))
            #expect(anna["seats"]?["count"] == 4)
            #expect(anna["seats"]?["claimed"] == 2)
            #expect(anna["seat"] == nil && ben["seats"] == nil)
            #expect(ben["seat"]?["claim_id"] == .string(claim))
            #expect(ben["seat"]?["standing"] == "held")
            #expect(ben["ownership"] == "assigned")
            #expect(ben["period"]?["until"] == anna["period"]?["until"])
            let books = try await stage.shop.simulator.get("/_sim/truth/anna")
            #expect(books["purchases"]?.array?.first?["seats"]?["count"] == group["seats"])
            try await stage.group.pass("P1M")
            #expect(try await stage.open("anna", "ben", "cleo") == ["anna", "ben", "cleo"])
            try await stage.group.does("cancel")
            try await stage.group.pass("P2M")
            #expect(try await stage.open("anna", "ben", "cleo") == [])
            let over = try await stage.groupAnswer()
            #expect(over["seats"] == 0 && over["available"] == 0 && over["claimed"] == 2)
            #expect(try await stage.claim("dora", "none").status == 404)
            #expect(try await stage.seatEvents() == ["seat_claimed ben", "seat_claimed cleo"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `answers to a member do not contain the purchaser, the purchase's id or the price`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database) { stage in
            try await stage.join("ben")
            let shop = stage.shop
            let seen = try await shop.server.get("/v1/customers/ben")
            let told = try await shop.server.get("/v1/customers/ben/explain")
            let claims = try #require(CompactJWS(try seen.text("token"))?.payload)
            for text in [seen.text, told.text, String(decoding: claims, as: UTF8.self)] {
                #expect(!text.contains(stage.original))
                #expect(!text.contains("anna"))
                #expect(!text.contains("9.99"))
            }
            #expect(seen["purchases"]?.array?.isEmpty == true)
            // The id of the claim names no purchase.
            let claim = try #require(seen["subscriptions"]?.array?.first)["original_transaction_id"]
            let path = "/v1/purchases/\(claim?.string ?? "")/seats"
            #expect(try await shop.support.send("GET", path).status == 404)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a member who uses a second invitation keeps one claim, and the invitation stays valid`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database) { stage in
            let (first, second) = (try await stage.invite(), try await stage.invite())
            let made = try await stage.claim("ben", first.token)
            #expect(made.status == 201)
            for token in [first.token, second.token] {
                let again = try await stage.claim("ben", token)
                #expect(again.status == 200)
                #expect(try again.json.text("claim_id") == made.json.text("claim_id"))
            }
            let named: JSON = [
                "customer_id": "ben", "original_transaction_id": .string(stage.original),
            ]
            let byName = try await stage.shop.support.send(
                "POST", "/v1/seats/claims", body: named.bytes)
            #expect(byName.status == 200)
            // Nobody else can use the used invitation, and the other invitation is still valid.
            #expect(try await stage.claim("cleo", first.token).status == 404)
            #expect(try await stage.claim("cleo", second.token).status == 201)
            #expect(try await stage.open("ben", "cleo") == ["ben", "cleo"])
            let full = try await stage.claim("dora", try await stage.invite().token)
            #expect(full.status == 409)
            #expect(try full.json.text("code") == "seats_taken")
            #expect(try await stage.seatEvents().count == 2)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an invitation is valid for one person, for a time, and until it is withdrawn`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(9, on: database) { stage in
            let shop = stage.shop
            let path = "/v1/purchases/\(stage.original)/invitations"
            let (late, gone, bound) = (
                try await stage.invite(["expires_in_seconds": 60]), try await stage.invite(),
                try await stage.invite(["customer_id": "ben"])
            )
            try await shop.simulator.post("/_sim/clock", ["advance": "PT2M"])
            for _ in 0..<2 {
                let withdrawn = try await shop.support.send("DELETE", "\(path)/\(gone.id)")
                #expect(withdrawn.status == 200)
                #expect(try withdrawn.json["withdrawn_at"]?.string != nil)
            }
            for token in [late.token, gone.token, bound.token, "0", ""] {
                let refused = try await stage.claim("cleo", token)
                #expect(refused.status == 404)
                #expect(try refused.json.text("code") == "invitation_unknown")
            }
            let list = try await shop.support.get(path)["items"]?.array ?? []
            #expect(list.map { $0["invitation_id"]?.string } == [bound.id])
            #expect(list.allSatisfy { $0["token"] == .null })
            #expect(try await stage.claim("ben", bound.token).status == 201)
            for seconds in [59, 2_592_001] as [Int64] {
                let body: JSON = ["expires_in_seconds": .integer(seconds)]
                let refused = try await shop.support.send("POST", path, body: body.bytes)
                #expect(refused.status == 400)
            }
            let unknown = try await shop.support.send("DELETE", "\(path)/none")
            #expect(unknown.status == 404)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a former member can join again by a new invitation, and gets a new claim`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database) { stage in
            let (ben, cleo) = (try await stage.join("ben"), try await stage.join("cleo"))
            for _ in 0..<2 {
                let left = try await stage.release(ben, "?customer_id=ben")
                #expect(left.status == 200)
                #expect(try left.json["standing"] == "ended")
                #expect(try left.json["cause"] == "left")
            }
            #expect(try await stage.release(cleo, "?customer_id=ben").status == 404)
            #expect(try await stage.release(cleo).json["cause"] == "removed")
            #expect(try await stage.release("none").status == 404)
            #expect(try await stage.open("ben", "cleo") == [])
            let again = try await stage.join("ben")
            #expect(again != ben)
            #expect(try await stage.open("ben", "cleo") == ["ben"])
            #expect(
                try await stage.seatEvents() == [
                    "seat_claimed ben", "seat_claimed cleo", "seat_released ben left",
                    "seat_released cleo removed", "seat_claimed ben",
                ])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `with fewer seats, the latest members wait until there are more seats`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(5, on: database) { stage in
            for name in ["ben", "cleo", "dora", "emil"] { try await stage.join(name) }
            try await stage.group.does("refund", ["seats": 2])
            #expect(try await stage.open("ben", "cleo", "dora", "emil") == ["ben", "cleo"])
            let dora = try #require(try await stage.subscription(of: "dora"))
            #expect(dora["state"] == "revoked")
            #expect(dora["seat"]?["standing"] == "waiting")
            let group = try await stage.groupAnswer()
            #expect(group["seats"] == 3 && group["waiting"] == 2 && group["available"] == 0)
            try await stage.group.does("reverse-refund")
            #expect(
                try await stage.open("ben", "cleo", "dora", "emil")
                    == ["ben", "cleo", "dora", "emil"])
            try await stage.group.does("change-seats", ["seats": 2])
            #expect(try await stage.open("ben", "cleo", "dora").count == 3)
            try await stage.group.pass("P1M")
            #expect(try await stage.open("ben", "cleo", "dora", "emil") == ["ben"])
            #expect(try await stage.claim("fred", stage.invite().token).status == 409)
            try await stage.group.order(4)
            #expect(try await stage.open("ben", "cleo", "dora", "emil").count == 3)
            // If a member leaves, the next one who waits gets the seat.
            let claims = try await stage.groupAnswer()["claims"]?.array ?? []
            _ = try await stage.release(try claims[0].text("claim_id"))
            #expect(
                try await stage.open("ben", "cleo", "dora", "emil") == ["cleo", "dora", "emil"])
            // Changes of the number of seats emitted no events about claims.
            #expect(try await stage.seatEvents().count == 5)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a purchase after a full refund starts a new group, which former members must join again`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database) { stage in
            try await stage.join("ben")
            try await stage.group.does("fail-billing")
            try await stage.group.pass("P35D")
            #expect(try await stage.open("anna", "ben") == ["anna", "ben"])
            try await stage.group.pass("P15D")
            #expect(try await stage.open("anna", "ben") == [])
            try await stage.group.does("recover-billing")
            #expect(try await stage.open("anna", "ben") == ["anna", "ben"])
            try await stage.group.does("refund")
            #expect(try await stage.open("anna", "ben") == [])
            let refused = try await stage.shop.support.send(
                "POST", "/v1/purchases/\(stage.original)/invitations", body: Array("{}".utf8))
            #expect(try refused.json.text("code") == "purchase_not_running")
            try await stage.group.pass("P3D")
            try await stage.group.order(3)
            #expect(try await stage.open("anna", "ben") == ["anna"])
            #expect(try await stage.subscription(of: "ben") == nil)
            #expect(try await stage.groupAnswer()["claimed"] == 0)
            try await stage.join("ben")
            #expect(try await stage.open("anna", "ben") == ["anna", "ben"])
            #expect(
                try await stage.seatEvents() == [
                    "seat_claimed ben", "seat_released ben bought_again", "seat_claimed ben",
                ])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an upgrade of a purchase with seats keeps the members`(database: StoryDatabase)
        async throws
    {
        try await SeatStage.with(3, on: database) { stage in
            try await stage.join("ben")
            try await stage.group.order(4, "premium.monthly")
            let ben = try #require(try await stage.subscription(of: "ben"))
            #expect(ben["product_id"] == "premium.monthly")
            #expect(try await stage.groupAnswer()["available"] == 2)
            #expect(try await stage.open("ben") == ["ben"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if Apple manages a group's invitations, claims by the app's server are refused`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database, invitations: "apple") { stage in
            let group = try await stage.groupAnswer()
            #expect(group["invitations"] == "apple" && group["seats"] == 3)
            #expect(group["claimed"] == .null)
            let anna = try #require(try await stage.subscription(of: "anna"))
            #expect(anna["seats"]?["count"] == 3 && anna["seats"]?["claimed"] == .null)
            func code(_ customer: String, _ original: String) async throws -> String {
                let body: JSON = [
                    "customer_id": .string(customer), "original_transaction_id": .string(original),
                ]
                let refused = try await stage.shop.support.send(
                    "POST", "/v1/seats/claims", body: body.bytes)
                return try refused.json.text("code")
            }
            #expect(try await code("ben", stage.original) == "seats_not_managed_by_app")
            #expect(try await code("ben", "1") == "purchase_unknown")
            let single = try await stage.shop.buyMonth("zoe")
            #expect(try await stage.shop.post(single, as: "zoe") == 200)
            let number = try single.text("original_transaction_id")
            #expect(try await code("ben", number) == "purchase_has_no_seats")
            let none = try await stage.shop.support.send("GET", "/v1/purchases/\(number)/seats")
            #expect(try none.json.text("code") == "purchase_has_no_seats")
            // The answer about a single purchase does not mention seats.
            let zoe = try #require(try await stage.subscription(of: "zoe"))
            #expect(zoe["seats"] == nil && zoe["seat"] == nil)
        }
        try await SeatStage.with(3, on: database) { stage in
            let own = try await stage.claim("anna", stage.invite().token)
            #expect(try own.json.text("code") == "purchaser_needs_no_seat")
        }
    }
}
