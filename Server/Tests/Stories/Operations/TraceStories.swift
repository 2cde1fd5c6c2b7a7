import AsyncHTTPClient
import Eventually
import Foundation
import OutgoingHTTP
import Testing
import Traces

@testable import Program

/// A trace leads from Apple's notification to the receiver of the webhook.
@Suite(.serialized) struct TraceStories {
    private static func configuration(
        _ receiver: Receiver, _ collector: Receiver, in folder: TemporaryFolder,
        percent: Int = 100
    ) throws -> String {
        try Data(webhookSecret.utf8).write(to: URL(filePath: folder.path + "/webhook.secret"))
        try Data("Bearer c0llector".utf8).write(to: URL(filePath: folder.path + "/bearer"))
        return """
                webhooks:
                  allow_private: [127.0.0.1]
                  endpoints:
                    - name: crm
                      url: \(receiver.url)
                      secret_file: webhook.secret
            traces:
              endpoint: \(collector.origin)
              authorization_file: bearer
              percent: \(percent)

            """
    }

    /// Whether a body of the collector has a field of bytes, as Protocol Buffers write it.
    private static func contains(
        _ bodies: [UInt8], _ field: UInt8, _ value: [UInt8]
    ) -> Bool {
        Data(bodies).range(of: Data([field << 3 | 2, UInt8(value.count)] + value)) != nil
    }

    @Test(.timeLimit(.minutes(5)))
    func `the webhook's receiver and the collector see one trace that the notification began`()
        async throws
    {
        // The first attempt fails, and the second one belongs to the same trace.
        let receiver = try Receiver(.status(503), .status(200))
        let collector = try Receiver()
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite,
                folder.path + "/birds.sqlite",
                more: try Self.configuration(receiver, collector, in: folder))
            let server = try await program.start()
            defer { server.kill() }
            _ = try await shop.buyMonth("anna")
            let notification = try #require(try await shop.notifications().first)
            for _ in 1...2 {
                let answer = try await server.wire.send(
                    "POST", "/apple/notifications", body: notification,
                    headers: ["Content-Type": "application/json"])
                #expect(answer.status == 200)
            }
            try await eventually("the first attempt", within: 60) { !receiver.heads.isEmpty }
            // The second attempt is due some time later, by the simulator's clock.
            try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
            try await eventually("two attempts to deliver", within: 60) {
                receiver.heads.count >= 2
            }
            let contexts = receiver.heads.compactMap { $0["traceparent"] }
                .compactMap { TraceContext(header: $0) }
            let first = try #require(contexts.first)
            #expect(contexts.count >= 2 && contexts.allSatisfy { $0.trace == first.trace })
            #expect(Set(contexts.map(\.span)).count == contexts.count, "each attempt is a span")

            let bodies: @Sendable () -> [UInt8] = { collector.arrivals.flatMap(\.body) }
            try await eventually("the spans", within: 60) {
                let bodies = bodies()
                return contexts.allSatisfy { Self.contains(bodies, 2, $0.span) }
                    && Data(bodies).range(of: Data("POST /apple/notifications".utf8)) != nil
            }
            let all = bodies()
            let traces = Data(all).count(of: Data([0x0A, 0x10] + first.trace))
            // The notification, its repeat, and the two attempts.
            #expect(traces >= 4, "\(traces) spans of the trace")
            for path in collector.arrivals.map(\.path) { #expect(path == "/v1/traces") }
            #expect(collector.heads.allSatisfy { $0["authorization"] == "Bearer c0llector" })
            #expect(collector.heads.allSatisfy { $0["content-type"] == "application/x-protobuf" })
            for secret in ["anna", "c0llector", "/v1/customers/nobody"] {
                #expect(Data(all).range(of: Data(secret.utf8)) == nil, "\(secret)")
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `while the collector is away, the server answers, and later spans arrive`() async throws {
        let receiver = try Receiver()
        let collector = try Receiver(.status(503))
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite,
                folder.path + "/birds.sqlite",
                more: try Self.configuration(receiver, collector, in: folder))
            let server = try await program.start()
            defer { server.kill() }
            var wire = server.wire
            wire.bearer = program.key
            _ = try await wire.get("/v1/customers/anna")
            try await eventually("an attempt to send", within: 60) {
                !collector.arrivals.isEmpty
            }
            collector.reply(.status(200))
            let refused = collector.arrivals.count
            _ = try await wire.get("/v1/customers/anna")
            try await eventually("later spans", within: 60) {
                collector.arrivals.count > refused
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `only a request with a secret key can decide that its trace is sent`() async throws {
        let (receiver, collector) = (try Receiver(), try Receiver())
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite,
                folder.path + "/birds.sqlite",
                more: try Self.configuration(receiver, collector, in: folder, percent: 1))
            let server = try await program.start()
            defer { server.kill() }
            // The share leaves out traces with these ids.
            let contexts = try ["aa", "bb"].map { digits in
                try #require(
                    TraceContext(
                        header: "00-\(String(repeating: digits, count: 16))-00f067aa0ba902b7-01"))
            }
            var wire = server.wire
            for (context, key) in zip(contexts, [nil, program.key]) {
                wire.bearer = key
                _ = try await wire.send(
                    "GET", "/v1/customers/anna",
                    headers: [TraceContext.headerName: context.header])
            }
            let bodies: @Sendable () -> [UInt8] = { collector.arrivals.flatMap(\.body) }
            try await eventually("the span of the secret key", within: 60) {
                Self.contains(bodies(), 1, contexts[1].trace)
            }
            #expect(!Self.contains(bodies(), 1, contexts[0].trace))
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `if a trace collector sends only headers, the request fails at the time limit`()
        async throws
    {
        let collector = try Receiver(.headOnly)
        try await HTTPClient.withHTTPClient { http in
            let sender = TraceSender(
                TraceSettings(endpoint: collector.origin), http, timeout: .milliseconds(200))
            await #expect(throws: ResponseFailure.self) {
                _ = try await sender.send(HTTPClientRequest(url: collector.url))
            }
            #expect(collector.arrivals.count == 1)
        }
    }
}

extension Data {
    /// How often another text occurs in this text.
    fileprivate func count(of part: Data) -> Int {
        var (count, place) = (0, startIndex)
        while let found = range(of: part, in: place..<endIndex) {
            count += 1
            place = found.upperBound
        }
        return count
    }
}
