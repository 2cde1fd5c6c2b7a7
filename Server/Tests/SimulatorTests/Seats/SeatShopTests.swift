import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct SeatShopTests {
    @Test func `a device shows the seat prices of its storefront, and none in other storefronts`()
        async throws
    {
        try await Stage().withClient { client in
            let shop = #"""
                {"multi_seat":{"pro.monthly":{"tiers":[{"from":6,"price":"7.99"}],
                 "storefronts":{"DEU":[{"from":11,"price":"6.49"}]}},"plus.monthly":true},
                 "prices":{"pro.monthly":{"DEU":"8.99"}},"seat_invitations":"developer"}
                """#
            _ = try await client.json("/_sim/reset", shop)
            _ = try await client.json("/_sim/devices", #"{"account":"anna"}"#)
            _ = try await client.json("/_sim/devices", #"{"account":"ben","storefront":"DEU"}"#)
            func product(_ device: String, _ id: String) async throws -> JSON {
                let json = try await client.json("/_sim/devices/\(device)/products?ids=\(id)")
                return json["products"]?.array?.first ?? .null
            }
            func tiers(_ json: JSON) -> [String] {
                (json["price_tiers"]?.array ?? []).map { tier in
                    let most = tier["maximum_seats"]?.integer.map { "\($0)" } ?? ""
                    return "\(tier["minimum_seats"]?.integer ?? 0)–\(most): "
                        + (tier["price"]?.string ?? "")
                }
            }
            let anna = try await product("anna-1", "pro.monthly")
            #expect(anna["supports_multi_seat"] == true)
            #expect(tiers(anna) == ["1–5: 9.99", "6–: 7.99"])
            #expect(
                tiers(try await product("ben-1", "pro.monthly")) == ["1–10: 8.99", "11–: 6.49"])
            #expect(tiers(try await product("anna-1", "plus.monthly")) == ["1–: 4.99"])
            let other = try await product("anna-1", "premium.monthly")
            #expect(other["supports_multi_seat"] == nil && other["price_tiers"] == nil)
            let bought = try await client.json(
                "/_sim/devices/anna-1/purchases", #"{"product_id":"pro.monthly","seats":6}"#)
            let signed = bought["signed_transaction"]?.string ?? ""
            let transaction = try decode(TransactionPayload.self, signed)
            #expect(transaction.quantity == 6)
            #expect(transaction.multiSeatInfo?.invitationManagement == .developer)
        }
    }

    @Test(arguments: [
        (#"{"multi_seat":{"nothing":true}}"#, "unknown_product"),
        (#"{"multi_seat":{"guide":true}}"#, "bad_request"),
        (#"{"multi_seat":[]}"#, "bad_request"),
        (#"{"multi_seat":{"pro.monthly":{"tiers":[{"from":1,"price":"1"}]}}}"#, "bad_request"),
        (
            #"{"multi_seat":{"pro.monthly":{"tiers":[{"from":9,"price":"2"},"#
                + #"{"from":9,"price":"1"}]}}}"#,
            "bad_request"
        ),
        (#"{"multi_seat":{"pro.monthly":{"tiers":[{"from":9}]}}}"#, "bad_request"),
        (#"{"multi_seat":{"pro.monthly":{"tiers":[{"from":9,"cost":"1"}]}}}"#, "bad_request"),
        (
            #"{"multi_seat":{"pro.monthly":{"tiers":[{"from":2,"price":"5"},"#
                + #"{"from":3,"price":"4"},{"from":4,"price":"3"},{"from":5,"price":"2"},"#
                + #"{"from":6,"price":"1"}]}}}"#,
            "bad_request"
        ),
        (#"{"multi_seat":{"pro.monthly":{"storefronts":{"ATL":[]}}}}"#, "unknown_storefront"),
        (#"{"seat_invitations":"both"}"#, "bad_request"),
    ])
    func `a reset with invalid seat prices is refused`(body: String, code: String) async throws {
        try await Stage().withClient { client in
            let (status, text) = try await client.text("/_sim/reset", body)
            #expect(status >= 400, "\(text)")
            #expect(try JSON(parsing: text.utf8)["code"]?.string == code)
        }
    }

    @Test func `a reset warns of seat prices that rise, and of seats with Family Sharing`()
        async throws
    {
        try await Stage().withClient { client in
            let answer = try await client.json(
                "/_sim/reset",
                #"{"multi_seat":{"pro.yearly":{"tiers":[{"from":2,"price":"99.99"}]}}}"#)
            #expect(answer["warnings"]?.array?.count == 2)
        }
    }
}
