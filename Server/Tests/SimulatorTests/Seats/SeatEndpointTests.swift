import AppStoreFormats
import Testing

@testable import Simulator

/// The App Store Server API calls about seats and groups.
@Suite struct SeatEndpointTests {
    private static let request = "6f2c4b0e-3b1f-4d5e-8f6a-0c9d1e2f3a4b"

    private func ask(
        _ line: String, _ body: JSON? = nil, _ query: [(String, String)] = [],
        in environment: SimulatedEnvironment = .sandbox
    ) -> Ask {
        var ask = Ask(line, query, body: body, in: environment)
        ask.root = APIEndpoint.groups
        return ask
    }

    private func claim(_ id: String, _ number: Int, app: String? = nil) -> Ask {
        let request = Self.request.dropLast() + String(number)
        var body: JSON = ["requestIdentifier": .string(String(request))]
        if let app { body = body.adding("appTransactionId", .string(app)) }
        return ask("POST v1/transactions/\(id)/seats", body)
    }

    private func info(_ stage: Stage, _ id: String) async throws -> [Int64?] {
        let json = try await stage.json(ask("GET v1/transactions/\(id)/seats"))
        return [
            json["totalSeatCount"]?.integer, json["availableSeatCount"]?.integer,
            json["assignedSeatClaimIds"]?.array.map { Int64($0.count) },
        ]
    }

    private func group(
        _ seats: Int64 = 3, _ invitations: SeatInvitations = .developer, _ habits: Set<Quirk> = []
    ) async throws -> (Stage, String) {
        let stage = try Stage.withSeats(invitations, habits)
        try await stage.addAccounts(["ben"], in: .sandbox)
        return (stage, try await stage.order(seats, in: .sandbox).originalTransactionID)
    }

    @Test func `a seat claim that is requested twice is made once`() async throws {
        let (stage, id) = try await group()
        #expect(try await info(stage, id) == [3, 3, 0])
        let first = try await stage.json(claim(id, 1))["seatClaimId"]
        #expect(try await stage.json(claim(id, 1))["seatClaimId"] == first)
        let second = try await stage.json(claim(id, 2))["seatClaimId"]
        #expect(first != nil && second != first)
        #expect(try await info(stage, id) == [3, 1, 2])
        let text = try require(first?.string, "no claim")
        let unclaim = ask("DELETE v1/transactions/\(id)/seats/\(text.uppercased())")
        #expect(try await stage.answer(unclaim).status == 200)
        #expect(try await info(stage, id) == [3, 2, 1])
        #expect(try await stage.refusal(unclaim) == Refused(404, 4_040_901))
    }

