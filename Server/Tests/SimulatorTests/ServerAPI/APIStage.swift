import AppStoreFormats
import Crypto
import Foundation
import HTTPTypes
import Testing

@testable import Simulator

/// A bearer token as a client makes it.
struct Token {
    var header: [String: JSON] = [
        "alg": "ES256", "kid": .string(APIKey.wellKnown.id), "typ": "JWT",
    ]
    var claims: [String: JSON] = [
        "iss": .string(APIKey.wellKnown.issuerID), "aud": "appstoreconnect-v1",
        "bid": .string(ExampleShop.bundleID),
    ]
    var pem = APIKey.wellKnownPEM

    /// The claims of a token that is valid for five minutes, as in Apple's clients.
    init(at seconds: Int64 = Self.arrival) {
        claims["iat"] = .integer(seconds)
        claims["exp"] = .integer(seconds + 300)
    }

    /// 2026-11-21, the machine's time in these tests. It is long after the virtual time.
    static let arrival: Int64 = 1_795_240_800

    func signed() throws -> String {
        func segment(_ members: [String: JSON]) -> [UInt8] {
            Base64.url.encode(
                JSON.object(members.keys.sorted().map { .init($0, members[$0] ?? .null) }).bytes)
        }
        let text = segment(header) + [UInt8(ascii: ".")] + segment(claims)
        let key = try P256.Signing.PrivateKey(pemRepresentation: pem)
        let signature = try key.signature(for: text).rawRepresentation
        let all = text + [UInt8(ascii: ".")] + Base64.url.encode([UInt8](signature))
        return String(decoding: all, as: UTF8.self)
    }
}

/// A request in a short form: `GET v1/transactions/1`.
struct Ask: Sendable, CustomTestStringConvertible {
    var line: String
    var query: [(String, String)] = []
    var body: JSON?
    var environment = SimulatedEnvironment.production
    var root = APIEndpoint.inApps

    init(
        _ line: String, _ query: [(String, String)] = [], body: JSON? = nil,
        in environment: SimulatedEnvironment = .production
    ) {
        self.line = line
        self.query = query
        self.body = body
        self.environment = environment
    }

    var testDescription: String { line }

    func request() throws -> APIRequest {
        let words = line.split(separator: " ")
        var request = APIRequest(
            environment: environment,
            method: try require(HTTPRequest.Method(String(words[0])), "no method"), root: root,
            path: words[1].split(separator: "/").map(String.init), query: query,
            arrived: AppStoreDate(milliseconds: Token.arrival * 1000))
        request.authorization = "Bearer " + (try Token().signed())
        request.body = body?.bytes ?? []
        return request
    }
}

extension Stage {
    func answer(_ ask: Ask) async throws -> APIResponse {
        try await simulator.process(ask.request())
    }

    /// The body of a response, which must have the status 200.
    func json(_ ask: Ask) async throws -> JSON {
        let answer = try await answer(ask)
        guard answer.status == 200 else {
            throw Missing(description: "\(ask.line): \(answer.status) \(answer.body?.text ?? "")")
        }
        return answer.body ?? .object([])
    }

    /// The status and the error number of a response.
    func refusal(_ ask: Ask) async throws -> Refused {
        let answer = try await answer(ask)
        return Refused(answer.status, answer.body?["errorCode"]?.integer)
    }

    /// The transactions of a response.
    func transactions(_ json: JSON) throws -> [TransactionPayload] {
        try (json["signedTransactions"]?.array ?? []).map { signed in
            try decode(TransactionPayload.self, require(signed.string, "no text"))
        }
    }
}

struct Refused: Hashable {
    let status: Int
    let code: Int64?

    init(_ status: Int, _ code: Int64?) {
        self.status = status
        self.code = code
    }
}
