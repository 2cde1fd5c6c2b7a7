#if os(Linux)
    import AppStoreFormats
    import Eventually
    import Foundation
    import Testing

    /// The size of a request limits the cost of its response. No small request keeps the processor
    /// busy, whoever sends it. No response costs more because other customers have bought more.
    @Suite(.serialized) struct RouteCostStories {
        /// The highest allowed cost of a request of some hundred bytes, in a debug build, which is
        /// several times slower than a release build.
        private static let small = Duration.milliseconds(300)
        /// The highest allowed cost of a body of a megabyte from a client without a key.
        private static let large = Duration.milliseconds(250)
        /// The highest allowed cost of a page of the dashboard. In this story everybody may open
        /// the dashboard, but otherwise only operators may.
        private static let page = Duration.seconds(1)
        private static let times = 1
        /// How often a cost above the limit is measured again. The same work takes longer on a busy
        /// machine.
        private static let timesAgain = 10
        /// The number of customers at the first and at the second measurement. Even the first
        /// number fills more than a page of a list.
        private static let crowds = (first: 60, then: 240)
        /// The highest allowed growth of a response's cost from the first to the second
        /// measurement.
        private static let growthMax = 3.0

        /// Routes that intentionally read all purchases of an app, each with the reason why this
        /// cost is limited.
        private static let readsAll = [
            "/v1/configuration/preview": "it looks at customers for at most some seconds"
        ]

        // MARK: - Measure

        /// The processor time that the program has used so far.
        private static func used(by dev: DevelopmentProgram) throws -> Duration {
            var clock = clockid_t()
            var time = timespec()
            try #require(clock_getcpuclockid(dev.process, &clock) == 0)
            try #require(clock_gettime(clock, &time) == 0)
            return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
        }

        /// The cost of a request. The cost is the minimum of several measurements, because the
        /// program also does other work.
        private static func cost(
            in dev: DevelopmentProgram, _ ask: () async throws -> Void
        ) async throws -> Duration {
            try await ask()
            var least = Duration.seconds(1_000)
            for _ in 0..<times {
                let before = try used(by: dev)
                try await ask()
                least = min(least, try used(by: dev) - before)
            }
            return least
        }

        private struct Question: Hashable {
            var method: String
            var path: String
            var key: String?
            var body: String?
            var pattern: String

            var name: String { "\(method) \(pattern) \(key ?? "without a key")" }

            func ask(_ wire: Wire) async throws {
                var headers = ["Content-Type": "application/json", "Accept": "text/html, */*"]
                if let key { headers["Authorization"] = "Bearer \(key)" }
                _ = try await wire.send(
                    method, path, body: body.map { Array($0.utf8) }, headers: headers)
            }
        }

        private static let values = [
            "id": "anna", "alias": "x", "currency": "seeds", "content_id": "2025-12",
            "original_transaction_id": "1", "transfer_id": "trf_1", "grant_id": "grt_1",
            "webhook_id": "w", "delivery_id": "d", "report": "mrr", "name": "mrr",
            "document_id": String(repeating: "0", count: 64),
        ]

        private static let pages = [
            "/", "/customers", "/customers/anna", "/customers?query=anna", "/events",
            "/notifications", "/notifications/forwarded", "/webhooks", "/products", "/checks",
            "/charts/mrr", "/charts/revenue", "/reports", "/phone", "/operators", "/audit",
            "/account", "/rehearsal",
            "/login", "/nowhere",
        ]

        /// Every route, without a key and with each kind of key, and every page.
        private static func questions(of dev: DevelopmentProgram) async throws -> [Question] {
            let description = try await dev.server.get("/openapi.json")
            var all = pages.map { Question(method: "GET", path: $0, pattern: $0) }
            for path in try #require(description["paths"]?.members) {
                var real = path.key
                for (name, value) in values { real = real.replacing("{\(name)}", with: value) }
                if real.hasSuffix("/stream") { real += "?limit=1" }
                for operation in path.value.members ?? [] where operation.key != "delete" {
                    let body = operation.key == "get" ? nil : "{}"
                    for key in [nil, "pk_dev_birds", "sk_dev_birds"] {
                        all.append(
                            Question(
                                method: operation.key.uppercased(), path: real, key: key,
                                body: body, pattern: path.key))
                    }
                }
            }
            return all
        }

        private static func buy(_ account: String, in dev: DevelopmentProgram) async throws {
            try await dev.simulator.post("/_sim/devices", ["account": .string(account)])
            let bought = try await dev.simulator.post(
                "/_sim/devices/\(account)-1/purchases", ["product_id": "pro.monthly"])
            let body: JSON = [
                "customer_id": .string(account),
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ]
            let answer = try await dev.server.send(
                "POST", "/v1/purchases", body: body.bytes,
                headers: ["Authorization": "Bearer pk_dev_birds"])
            try #require(answer.status == 200)
        }

        private static func costs(
            of questions: [Question], in dev: DevelopmentProgram
        ) async throws -> [Question: Duration] {
            var costs: [Question: Duration] = [:]
            for question in questions {
                costs[question] = try await cost(in: dev) { try await question.ask(dev.server) }
            }
            return costs
        }

        /// The cost of a request after one measurement. If this cost is above a limit, the minimum
        /// of further measurements.
        private static func cost(
            of question: Question, in dev: DevelopmentProgram, _ first: Duration,
            _ limit: Duration
        ) async throws -> Duration {
            var least = first
            for _ in 0..<timesAgain where least > limit {
                least = min(
                    least, try await cost(in: dev) { try await question.ask(dev.server) })
            }
            return least
        }

        // MARK: - Claims

        @Test(.timeLimit(.minutes(30)))
        func `a small request to any route stays cheap when the number of customers grows`()
            async throws
        {
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let dev = try await DevelopmentProgram.start(in: folder)
            defer { dev.kill() }
            try await Self.buy("anna", in: dev)
            for number in 1..<Self.crowds.first { try await Self.buy("customer\(number)", in: dev) }
            let questions = try await Self.questions(of: dev)
            #expect(questions.count > 150)
            // The first measurement already has as many days as the second, because charts read the
            // sums of each day.
            try await dev.simulator.post("/_sim/clock", ["advance": "P95D"])
            let few = try await Self.costs(of: questions, in: dev)
            for number in Self.crowds.first..<Self.crowds.then {
                try await Self.buy("customer\(number)", in: dev)
            }
            let many = try await Self.costs(of: questions, in: dev)
            for (question, first) in many.sorted(by: { $0.value > $1.value }) {
                let before = Self.readsAll[question.pattern] == nil ? few[question] : nil
                let most = Self.pages.contains(question.pattern) ? Self.page : Self.small
                let limit = before.map { min(most, $0 * Self.growthMax + .milliseconds(5)) }
                let cost = try await Self.cost(of: question, in: dev, first, limit ?? most)
                #expect(cost <= most, "\(question.name): \(cost)")
                #expect(
                    cost <= limit ?? cost,
                    "\(question.name): \(before.map { "\($0)" } ?? ""), then \(cost)")
            }
        }

        @Test(.timeLimit(.minutes(10)))
        func `a large unsigned body causes little cost`() async throws {
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let dev = try await DevelopmentProgram.start(in: folder)
            defer { dev.kill() }
            let size = 1_000_000
            let bodies = [
                #"{"signedPayload":"\#(String(repeating: "A", count: size))"}"#,
                String(repeating: "[", count: size), String(repeating: #"{"a":"#, count: size / 5),
                #"{"receipt-data":"\#(String(repeating: "MIAA", count: size / 4))"}"#,
                "{" + (0..<size / 10).map { #""a\#($0)":1"# }.joined(separator: ",") + "}",
                String(repeating: "\\u0000", count: size / 6),
            ]
            for path in ["/apple/notifications", "/verifyReceipt", "/sandbox/verifyReceipt"] {
                for (number, body) in bodies.enumerated() {
                    let question = Question(
                        method: "POST", path: path, body: body, pattern: path)
                    let cost = try await Self.cost(in: dev) { try await question.ask(dev.server) }
                    #expect(cost <= Self.large, "\(path), body \(number): \(cost)")
                }
            }
        }
    }
#endif
