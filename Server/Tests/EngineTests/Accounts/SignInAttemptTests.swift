import Ledger
import Testing

@testable import Engine

@Suite struct SignInAttemptTests {
    @Test func `a wrong password and an unknown name get the same answers`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        for name in ["mira", "nobody"] {
            var results: [SignInResult] = []
            for _ in 1...6 {
                results.append(try await engine.signIn(name, "wrong password", from: "\(name)"))
            }
            #expect(
                results
                    == (1...4).map { SignInResult.wrong(triesLeft: 5 - $0) }
                    + [Self.shut(.nameFromAddress), Self.shut(.nameFromAddress)], "\(name)")
        }
        // Neither the right password nor a restart opens the sign-in again; only time does.
        let restarted = try await stage.engine()
        for engine in [engine, restarted] {
            #expect(
                try await engine.signIn("mira", from: "mira") == Self.shut(.nameFromAddress))
        }
        stage.pass(SessionService.shutFor)
        _ = try await restarted.signIn("mira", from: "mira")
        let counted = try await engine.signIn("mira", "x", from: "mira")
        #expect(counted == .wrong(triesLeft: 4), "counted anew")
    }

    private static func shut(_ limit: SignInLimit) -> SignInResult {
        .shut(until: OperatorStage.start + SessionService.shutFor, by: limit)
    }

    @Test func `an operator can sign in after a stranger has tried wrong passwords for half a day`()
        async throws
    {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        // In half a day, one address has no more tries than these.
        for _ in 0..<720 {
            for _ in 1...6 { _ = try await engine.signIn("mira", "wrong", from: "198.51.100.1") }
            stage.pass(SessionService.shutFor)
        }
        _ = try await engine.sessionToken(of: "mira")
    }

    @Test
    func `after many wrong passwords for a name, all addresses together get one try per pause`()
        async throws
    {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        func tries(_ count: Int, from start: Int = 0) async throws -> Int {
            var counted = 0
            for number in start..<start + count {
                let result = try await engine.signIn("mira", "wrong", from: "address\(number)")
                if case .wrong = result { counted += 1 }
            }
            return counted
        }
        #expect(try await tries(SessionService.triesOfName + 20) == SessionService.triesOfName)
        let until = OperatorStage.start + SessionService.pauseOfName
        #expect(
            try await engine.signIn("mira", from: "elsewhere") == .shut(until: until, by: .name))
        stage.pass(SessionService.pauseOfName)
        #expect(try await tries(1) == 1)
        // In an hour, one try is allowed after each pause, however many addresses try.
        var counted = 0
        for minute in 1...60 {
            stage.pass(.seconds(60))
            counted += try await tries(20, from: minute * 1_000)
        }
        #expect((360...361).contains(counted), "\(counted)")
    }

    @Test
    func `an operator can sign in at a recent address despite wrong tries from other addresses`()
        async throws
    {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        func flood() async throws {
            for number in 0..<SessionService.triesOfName + 1 {
                _ = try await engine.signIn("mira", "wrong", from: "address\(number)")
            }
        }
        // Mira has used her link at this address. Now she signs in there.
        try await flood()
        _ = try await engine.sessionToken(of: "mira")
        // Nobody else has signed in from this address.
        #expect(try await engine.signIn("ben", "x") == .wrong(triesLeft: 4))
        try await flood()
        // Even from a known address, five wrong tries are the limit.
        for left in [4, 3, 2, 1] {
            #expect(try await engine.signIn("mira", "wrong") == .wrong(triesLeft: left))
        }
        guard case .shut(_, .nameFromAddress) = try await engine.signIn("mira", "wrong") else {
            Issue.record("A known place has more tries than others.")
            return
        }
        // An address does not stay known for ever.
        stage.pass(SessionService.placesLast + .seconds(1))
        try await flood()
        guard case .shut(_, .name) = try await engine.signIn("mira") else {
            Issue.record("A place is still known.")
            return
        }
    }

    @Test func `an operator can sign in while strangers use all threads for checking passwords`()
        async throws
    {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        let places = try (0..<PasswordThreads.placesMax).map {
            try engine.context.passwords.reserve(for: "network \($0)")
        }
        await #expect(throws: EngineFailure.busy) {
            try await engine.signIn("mira", from: "elsewhere")
        }
        _ = try await engine.sessionToken(of: "mira")
        withExtendedLifetime(places) {}
    }

    @Test func `a sign-in that finds no free thread is not counted as a try`() async throws {
        let stage = try OperatorStage()
        let (engine, session) = try await stage.withMira()
        let network = OperatorStage.place.network
        var places: [PasswordThreads.Place] = []
        for _ in 0..<PasswordThreads.placesOfNetworkMax {
            places.append(try engine.context.passwords.reserve(for: network))
        }
        for _ in 1...10 {
            await #expect(throws: EngineFailure.busy) { try await engine.signIn("mira", "x") }
            await #expect(throws: EngineFailure.busy) {
                try await engine.sessions.changePassword(
                    of: "mira", from: "x", to: "another password", keeping: session,
                    at: OperatorStage.place)
            }
        }
        // Other networks are not affected.
        #expect(try await engine.signIn("mira", "x", from: "a") == .wrong(triesLeft: 4))
        for place in places {
            place.release()
            place.release()
        }
        #expect(try await engine.signIn("mira", "x") == .wrong(triesLeft: 4))
    }

    @Test
    func `threads for password checks are reserved up to the limit, and are reused`()
        throws
    {
        let threads = PasswordThreads()
        for _ in 1...2 {
            var places: [PasswordThreads.Place] = []
            for number in 0..<PasswordThreads.placesMax {
                places.append(try threads.reserve(for: "network \(number)"))
            }
            #expect(throws: EngineFailure.busy) { try threads.reserve(for: "another") }
            places = []
        }
    }

    @Test func `one address cannot try to sign in with many names`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        for number in 1...SessionService.triesFromAddress {
            _ = try await engine.signIn("name\(number)", "wrong", from: "198.51.100.1")
        }
        #expect(try await engine.signIn("mira", from: "198.51.100.1") == Self.shut(.address))
        _ = try await engine.sessionToken(of: "mira")
    }

    @Test func `concurrent sign-in attempts are limited like successive ones`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 1...20 {
                group.addTask {
                    while true {
                        do {
                            let result = try await engine.signIn("mira", "wrong")
                            if case .wrong = result { return true }
                            return false
                        } catch EngineFailure.busy { await Task.yield() }
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wrong == SessionService.triesOfNameFromAddress - 1)
    }
}
