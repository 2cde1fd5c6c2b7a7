import AppStoreFormats
import AsyncHTTPClient
import Eventually
import Foundation
import Testing

/// Uses the phone of `perennial dev` as a browser does.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PhoneStories {
    @Test func `all five steps of the phone's tour can be completed`() async throws {
        try await PhoneTable.play { phone in
            let empty = try await phone.act("no")
            #expect(empty.doneCount == 0)
            #expect(empty.text("line").contains("she has bought nothing"))
            #expect(empty.text("due").contains("Nothing is due"))

            let bought = try await phone.act("sheet pro.monthly", "yes")
            try await phone.expect(bought, shows: "paid")
            #expect(bought.doneCount == 1)
            #expect(bought.text("books").contains("$9.99"))
            let wire = bought.text("wire")
            for word in ["POST /v1/purchases", "200,", "SUBSCRIBED", "INITIAL_BUY", "purchased"] {
                #expect(wire.contains(word), "\(word) in \(wire)")
            }

            let renewed = try await phone.act("month")
            try await phone.expect(renewed, shows: "paid")
            #expect(renewed.doneCount == 2)
            #expect(renewed.text("wire").contains("DID_RENEW"))

            let failed = try await phone.act("card", "month")
            try await phone.expect(failed, shows: "grace")
            #expect(failed.doneCount == 3)
            #expect(failed.text("due").contains("grace is over"))

            let paid = try await phone.act("card")
            try await phone.expect(paid, shows: "paid")
            let asked = try await phone.act("refund")
            #expect(asked.text("due").contains("Apple decides about the refund"))
            #expect(asked.text("wire").contains("CONSUMPTION_REQUEST"))
            let refunded = try await phone.act("due")
            try await phone.expect(refunded, shows: "refunded")
            #expect(refunded.doneCount == 4)

            let restored = try await phone.act("restore")
            #expect(restored.doneCount == 5)
            #expect(restored.text("wire").contains("nothing moves"))
        }
    }

    @Test func `advancing the phone to each due time leads through trial, grace, retry and expiry`()
        async throws
    {
        try await PhoneTable.play { phone in
            try await phone.act("sheet pro.yearly", "yes")
            try await phone.expect(try await phone.act("no"), shows: "trial")
            try await phone.expect(try await phone.act("due"), shows: "paid")
            try await phone.expect(try await phone.act("card", "due"), shows: "grace")
            try await phone.expect(try await phone.act("due"), shows: "retry")
            try await phone.expect(try await phone.act("due"), shows: "expired")
            #expect(try await phone.act("no").text("line").contains("the payment never came"))
            let again = try await phone.act("card", "sheet pro.monthly", "yes")
            try await phone.expect(again, shows: "paid")
            try await phone.expect(try await phone.act("renew"), shows: "paid")
            try await phone.expect(try await phone.act("due"), shows: "expired")
            #expect(try await phone.act("no").text("line").contains("as she had cancelled"))
        }
    }

    @Test func `passing a year on the phone renews a monthly subscription twelve times`()
        async throws
    {
        try await PhoneTable.play { phone in
            let year = try await phone.act("sheet pro.monthly", "yes", "year")
            #expect(year.html("wire").matches(of: #/DID_RENEW/#).count == 12)
            #expect(year.html("picture").matches(of: #/p-paid/#).count == 13)
            let charges = try await phone.book()["charges"]?.array ?? []
            #expect(charges.count == 13)
            #expect(year.text("books").contains("$129.87"))
        }
    }

    @Test func `a change of plan on the phone waits for the next period, and can be reverted`()
        async throws
    {
        try await PhoneTable.play { phone in
            try await phone.act("sheet pro.monthly", "yes")
            let next = try await phone.act("sheet pro.yearly", "yes")
            #expect(try await phone.book()["renews_to"]?.string == "pro.yearly")
            #expect(next.text("line").contains("continues as pro.yearly"))
            let stay = try await phone.act("sheet pro.monthly", "yes")
            #expect(try await phone.book()["renews_to"]?.string == "pro.monthly")
            #expect(stay.text("line").contains("then it renews"))
        }
    }

    @Test
    func `on the phone, a one-time purchase gives access, and a consumable credits the wallet`()
        async throws
    {
        try await PhoneTable.play { phone in
            let bought = try await phone.act("sheet guide", "yes", "sheet seeds.100", "yes")
            #expect(bought.text("line").contains("has access to guide"))
            #expect(bought.text("screen").contains("you have 100"))
            #expect(bought.text("books").contains("$26.98"))
            #expect(bought.text("picture").contains("guide"))
            #expect(bought.text("json").contains("\"balance\": 100"))
        }
    }

    @Test func `a purchase on the phone with a refused card gives nothing`() async throws {
        try await PhoneTable.play { phone in
            let refused = try await phone.act("card", "sheet pro.monthly", "yes")
            #expect(refused.text("wire").contains("The card is refused"))
            let books = try await phone.simulator.get("/_sim/truth/anna")
            #expect(books["purchases"]?.array == [])
        }
    }

    @Test func `a purchase on the phone waits until a parent approves or declines it`() async throws
    {
        try await PhoneTable.play { phone in
            let asked = try await phone.act("parent", "sheet pro.monthly", "yes")
            #expect(asked.text("line").contains("a parent is asked"))
            #expect(asked.text("others").contains("A parent allows Monthly"))
            let refused = try await phone.act("decline")
            #expect(refused.text("line").contains("she has bought nothing"))
            let allowed = try await phone.act("sheet pro.monthly", "yes", "approve")
            try await phone.expect(allowed, shows: "paid")
            #expect(!allowed.text("others").contains("A parent"))
        }
    }

    @Test func `the family on the phone has access to shareable products until sharing ends`()
        async throws
    {
        try await PhoneTable.play { phone in
            let nothing = try await phone.act("sheet pro.monthly", "yes", "family")
            #expect(nothing.text("others").contains("ben has no access to her purchases"))
            let guide = try await phone.act("sheet guide", "yes")
            #expect(guide.text("others").contains("ben has access to guide"))
            #expect(
                try await phone.book(of: "ben")["ownership"]?.string == "FAMILY_SHARED")
            let alone = try await phone.act("family")
            #expect(!alone.text("others").contains("In her family"))
            let ben = try await phone.server.get("/v1/customers/ben")
            #expect(ben["entitlements"]?["guide"]?["active"]?.bool == false)
        }
    }

    @Test
    func `on the phone, a purchase stays with its owner if another customer restores`() async throws
    {
        try await PhoneTable.play { phone in
            let restored = try await phone.act("sheet pro.monthly", "yes", "other")
            #expect(restored.text("wire").contains("409,"))
            #expect(restored.text("wire").contains("The purchase stays anna’s."))
            try await phone.expect(restored, shows: "paid")
        }
    }

    @Test func `on the phone, Apple gets consumption data after consent, and declines the refund`()
        async throws
    {
        try await PhoneTable.play { phone in
            let asked = try await phone.act("sheet pro.monthly", "yes", "consumption", "refund")
            #expect(asked.text("wire").contains("PUT /v1/customers/anna/consumption"))
            let declined = try await phone.act("due")
            #expect(declined.text("wire").contains("REFUND_DECLINED"))
            #expect(declined.text("wire").contains("consumption_answered"))
            #expect(declined.doneCount == 2)
            try await phone.expect(declined, shows: "paid")
        }
    }

    @Test
    func `starting over on the phone gives a new person, and keeps the first person's purchase`()
        async throws
    {
        try await PhoneTable.play { phone in
            try await phone.act("sheet pro.monthly", "yes")
            let fresh = try await phone.act("over")
            #expect(fresh.doneCount == 0)
            #expect(fresh.text("line").contains("cleo has no access yet"))
            #expect(fresh.text("wire").contains("No messages yet"))
            #expect(try await phone.book()["state"]?.string == "paid")
            let page = try await phone.page()
            #expect(page.contains("GET /v1/customers/cleo"))
        }
    }

    @Test
    func `the phone's page shows changes that were made through the simulator's API`() async throws
    {
        try await PhoneTable.play { phone in
            try await phone.act("sheet pro.monthly", "yes")
            let id = try await phone.book().text("original_transaction_id")
            try await phone.simulator.post("/_sim/subscriptions/\(id)/refund")
            try await phone.simulator.post("/_sim/clock", ["advance": "P1D"])
            let page = try await phone.page()
            #expect(page.contains("<code>REFUND</code>"))
            #expect(page.contains("Apple gave her money back"))
        }
    }

    @Test func `after a reset of the world, the phone begins with a new person`() async throws {
        try await PhoneTable.play { phone in
            try await phone.act("sheet pro.monthly", "yes")
            try await phone.simulator.post("/_sim/reset", ["seed": 77])
            #expect(try await phone.page().contains("GET /v1/customers/cleo"))
            let bought = try await phone.act("sheet pro.monthly", "yes")
            #expect(bought.text("line").contains("cleo has access to pro : paid until"))
        }
    }
}
