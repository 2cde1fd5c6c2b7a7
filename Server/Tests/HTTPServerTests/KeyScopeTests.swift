import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

@Suite struct KeyScopeTests {
    private static func path(of route: Route) -> String {
        route.path.replacing(/\{\w+\}/, with: "x")
    }

    @Test func `on every route, a secret key may do only what its scopes allow`() async throws {
        var streams = EventStreamLimits()
        streams.lifeMax = .zero
        try await TestServer.run(streams: streams) { server in
            for scope in KeyScope.allCases {
                let key = "sk_\(scope.rawValue)"
                try await server.engine.keys.add(
                    key: key, app: "birds", kind: .secret, name: "", scopes: [scope])
            }
            let routes = PerennialServer(engine: server.engine, logger: .init(label: "test")).routes
            for route in routes {
                guard let needed = route.operation.scope else { continue }
                for scope in KeyScope.allCases {
                    let answer = try await server.send(
                        route.method, Self.path(of: route), key: "sk_\(scope.rawValue)",
                        body: route.method == .get ? nil : "{}")
                    let isRefused = (try? answer.problem)?.code == .keyScopeMissing
                    #expect(
                        isRefused == ![needed, .admin].contains(scope),
                        "\(scope) at \(route.method) \(route.path)")
                    if isRefused { #expect(answer.status == 403) }
                }
            }
        }
    }

    @Test func `an operation has a scope if it needs a key, and no scope otherwise`()
        async throws
    {
        try await TestServer.run { server in
            let routes = PerennialServer(engine: server.engine, logger: .init(label: "test")).routes
            for route in routes {
                let isOpen = if case .everyone = route.operation.access { true } else { false }
                #expect((route.operation.scope == nil) == isOpen, "\(route.path)")
            }
        }
    }

    @Test func `if a scope is missing, the problem names that scope and the scopes of the key`()
        async throws
    {
        try await TestServer.run { server in
            try await server.engine.keys.add(
                key: "sk_few", app: "birds", kind: .secret, name: "", scopes: [.money, .support])
            let problem = try await server.send(.get, Paths.events, key: "sk_few").problem
            #expect(problem.detail == "This needs the scope read. The key has: support,money.")
            #expect(problem.remedy.contains("perennial keys create --scope read"))
        }
    }

    @Test func `a key is refused as soon as it expires`() async throws {
        try await TestServer.run { server in
            let ends = [("sk_ended", 0), ("sk_ending", 1)] as [(String, Int64)]
            for (key, later) in ends {
                try await server.engine.keys.add(
                    key: key, app: "birds", kind: .secret, name: "",
                    until: Instant(milliseconds: TestServer.now.milliseconds + later))
            }
            let ended = try await server.send(.get, Paths.events, key: "sk_ended")
            #expect(ended.status == 401)
            #expect(try ended.problem.code == .keyExpired)
            #expect(try ended.problem.detail == "It expired at \(TestServer.now.minute).")
            let ending = try await server.send(.get, Paths.events, key: "sk_ending")
            #expect(ending.status == 200)
        }
    }

    @Test func `the last use of a key is stored with a delay, and at most once an hour`()
        async throws
    {
        try await TestServer.run { server in
            let http = PerennialServer(engine: server.engine, logger: .init(label: "test"))
            _ = try await http.keys.holder(of: TestServer.secret, in: server.engine)
            let before = try await server.engine.keys.holder(TestServer.secret)
            #expect(before?.lastUsedAt == nil)
            try await http.recordKeyUses()
            let after = try await server.engine.keys.holder(TestServer.secret)
            #expect(after?.lastUsedAt == TestServer.now)
            let other = KeyCache()
            _ = try await other.holder(of: TestServer.secret, in: server.engine)
            #expect(other.drainUses().isEmpty)
        }
    }

    @Test func `docs/api.md lists every operation with its scope`() async throws {
        try await TestServer.run { server in
            let routes = PerennialServer(engine: server.engine, logger: .init(label: "test")).routes
            var scopes: [String: Set<String>] = [:]
            for route in routes {
                guard let scope = route.operation.scope else { continue }
                scopes[scope.rawValue, default: []].insert(route.operation.id)
            }
            var documented: [String: Set<String>] = [:]
            for cells in try Page.table("| scope | operations |", of: "api.md") {
                let scope = try #require(Page.words(in: cells[0]).first)
                documented[scope] = Set(Page.words(in: cells[1]))
            }
            #expect(documented == scopes)
        }
    }
}
