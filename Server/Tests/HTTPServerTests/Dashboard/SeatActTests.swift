import PerennialContract
import Testing

@testable import HTTPServer

/// How the pages of customers show seats, and how support changes seats.
@Suite struct SeatActTests {
    private static let invitations = "/customers/anna/groups/7001/invitations"

    /// Runs a server with a group that anna pays for and in which ben has a seat.
    private static func run(
        as access: DashboardAccess = DashboardServer.developer,
        _ body: @escaping @Sendable (DashboardServer, String) async throws -> Void
    ) async throws {
        try await DashboardServer.run(as: access) { server in
            try await server.buySeats("anna", transaction: "7001")
            try await body(server, try await server.claim("ben", on: "7001"))
        }
    }

    /// The token that the page shows after an invitation was created.
    private static func token(in page: String) throws -> String {
        String(try #require(page.firstMatch(of: #/data-copy=\x22([0-9a-f]{32})\x22/#)).1)
    }

    // MARK: - Pages

    @Test func `the page of a purchaser lists the seats, their prices and their members`()
        async throws
    {
        try await Self.run { server, _ in
            let page = try await server.get("/customers/anna").text
            for part in [
                "Group of <bdi>pro.monthly</bdi>", "<b>5</b>, one of them <bdi>anna</bdi>’s own",
                "Apple has not said", "1 seat taken, 3 free", "2 × $9.99, 3 × $7.99", "$43.95",
                "href=\"/customers/ben\"", "has a seat", "None is open.", "Invite somebody",
            ] {
                #expect(page.contains(part), "\(part)")
            }
            #expect(!page.contains("A seat of a group"))
        }
    }

    @Test func `added seats are a separate payment, and the page shows the sum of both payments`()
        async throws
    {
        try await Self.run { server, _ in
            try await server.addSeats("anna", to: "7001")
            let page = try await server.get("/customers/anna").text
            for part in ["<b>7</b>, one of them", "2 × $7.99", "$15.98", "Together", "$59.93"] {
                #expect(page.contains(part), "\(part)")
            }
        }
    }

    @Test func `the page of a member links to the purchaser, and names no purchase`() async throws {
        try await Self.run { server, claim in
            let page = try await server.get("/customers/ben").text
            for part in [
                "a seat, paid for by somebody else until", "A seat of a group",
                "a seat of a group</td>",
                "<a href=\"/customers/anna\"><bdi>anna</bdi></a> pays for it", "Release the seat",
                "Joined a group",
            ] {
                #expect(page.contains(part), "\(part)")
            }
            #expect(page.contains("/customers/ben/seats/\(claim)/release"))
            // Support cannot keep the purchase with the member, because the member does not own it.
            #expect(!page.contains("Keep with this customer"))
        }
    }

    @Test func `the page of a full group says that no seat is free`() async throws {
        try await Self.run { server, _ in
            for name in ["carl", "dave", "eva"] { try await server.claim(name, on: "7001") }
            #expect(try await server.get("/customers/anna").text.contains("4 seats taken, 0 free"))
        }
    }

    @Test func `a viewer sees the group of a purchaser, but no forms`() async throws {
        var access = DashboardServer.developer
        access.developer?.role = .viewer
        try await Self.run(as: access) { server, _ in
            let purchaser = try await server.get("/customers/anna").text
            #expect(purchaser.contains("$43.95") && purchaser.contains("/customers/ben"))
            for page in [purchaser, try await server.get("/customers/ben").text] {
                #expect(!page.contains("/invitations\"") && !page.contains("/release\""))
            }
        }
    }

    @Test func `if Apple manages the invitations, the page says that the members are unknown`()
        async throws
    {
        try await DashboardServer.run { server in
            try await server.buySeats("anna", transaction: "7001", host: "APPLE")
            let page = try await server.get("/customers/anna").text
            #expect(page.contains("Apple invites the members of this group"))
            #expect(page.contains("<b>5</b>, one of them") && page.contains("$43.95"))
            #expect(!page.contains("Invite somebody") && !page.contains("<h3>Members</h3>"))
            let act = try await server.post(Self.invitations, ["days": "7", "key": "k"])
            #expect(act.status == 409 && act.text.contains("seats_not_managed_by_app"))
            #expect(act.text.contains("Nothing has changed."))
        }
    }

    @Test func `many members are shown on several pages`() async throws {
        try await DashboardServer.run { server in
            try await server.buySeats("anna", transaction: "7001", seats: 13)
            for number in 1...12 { try await server.claim("m\(number)", on: "7001") }
            let first = try await server.get("/customers/anna").text
            let link = try #require(
                first.firstMatch(of: #/href=\x22([^\x22\x23]+)\x23group-0\x22>More members/#)
            ).1
            let rest = try await server.get(String(link).replacing("&amp;", with: "&")).text
            #expect(rest.contains("First members") && !rest.contains("More members"))
            func members(on page: String) -> [String] {
                page.matches(of: #/<th scope=\x22row\x22><a href=\x22\/customers\/(m\d+)\x22/#).map
                {
                    String($0.1)
                }
            }
            #expect(members(on: first).count == 10)
            #expect(Set(members(on: first) + members(on: rest)).count == 12)
            let wrong = try await server.get("/customers/anna?group=7001&members=x")
            #expect(wrong.status == 400)
        }
    }

    // MARK: - Invitations

    @Test func `the token of an invitation is shown once, and lets one person join`() async throws {
        try await Self.run { server, _ in
            let form = ["customer_id": " ", "days": "3", "key": "k1"]
            let made = try await server.post(Self.invitations, form)
            #expect(made.status == 200, "\(made.text)")
            let token = try Self.token(in: made.text)
            let again = try await server.post(Self.invitations, form)
            #expect(again.text.contains("was made already") && !again.text.contains(token))
            let list: SeatInvitationList = try await server.api(Paths.invitations(of: "7001"))
            #expect(list.items.count == 1)
            let page = try await server.get("/customers/anna").text
            #expect(page.contains("anyone who has it") && !page.contains(token))
            let audit: AuditList = try await server.api("/v1/audit")
            #expect(audit.items.map(\.act) == ["customers.groups.invitations"])
            #expect(audit.items.first?.subject == list.items.first?.invitationID)
            #expect(!"\(audit)".contains(token))
            _ = try await server.engine.seats.claim(
                by: .invitation(token), for: "carl", app: "birds")
            #expect(try await server.get("/customers/anna").text.contains("/customers/carl"))
        }
    }

    @Test func `a renewed invitation is for the same person, and its earlier token is invalid`()
        async throws
    {
        try await Self.run { server, _ in
            let form = ["customer_id": "carl", "days": "3", "key": "k1"]
            let former = try Self.token(in: try await server.post(Self.invitations, form).text)
            let page = try await server.get("/customers/anna").text
            let act = String(
                try #require(page.firstMatch(of: #/action=\x22([^\x22]+)\/renew\x22/#)).1)
            let made = try await server.post(act + "/renew")
            #expect(made.status == 200 && made.text.contains("href=\"/customers/carl\""))
            let token = try Self.token(in: made.text)
            #expect(token != former)
            #expect(try await server.post(act + "/renew").status == 404)
            for (token, isGood) in [(former, false), (token, true)] {
                let claim = try? await server.engine.seats.claim(
                    by: .invitation(token), for: "carl", app: "birds")
                #expect((claim != nil) == isGood)
            }
            let audit: AuditList = try await server.api("/v1/audit")
            let acts = Set(audit.items.map(\.act))
            #expect(acts.contains("customers.groups.invitations.renew") && acts.count == 2)
        }
    }

    @Test func `nobody can join with a withdrawn invitation`() async throws {
        try await Self.run { server, _ in
            let form = ["days": "7", "key": "k1"]
            let token = try Self.token(in: try await server.post(Self.invitations, form).text)
            let page = try await server.get("/customers/anna").text
            let act = String(
                try #require(page.firstMatch(of: #/action=\x22([^\x22]+\/withdraw)\x22/#)).1)
            let done = try await server.post(act)
            #expect(done.status == 303 && done.headers[.location] == "/customers/anna")
            #expect(done.headers[.setCookie]?.hasPrefix("notice=invitation_withdrawn; ") == true)
            await #expect(throws: (any Error).self) {
                try await server.engine.seats.claim(
                    by: .invitation(token), for: "carl", app: "birds")
            }
        }
    }

    @Test func `an invalid invitation is refused, and nothing changes`() async throws {
        let rows: [([String: String], Int)] = [
            (["days": "0", "key": "k"], 400), (["days": "31", "key": "k"], 400),
            (["days": "x", "key": "k"], 400), (["key": "k"], 400), (["days": "7"], 400),
        ]
        try await Self.run { server, _ in
            for (form, status) in rows {
                let act = try await server.post(Self.invitations, form)
                #expect(act.status == status, "\(form)")
                #expect(act.text.contains("Nothing has changed."), "\(form)")
            }
            // Ben does not pay for the group, so his page must not allow acts on it.
            let foreign = try await server.post(
                "/customers/ben/groups/7001/invitations", ["days": "7", "key": "k"])
            #expect(foreign.status == 404)
            let list: SeatInvitationList = try await server.api(Paths.invitations(of: "7001"))
            #expect(list.items.isEmpty)
        }
    }

    // MARK: - Seats

    @Test(arguments: ["anna", "ben"])
    func `support can release a seat on the page of the purchaser or of the member`(
        _ page: String
    ) async throws {
        try await Self.run { server, claim in
            let act = try await server.post("/customers/\(page)/seats/\(claim)/release")
            #expect(act.status == 303 && act.headers[.location] == "/customers/\(page)")
            #expect(act.headers[.setCookie]?.hasPrefix("notice=seat_released; ") == true)
            let ben: Customer = try await server.api("/v1/customers/ben")
            #expect(ben.entitlements["pro"]?.active != true)
            let events: EventList = try await server.api(Paths.events)
            let event = try #require(events.items.first { $0.type == .seatReleased })
            #expect(event.seat?.cause == .removed)
            #expect(event.cause.author?.actor == "developer")
            let audit: AuditList = try await server.api("/v1/audit")
            let entry = try #require(audit.items.first)
            #expect(entry.act == "customers.seats.release" && entry.subject == claim)
            #expect(entry.after == ["cause": "removed"])
            let after = try await server.get("/customers/ben").text
            #expect(after.contains("Seat released") && after.contains("taken back, claim"))
        }
    }

    @Test func `a seat cannot be released on the page of another customer`() async throws {
        try await Self.run { server, claim in
            let act = try await server.post("/customers/carl/seats/\(claim)/release")
            #expect(act.status == 404)
            let ben: Customer = try await server.api("/v1/customers/ben")
            #expect(ben.entitlements["pro"]?.active == true)
        }
    }

    // MARK: - Search

    @Test func `a search for a claim finds the member, on the page and through the API`()
        async throws
    {
        try await Self.run { server, claim in
            let page = try await server.get("/customers?query=\(claim.uppercased())").text
            #expect(page.contains("href=\"/customers/ben\"") && page.contains("by claim id"))
            let found: CustomerList = try await server.api("/v1/customers?query=\(claim)")
            #expect(found.items.map(\.customerID) == ["ben"])
            #expect(found.items.map(\.by) == ["claim_id"])
            #expect(found.items.first?.purchaseID == nil)
            #expect(found.appStore == .notAsked)
            _ = try await server.engine.customers.erase("ben", app: "birds")
            let gone: CustomerList = try await server.api("/v1/customers?query=\(claim)")
            #expect(gone.items.isEmpty)
        }
    }
}