    @Test func `no more seats can be claimed than the group has`() async throws {
        let (stage, id) = try await group()
        for number in 1...3 { _ = try await stage.json(claim(id, number)) }
        #expect(try await stage.refusal(claim(id, 4)) == Refused(403, 4_030_901))
        #expect(
            try await stage.answer(claim(id, 4)).body?["errorMessage"]?.string?
                .hasPrefix("NoAvailableSeatsError") == true)
        let (other, group) = try await group(3, .developer, [.purchaserUsesASeat])
        for number in 1...2 { _ = try await other.json(claim(group, number)) }
        #expect(try await other.refusal(claim(group, 3)) == Refused(403, 4_030_901))
    }

    @Test
    func `a seat claim associated with an account is listed in the account's ground truth`()
        async throws
    {
        let (stage, id) = try await group()
        let ben = await stage.simulator.world.accounts[
            Account.Key(name: "ben", environment: .sandbox)]
        let app = try require(ben?.appTransactionID, "no ben")
        #expect(
            try await stage.refusal(claim(id, 1, app: "1")) == Refused(404, 4_040_902))
        let made = try await stage.json(claim(id, 1))["seatClaimId"]?.string ?? ""
        #expect(try await stage.simulator.groundTruth(of: "ben").claimedSeats.isEmpty)
        let associate = ask(
            "POST v1/transactions/\(id)/seats/\(made)/associate",
            ["appTransactionId": .string(app)])
        #expect(try await stage.answer(associate).status == 200)
        let seats = try await stage.simulator.groundTruth(of: "ben").claimedSeats
        #expect(seats.map(\.claimID) == [made] && seats.first?.isOpen == true)
    }

    @Test func `a refund of seats ends the newest claims, and a notification names their ids`()
        async throws
    {
        let (stage, id) = try await group()
        var claims: [String] = []
        for number in 1...3 {
            claims.append(try await stage.json(claim(id, number))["seatClaimId"]?.string ?? "")
        }
        try await stage.simulator.change(id, .refundSeats(1))
        let letters = try await stage.letters().suffix(2)
        #expect(letters.map(\.line) == ["REFUND/SEATS 1 pro.monthly", "UNCLAIM_SEATS"])
        let last = try require(letters.last, "no notification").notification
        #expect(last.data == nil && last.unclaimInfo?.unclaimSeatIds == [claims[2]])
        #expect(last.unclaimInfo?.originalTransactionId == id)
        #expect(last.unclaimInfo?.environment == .sandbox)
        #expect(try await info(stage, id) == [2, 0, 2])
        let (quiet, group) = try await group(2, .developer, [.unclaimSeatsLost])
        for number in 1...2 { _ = try await quiet.json(claim(group, number)) }
        try await quiet.simulator.change(group, .refundSeats(1))
        #expect(try await quiet.lastLetter.line == "REFUND/SEATS 1 pro.monthly")
        #expect(try await info(quiet, group) == [1, 0, 1])
    }

    @Test
    func `a renewal with fewer seats ends no claim, and the end of the group ends all claims`()
        async throws
    {
        let (stage, id) = try await group()
        for number in 1...3 { _ = try await stage.json(claim(id, number)) }
        try await stage.simulator.change(id, .changeSeats(2))
        try await stage.advance("PT5M")
        #expect(try await info(stage, id) == [2, 0, 3])
        #expect(try await stage.refusal(claim(id, 4)) == Refused(403, 4_030_901))
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("PT5M")
        #expect(try await stage.refusal(claim(id, 5)) == Refused(400, 4_000_901))
        try await stage.order(3)
        #expect(try await info(stage, id) == [3, 3, 0])
    }

    @Test
    func `the calls for seats exist in the sandbox only, for groups whose members the app invites`()
        async throws
    {
        let (stage, id) = try await group(3, .apple)
        #expect(try await stage.refusal(claim(id, 1)) == Refused(400, 4_000_901))
        try await stage.simulator.change(id, .joinGroup("ben"))
        let seat = try await stage.simulator.groundTruth(of: "ben").purchases[0]
            .originalTransactionID
        #expect(try await stage.refusal(claim(seat, 1)) == Refused(400, 4_000_901))
        #expect(try await stage.refusal(claim("x", 1)) == Refused(400, 4_000_006))
        #expect(try await stage.refusal(claim("1", 1)) == Refused(404, 4_040_010))
        let place = ask("GET v1/transactions/\(id)/seats", in: .production)
        #expect(try await stage.answer(place).status == 404)
        let (other, group) = try await group()
        let wrong = ask("POST v1/transactions/\(group)/seats", ["requestIdentifier": "1"])
        #expect(try await other.refusal(wrong) == Refused(400, 4_000_011))
    }

    @Test func `Apple refuses consumption, a token and an extension for an assigned seat`()
        async throws
    {
        let (stage, id) = try await group(3, .apple)
        try await stage.simulator.change(id, .joinGroup("ben"))
        let seat = try await stage.simulator.groundTruth(of: "ben").purchases[0]
            .originalTransactionID
        let token: JSON = ["appAccountToken": .string(Self.request)]
        let consumption: JSON = [
            "customerConsented": true, "deliveryStatus": "DELIVERED",
            "sampleContentProvided": false,
        ]
        let days: JSON = [
            "extendByDays": 7, "extendReasonCode": 0, "requestIdentifier": "one",
        ]
        let asks = [
            Ask("PUT v1/transactions/\(seat)/appAccountToken", body: token, in: .sandbox),
            Ask("PUT v2/transactions/consumption/\(seat)", body: consumption, in: .sandbox),
            Ask("PUT v1/subscriptions/extend/\(seat)", body: days, in: .sandbox),
        ]
        var refused: [Refused] = []
        for ask in asks { refused.append(try await stage.refusal(ask)) }
        #expect(
            refused == [Refused(400, 4_000_227), Refused(400, 4_000_227), Refused(403, 4_030_028)])
    }

    @Test func `groups and members are listed, and an empty list has Apple's placeholder`()
        async throws
    {
        let (stage, id) = try await group(3, .apple)
        try await stage.simulator.change(id, .joinGroup("ben"))
        let groups = try await stage.json(ask("GET v1/currentGroups/\(id)"))["groups"]?.array
        #expect(groups?.map { $0["groupType"]?.string } == ["CONSUMER"])
        let number = groups?.first?["groupId"]?.string ?? ""
        let page = try await stage.json(ask("GET v1/group/\(number)", nil, [("limit", "1")]))
        #expect(page["members"]?.array?.count == 1 && page["hasMore"] == true)
        let token = page["paginationToken"]?.string ?? ""
        let rest = try await stage.json(
            ask("GET v1/group/\(number)", nil, [("paginationToken", token)]))
        #expect(rest["members"]?.array?.count == 1 && rest["hasMore"] == false)
        #expect(
            try await stage.refusal(ask("GET v1/group/\(number)", nil, [("limit", "101")]))
                == Refused(400, 4_000_903))
        #expect(try await stage.refusal(ask("GET v1/group/1")) == Refused(404, 4_040_903))
        let (own, other) = try await group()
        let none = try await own.json(ask("GET v1/currentGroups/\(other)"))["groups"]?.array
        #expect(none?.first?["groupId"]?.string == SeatEndpoints.placeholderGroup)
        let members = try await own.json(ask("GET v1/group/\(SeatEndpoints.placeholderGroup)"))
        #expect(
            members["members"]?.array?.first?["appTransactionId"]?.string
                == SeatEndpoints.placeholderMember)
    }
}
