import AppStoreFormats
import Crypto
import Foundation
import Testing

@testable import Simulator

@Suite struct APIFaultTests {
    /// Makes a request with a good token.
    private func request(
        _ path: String, at now: AppStoreDate, query: [(String, String)] = []
    ) throws -> APIRequest {
        let key = try P256.Signing.PrivateKey(pemRepresentation: APIKey.wellKnownPEM)
        let header: JSON = ["alg": "ES256", "kid": .string(APIKey.wellKnown.id), "typ": "JWT"]
        let claims: JSON = [
            "iss": .string(APIKey.wellKnown.issuerID), "iat": .integer(now.milliseconds / 1000),
            "exp": .integer(now.milliseconds / 1000 + 600), "aud": "appstoreconnect-v1",
            "bid": .string(ExampleShop.bundleID),
        ]
        let signed =
            Base64.url.encode(header.bytes) + [UInt8(ascii: ".")] + Base64.url.encode(claims.bytes)
        let signature = try Array(key.signature(for: signed).rawRepresentation)
        let token = signed + [UInt8(ascii: ".")] + Base64.url.encode(signature)
        return APIRequest(
            environment: .production, method: .get,
            path: path.split(separator: "/").map(String.init),
            query: query.map { (name: $0.0, value: $0.1) },
            authorization: "Bearer " + String(decoding: token, as: UTF8.self), arrived: now)
    }

    private func statuses(_ stage: Stage, _ id: String) async throws -> APIResponse {
        let simulator = stage.simulator
        return await simulator.process(
            try request("v1/subscriptions/\(id)", at: simulator.clock.now))
    }

    @Test(arguments: [
        (APIFault.unauthorized, 401, nil), (.notFound, 404, 4_040_010),
        (.rateLimit, 429, 4_290_000), (.error, 500, 5_000_000),
        (.retryableError, 500, 5_000_001),
    ])
    func `a fault that is set for the next request occurs once, on a valid request`(
        fault: APIFault, status: Int, code: Int64?
    ) async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.setFaults { try $0.api.order([fault]) }
        let answer = try await statuses(stage, id)
        #expect(answer.status == status)
        #expect(answer.body?["errorCode"]?.integer == code)
        #expect(try await statuses(stage, id).status == 200)
        #expect(await stage.simulator.faults.api.struck == [fault: 1])
    }

    @Test func `a refusal by the rate limit names the time of the next try, in Unix milliseconds`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.setFaults { faults in
            faults.retryAfterSeconds = 90
            try faults.api.order([.rateLimit])
        }
        let answer = try await statuses(stage, id)
        #expect(answer.retryAfter == (try moment("2026-01-10T20:01:30Z")))
    }

    @Test func `a stale answer repeats the last answer to the same request for a limited time`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        await stage.simulator.setFaults { faults in
            faults.api.odds[.stale] = 1
            faults.staleSeconds = 3600
        }
        // The question is new, so the answer is current.
        let first = try await statuses(stage, id)
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("PT1H")
        #expect(try await statuses(stage, id) == first)
        try await stage.advance("PT1S")
        let later = try await statuses(stage, id)
        #expect(later.status == 200 && later != first)
    }

    @Test func `during an outage no request is answered`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        let (from, until) = try (moment("2026-01-11T00:00:00Z"), moment("2026-01-19T00:00:00Z"))
        await stage.simulator.setFaults { $0.apiOutage = Outage(from: from, until: until) }
        #expect(try await statuses(stage, id).status == 200)
        try await stage.advance(to: "2026-01-18T23:59:59.999Z")
        #expect(try await statuses(stage, id).status == 503)
        try await stage.advance(to: "2026-01-19T00:00:00Z")
        #expect(try await statuses(stage, id).status == 200)
    }

    @Test func `a fault that delays an answer does not change the answer`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.setFaults { faults in
            faults.slowSeconds = 0.2
            try faults.api.order([.slow])
        }
        let began = ContinuousClock.now
        #expect(try await statuses(stage, id).status == 200)
        #expect(ContinuousClock.now - began >= .milliseconds(200))
    }

    @Test func `a fault waits for the next request that it can affect`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.setFaults { try $0.api.order([.expiredToken]) }
        #expect(try await statuses(stage, id).status == 200)
        let page = try request(
            "v1/subscriptions/\(id)", at: stage.simulator.clock.now,
            query: [("paginationToken", "x")])
        #expect(await stage.simulator.process(page).body?["errorCode"] == 4_000_017)
        #expect(await stage.simulator.faults.api.ordered.isEmpty)
    }
}
