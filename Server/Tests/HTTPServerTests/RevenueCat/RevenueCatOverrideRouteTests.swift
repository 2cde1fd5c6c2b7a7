import AppStoreFormats
import Engine
import Foundation
import HTTPTypes
import Ledger
import Testing

@testable import HTTPServer

/// The offering that a backend makes the current one for a customer.
@Suite struct RevenueCatOverrideRouteTests {
    private static let key = "appl_test_birds"
    private static let id = "/v1/subscribers/anna"
    private static let second = "/v2/projects/birds/customers/anna/actions/assign_offering"

    @Sendable private static func serve(_ app: inout AppSettings) {
        app.revenueCat = RevenueCatSettings(keys: [key])
        app.offerings = OfferingRules(placements: [
            Placement(id: "default", products: ["pro.monthly"]),
            Placement(id: "sale", products: ["pro.monthly"]),
        ])
    }

    private struct Offerings: Decodable {
        var currentOfferingId: String
        var placements: Placements

        struct Placements: Decodable {
            var fallbackOfferingId: String
        }
    }

    private static func current(
        _ server: TestServer, _ path: String = id + "/offerings", key: String = key
    ) async throws -> String {
        let answer = try await server.send(.get, path, key: key)
        #expect(answer.status == 200, "\(answer.text)")
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let found = try decoder.decode(Offerings.self, from: Data(answer.text.utf8))
        #expect(found.placements.fallbackOfferingId == "default")
        return found.currentOfferingId
    }

    private static let table: [(HTTPRequest.Method, String, String?, Int, String)] = [
        (.post, id + "/offerings/sale/override", nil, 201, "sale"),
        (.post, id + "/offerings/none/override", nil, 404, "sale"),
        (.delete, id + "/offerings/override", nil, 201, "default"),
        (.delete, id + "/offerings/override", nil, 201, "default"),
        (.post, second, #"{"offering_id": "sale"}"#, 200, "sale"),
        (.post, second, #"{"offering_id": "none"}"#, 404, "sale"),
        (.post, second, "{}", 400, "sale"),
        (.post, second, #"{"offering_id": null}"#, 200, "default"),
        (.post, id + "/offerings/default/override", nil, 201, "default"),
    ]

    @Test func `an override changes one customer's current offering until the override is deleted`()
        async throws
    {
        try await TestServer.run(Self.serve) { server in
            #expect(try await Self.current(server) == "default")
            for (method, path, body, status, current) in Self.table {
                let answer = try await server.send(
                    method, path, key: TestServer.secret, body: body)
                #expect(answer.status == status, "\(path) \(body ?? ""): \(answer.text)")
                #expect(try await Self.current(server) == current, "\(path) \(body ?? "")")
                #expect(
                    try await Self.current(server, "/v1/subscribers/ben/offerings") == "default")
            }
            let device = try await server.send(
                .post, Self.id + "/offerings/sale/override", key: Self.key)
            #expect(device.status == 403)
            // An id that nobody may have still gets offerings.
            #expect(try await Self.current(server, "/v1/subscribers/guest/offerings") == "default")
        }
    }

    @Test func `if proofs are required, a person gets their own offering only with a proof`()
        async throws
    {
        let proving: TestServer.Change = {
            Self.serve(&$0)
            $0.proof = .token(AppSecret("0123456789abcdef0123456789abcdef"))
        }
        try await TestServer.run(proving) { server in
            let device = CustomerID(rawValue: "$RCAnonymousID:0a1b2c3d4e5f60718293a4b5c6d7e8f9")
            for id in [device, "anna"] {
                let path = "/v1/subscribers/\(id)/offerings/sale/override"
                    .replacing(":", with: "%3A")
                #expect(try await server.send(.post, path, key: TestServer.secret).status == 201)
            }
            #expect(try await Self.current(server) == "default")
            let token = try RevenueCatToken(key: Self.key, id: device, proof: nil).text
            #expect(
                try await Self.current(server, "/v1/customer/offerings", key: token) == "sale")
        }
    }
}
