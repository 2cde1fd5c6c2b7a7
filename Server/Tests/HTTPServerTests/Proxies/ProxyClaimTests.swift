import Engine
import Eventually
import Foundation
import Hummingbird
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// What docs/proxies.md says about each proxy, with the proxy's configuration in deploy/proxies.
@Suite struct ProxyClaimTests {
    static let installed = ProxyProgram.allCases.filter { $0.path != nil }

    private static let secret = "authorization: Bearer sk_test_birds"
    private static let appKey = "authorization: Bearer pk_test_birds"
    /// The path that returns the address from which a request comes, as the server sees it.
    private static let addressPath = "/test/address"

    /// Runs a server behind a proxy that the server trusts. The server's waits are short.
    private static func run(
        behind proxy: ProxyProgram,
        _ body: @escaping @Sendable (ListeningServer, Curl) async throws -> Void
    ) async throws {
        var streams = EventStreamLimits()
        streams.commentPause = .hours(1)
        var waits = WaitLimits()
        waits.holdMax = .seconds(1)
        let origin = try #require(PageOrigin(url: "https://store.example.com"))
        let access = DashboardAccess(
            for: origin, behind: TrustedProxy(addresses: ["127.0.0.1"]))
        let showsAddress: @Sendable (Router<ServerContext>) -> Void = { router in
            router.get(RouterPath(addressPath)) { request, context in
                let address = access.address(of: request, context)
                return Response(
                    status: .ok,
                    body: ResponseBody(byteBuffer: ByteBuffer(string: address)))
            }
        }
        try await ListeningServer.run(
            streams: streams, waits: waits, dashboard: access, additions: showsAddress
        ) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            try await proxy.run(before: server) { port in
                try await body(server, Curl(port: port))
            }
        }
    }

    @Test(arguments: installed)
    func `behind each proxy, answers, waits, ETags and client addresses are correct`(
        proxy: ProxyProgram
    ) async throws {
        try await Self.run(behind: proxy) { server, curl in
            #expect(try await curl.status("/health") == 200)
            for path in ["/metrics", "/metrics/", "/metrics?format=text"] {
                #expect(try await curl.status(path) == 404, "\(path)")
            }
            let slash = try await curl.answer("/v1/customers/a%2Fb", [Self.secret])
            #expect(slash.status == 200, "an id with a slash: \(slash.text)")

            let wait = try await curl.answer("/v1/events?wait=60", [Self.secret])
            #expect(wait.status == 200, "the wait ends first: \(wait.text)")

            let zip = "accept-encoding: gzip"
            let full = try await curl.answer("/v1/customers/anna", [Self.appKey, zip])
            #expect(full.status == 200)
            #expect(full.field("cache-control") == "no-store")
            let tag = try #require(full.field("etag"))
            let same = try await curl.answer(
                "/v1/customers/anna", [Self.appKey, zip, "if-none-match: \(tag)"])
            #expect(same.status == 304, "\(tag)")

            let page = try await curl.answer(Paths.openAPI, [zip])
            #expect(page.field("content-encoding") == "gzip", "\(page.text)")

            // The client has an address that is not the proxy's, and makes up another one.
            let address = try await curl.answer(
                Self.addressPath, ["x-forwarded-for: 192.0.2.7"], from: "127.0.0.2")
            #expect(address.body == "127.0.0.2", "\(address.text)")
        }
    }

    @Test(arguments: installed)
    func `a proxy does not cache private answers`(proxy: ProxyProgram) async throws {
        try await Self.run(behind: proxy) { server, curl in
            let path = "/v1/customers/anna"
            #expect(try await curl.status(path, [Self.appKey]) == 200)
            #expect(try await curl.status(path) == 401)
            #expect(try await curl.status(path, ["authorization: Bearer pk_other"]) == 401)
            _ = try await server.engine.grants.add(
                NewGrant(entitlement: "pro", reason: "sorry"), to: "anna", app: "birds",
                environment: .production)
            let changed = try await curl.answer(path, [Self.appKey])
            #expect(changed.body.contains(#""pro""#) && changed.field("age") ?? "0" == "0")
        }
    }
}

/// Requests through a proxy by `curl`.
struct Curl: Sendable {
    struct Answer: Sendable {
        var text: String
        var status: Int { Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0 }
        var body: String {
            text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? ""
        }

        /// The value of a header field. Nil if the response has no such field.
        func field(_ name: String) -> String? {
            text.split(separator: "\r\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
                .first { $0.lowercased().hasPrefix(name + ": ") }
                .map { String($0.dropFirst(name.count + 2)) }
        }
    }

    let port: Int

    /// - Parameter from: the client's own address.
    func answer(
        _ path: String, _ fields: [String] = [], from: String = "127.0.0.1"
    ) async throws -> Answer {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.arguments =
            ["--silent", "--include", "--max-time", "60", "--interface", from]
            + ["--resolve", "localhost:\(port):127.0.0.1"]
            + fields.flatMap { ["--header", $0] } + ["http://localhost:\(port)\(path)"]
        let bytes = try await process.output().bytes
        return Answer(text: String(decoding: bytes, as: UTF8.self))
    }

    func status(_ path: String, _ fields: [String] = []) async throws -> Int {
        try await answer(path, fields).status
    }
}
