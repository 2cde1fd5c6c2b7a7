import Ledger
import Storage
import Testing

@testable import Engine

@Suite struct OperatorTests {
    @Test func `a first-account link creates one admin and ends all such links`() async throws {
        let stage = try OperatorStage()
        let engine = try await stage.engine()
        let (one, other) = (
            try #require(try await engine.operators.firstLink()),
            try #require(try await engine.operators.firstLink())
        )
        #expect(try await engine.operators.link(token: one)?.kind == .first)
        _ = try await engine.operators.accept(
            linkToken: one, name: " Mira ", password: OperatorStage.password,
            from: OperatorStage.place)
        let mira = try await engine.operators.named("mira")
        #expect(mira.roles.manageOperators)
        for link in [one, other] {
            #expect(try await engine.operators.link(token: link) == nil)
            await #expect(throws: EngineFailure.unknownLink) {
                try await engine.operators.accept(
                    linkToken: link, name: "eve", password: OperatorStage.password,
                    from: OperatorStage.place)
            }
        }
        #expect(try await engine.operators.firstLink() == nil)
        #expect(try await engine.operators.all().map(\.name) == ["mira"])
    }

    @Test func `an invitation sets the operator's name and roles, and expires`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        let roles = OperatorRoles(byApp: ["bees": .support])
        let former = try await engine.operators.invite("ben", as: roles, by: "mira")
        let link = try await engine.operators.invite("ben", as: roles, by: "mira")
        #expect(try await engine.operators.link(token: former) == nil, "a new one takes its place")
        #expect(try await engine.operators.links().map(\.operatorName) == ["ben"])
        _ = try await engine.operators.accept(
            linkToken: link, name: "eve", password: OperatorStage.password,
            from: OperatorStage.place)
        #expect(try await engine.operators.named("ben").roles == roles)
        let late = try await engine.operators.invite("cleo", as: roles, by: "mira")
        stage.pass(OperatorSettings.linkLifetime)
        #expect(try await engine.operators.link(token: late) == nil)
        for name in ["ben", "", "b en", "-ben", String(repeating: "b", count: 65)] {
            await #expect(throws: EngineFailure.self, "\(name)") {
                try await engine.operators.invite(name, as: roles, by: "mira")
            }
        }
        await #expect(throws: EngineFailure.unknownApp("cats")) {
            try await engine.operators.invite(
                "dan", as: OperatorRoles(byApp: ["cats": .viewer]), by: "mira")
        }
    }

    @Test func `a reset of the password ends every session of the operator`() async throws {
        let stage = try OperatorStage()
        let (engine, session) = try await stage.withMira()
        let link = try await engine.operators.resetLink(for: "MIRA", by: "x")
        #expect(try await engine.sessions.signedInOperator(token: session) != nil)
        let other = try await engine.sessionToken(byLink: link, "another password")
        #expect(try await engine.sessions.signedInOperator(token: session) == nil)
        #expect(try await engine.sessions.signedInOperator(token: other)?.account.name == "mira")
        #expect(try await engine.signIn("mira") == .wrong(triesLeft: 4))
    }

    @Test(arguments: ["short", "mira.long.name", "aaaaaaaaaaaaaaaa"])
    func `a password that can be guessed is refused`(password: String) async throws {
        let stage = try OperatorStage()
        let engine = try await stage.engine()
        let link = try #require(try await engine.operators.firstLink())
        await #expect(throws: EngineFailure.self) {
            try await engine.operators.accept(
                linkToken: link, name: "mira.long.name", password: password,
                from: OperatorStage.place)
        }
        #expect(try await engine.operators.link(token: link) != nil, "it was not used up")
    }

    @Test func `an idle session ends, and any session ends after fourteen days`() async throws {
        let stage = try OperatorStage()
        let (engine, session) = try await stage.withMira()
        let idle = engine.sessions.operatorSettings.idle
        stage.pass(idle - .seconds(1))
        #expect(try await engine.sessions.signedInOperator(token: session) != nil)
        stage.pass(idle - .seconds(1))
        #expect(try await engine.sessions.signedInOperator(token: session) != nil, "it was used")
        stage.pass(idle - .seconds(1))
        let looked = try await engine.sessions.signedInOperator(token: session, isUse: false)
        #expect(looked != nil, "a page that is left open is no use")
        stage.pass(.seconds(1))
        #expect(try await engine.sessions.signedInOperator(token: session) == nil)
        let other = try await engine.sessionToken(of: "mira")
        for _ in 1..<28 {
            stage.pass(.hours(12) - .seconds(1))
            #expect(try await engine.sessions.signedInOperator(token: other) != nil)
        }
        stage.pass(.hours(11) + .seconds(59 * 60 + 59))
        #expect(try await engine.sessions.signedInOperator(token: other) != nil)
        stage.pass(.seconds(60))
        #expect(try await engine.sessions.signedInOperator(token: other) == nil, "fourteen days")
    }

    @Test func `an operator can sign out of one session or of all sessions`() async throws {
        let stage = try OperatorStage()
        let (engine, first) = try await stage.withMira()
        let (second, third) = (
            try await engine.sessionToken(of: "mira"), try await engine.sessionToken(of: "mira")
        )
        try await engine.sessions.signOut(token: first)
        #expect(try await engine.sessions.signedInOperator(token: first) == nil)
        #expect(try await engine.sessions.all(of: "mira").count == 2)
        try await engine.sessions.signOutEverywhere("mira", except: third, by: "mira")
        #expect(try await engine.sessions.signedInOperator(token: second) == nil)
        #expect(try await engine.sessions.signedInOperator(token: third) != nil)
        try await engine.sessions.signOutEverywhere("mira", by: "mira")
        #expect(try await engine.sessions.signedInOperator(token: third) == nil)
        #expect(try await engine.sessions.signedInOperator(token: "") == nil)
    }

    @Test func `a changed password ends the operator's other sessions`() async throws {
        let stage = try OperatorStage()
        let (engine, session) = try await stage.withMira()
        let other = try await engine.sessionToken(of: "mira")
        func change(from former: String) async throws -> SignInResult? {
            try await engine.sessions.changePassword(
                of: "mira", from: former, to: "another password", keeping: session,
                at: OperatorStage.place)
        }
        #expect(try await change(from: "wrong") == .wrong(triesLeft: 4))
        #expect(try await change(from: OperatorStage.password) == nil)
        #expect(try await engine.sessions.signedInOperator(token: session) != nil)
        #expect(try await engine.sessions.signedInOperator(token: other) == nil)
        #expect(try await engine.signIn("mira") == .wrong(triesLeft: 4))
    }

    // MARK: - Roles and blocks

    @Test func `an operator cannot sign in or use a session while blocked`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        let link = try await engine.operators.invite(
            "ben", as: OperatorRoles(everywhere: .support), by: "mira")
        let session = try await engine.sessionToken(byLink: link)
        try await engine.operators.setBlock(true, of: "ben", by: "mira")
        #expect(try await engine.sessions.signedInOperator(token: session) == nil)
        #expect(try await engine.operators.active("ben") == nil)
        #expect(try await engine.signIn("ben") == .wrong(triesLeft: 4))
        try await engine.operators.setBlock(false, of: "ben", by: "mira")
        _ = try await engine.sessionToken(of: "ben")
    }

    @Test(arguments: [true, false])
    func `links created by a blocked or demoted operator become invalid`(isBlocked: Bool)
        async throws
    {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        let link = try await engine.operators.invite(
            "ben", as: OperatorRoles(everywhere: .admin), by: "mira")
        _ = try await engine.operators.accept(
            linkToken: link, name: "", password: OperatorStage.password, from: OperatorStage.place)
        let reset = try await engine.operators.resetLink(for: "mira", by: "ben")
        let other = try await engine.operators.invite(
            "eve", as: OperatorRoles(everywhere: .admin), by: "ben")
        if isBlocked {
            try await engine.operators.setBlock(true, of: "ben", by: "mira")
        } else {
            try await engine.operators.setRoles(
                of: "ben", to: OperatorRoles(everywhere: .support), by: "mira")
        }
        for token in [reset, other] {
            #expect(try await engine.operators.link(token: token) == nil)
        }
        #expect(try await engine.operators.proxied("eve") == nil)
    }

    @Test(arguments: [true, false])
    func `blocked or demoted operators cannot change accounts`(isBlocked: Bool) async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        let admin = OperatorRoles(everywhere: .admin)
        let link = try await engine.operators.invite("ben", as: admin, by: "mira")
        _ = try await engine.operators.accept(
            linkToken: link, name: "", password: OperatorStage.password, from: OperatorStage.place)
        _ = try await engine.operators.invite("cleo", as: admin, by: "mira")
        if isBlocked {
            try await engine.operators.setBlock(true, of: "ben", by: "mira")
        } else {
            try await engine.operators.setRoles(
                of: "ben", to: OperatorRoles(byApp: ["bees": .admin]), by: "mira")
        }
        // The acts run as if the page had read ben's roles before they changed.
        let acts: [(String, () async throws -> Void)] = [
            ("invite", { _ = try await engine.operators.invite("eve", as: admin, by: "ben") }),
            ("reset link", { _ = try await engine.operators.resetLink(for: "mira", by: "ben") }),
            ("roles", { try await engine.operators.setRoles(of: "mira", to: admin, by: "ben") }),
            ("block", { try await engine.operators.setBlock(true, of: "mira", by: "ben") }),
            ("unblock", { try await engine.operators.setBlock(false, of: "ben", by: "ben") }),
            ("withdraw", { try await engine.operators.withdrawLinks(for: "cleo", by: "ben") }),
            ("sign out", { try await engine.sessions.signOutEverywhere("mira", by: "ben") }),
        ]
        for (name, act) in acts {
            await #expect(throws: EngineFailure.notManager("ben"), "\(name)") {
                try await act()
            }
        }
        #expect(try await engine.operators.links().map(\.operatorName) == ["cleo"])
        #expect(try await engine.sessions.all(of: "mira").count == 1)
    }

    /// The ways in which an operator ends another person's access to the operator's session.
    enum Rescue: CaseIterable, Sendable {
        case password, reset, signOut, signOutOthers
    }

    @Test(arguments: Rescue.allCases)
    func `a new password, or signing out elsewhere, ends links that the operator made or got`(
        rescue: Rescue
    ) async throws {
        let stage = try OperatorStage()
        let (engine, session) = try await stage.withMira()
        let admin = OperatorRoles(everywhere: .admin)
        let first = try await engine.operators.invite("ben", as: admin, by: "mira")
        _ = try await engine.operators.accept(
            linkToken: first, name: "", password: OperatorStage.password, from: OperatorStage.place)
        let others = try await engine.operators.invite("dan", as: admin, by: "ben")
        let bad = [
            try await engine.operators.resetLink(for: "ben", by: "mira"),
            try await engine.operators.invite("eve", as: admin, by: "mira"),
            try await engine.operators.resetLink(for: "mira", by: "ben"),
        ]
        switch rescue {
        case .password:
            let refusal = try await engine.sessions.changePassword(
                of: "mira", from: OperatorStage.password, to: "another password",
                keeping: session, at: OperatorStage.place)
            #expect(refusal == nil)
        case .reset:
            _ = try await engine.operators.accept(
                linkToken: try await engine.operators.resetLink(
                    for: "mira", by: "perennial operators"),
                name: "", password: "another password", from: OperatorStage.place)
        case .signOut: try await engine.sessions.signOutEverywhere("mira", by: "mira")
        case .signOutOthers:
            try await engine.sessions.signOutEverywhere("mira", except: session, by: "mira")
        }
        for token in bad { #expect(try await engine.operators.link(token: token) == nil) }
        #expect(try await engine.operators.link(token: others) != nil, "of somebody else")
    }

    @Test func `first-account links, invitations and reset links can be withdrawn`() async throws {
        let stage = try OperatorStage()
        let empty = try await stage.engine()
        let first = try #require(try await empty.operators.firstLink())
        #expect(try await empty.operators.withdrawLinks(for: nil, by: "test"))
        #expect(try await empty.operators.link(token: first) == nil)
        let (engine, _) = try await stage.withMira()
        let links = [
            "Mira": try await engine.operators.resetLink(for: "mira", by: "mira"),
            "ben": try await engine.operators.invite(
                "ben", as: OperatorRoles(everywhere: .viewer), by: "x"),
        ]
        #expect(try await engine.operators.links().count == 2)
        for (name, token) in links {
            #expect(try await engine.operators.withdrawLinks(for: name, by: "mira"))
            #expect(try await engine.operators.link(token: token) == nil)
            #expect(try await !engine.operators.withdrawLinks(for: name, by: "mira"))
        }
    }

    @Test func `the password of a blocked operator cannot be reset`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        let invitation = try await engine.operators.invite(
            "ben", as: OperatorRoles(everywhere: .viewer), by: "mira")
        _ = try await engine.operators.accept(
            linkToken: invitation, name: "", password: OperatorStage.password,
            from: OperatorStage.place)
        try await engine.operators.setBlock(true, of: "ben", by: "mira")
        await #expect(
            throws: EngineFailure.invalidOperator("ben is blocked. Lift the block first.")
        ) {
            try await engine.operators.resetLink(for: "ben", by: "mira")
        }
        // A restored backup could contain a link that resets the password of a blocked operator.
        let token = SessionService.newToken()
        let link = OperatorLink(
            hash: SessionService.hash(ofToken: token), kind: .reset, operatorName: "ben",
            roles: OperatorRoles(),
            author: "mira", createdAt: OperatorStage.start, until: OperatorStage.start + .hours(1))
        try await engine.context.transaction { tx in try tx.operatorLinks.add(link) }
        await #expect(throws: EngineFailure.unknownLink) {
            try await engine.operators.accept(
                linkToken: token, name: "", password: "another password",
                from: OperatorStage.place)
        }
        #expect(try await engine.sessions.all(of: "ben").isEmpty)
    }

    @Test func `operator names that only look alike belong to different operators`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        let roles = OperatorRoles(everywhere: .admin)
        _ = try await engine.operators.invite("kim", as: roles, by: "mira")
        // The Kelvin sign: its lower-case form is k.
        #expect(try await engine.operators.proxied("\u{212A}im") == nil)
        #expect(try await engine.operators.proxied("Kim")?.name == "kim")
    }

    @Test func `the last manager of operators cannot be blocked or demoted`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        await #expect(throws: EngineFailure.self) {
            try await engine.operators.setBlock(true, of: "mira", by: "mira")
        }
        await #expect(throws: EngineFailure.self) {
            try await engine.operators.setRoles(
                of: "mira", to: OperatorRoles(byApp: ["bees": .admin]), by: "mira")
        }
        #expect(try await engine.operators.named("mira").roles.manageOperators)
        #expect(try await engine.operators.active("mira") != nil)
        await #expect(throws: EngineFailure.unknownOperator("ben")) {
            try await engine.operators.setBlock(true, of: "ben", by: "mira")
        }
    }

    // MARK: - Audit and tokens

    @Test func `changes to accounts are recorded with their author`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        stage.pass(.seconds(1))
        _ = try await engine.operators.invite(
            "ben", as: OperatorRoles(byApp: ["bees": .viewer]), by: "mira")
        stage.pass(.seconds(1))
        _ = try await engine.sessionToken(of: "mira")
        let page = try await engine.audit.page(of: nil, limit: 2)
        #expect(page.entries.map(\.act) == ["session.sign_in", "operators.invite"])
        #expect(page.entries.map(\.author) == ["mira", "mira"])
        #expect(page.entries.last?.subject == "ben")
        #expect(page.entries.last?.stateAfter == ["roles": "bees=viewer"])
        let next = try #require(page.next)
        #expect(RecordedAct.Position(next.description) == next)
        let rest = try await engine.audit.page(of: nil, before: next, limit: 2)
        #expect(rest.entries.map(\.act) == ["operators.accept"] && rest.next == nil)
        #expect(try await engine.audit.page(of: "bees", limit: 2).entries.isEmpty)
    }

    @Test func `an action that is repeated without effect has only one audit entry`() async throws {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        let roles = OperatorRoles(everywhere: .viewer)
        let link = try await engine.operators.invite("ben", as: roles, by: "mira")
        _ = try await engine.operators.accept(
            linkToken: link, name: "", password: OperatorStage.password, from: OperatorStage.place)
        let before = try await engine.audit.page(of: nil, limit: 100).entries.count
        let support = OperatorRoles(everywhere: .support)
        for _ in 1...2 {
            stage.pass(.seconds(1))
            try await engine.operators.withdrawLinks(for: "nobody-at-all", by: "mira")
            try await engine.operators.setRoles(of: "ben", to: support, by: "mira")
            stage.pass(.seconds(1))
            try await engine.sessions.signOutEverywhere("ben", by: "mira")
        }
        for isBlocked in [true, true, false, false] {
            stage.pass(.seconds(1))
            try await engine.operators.setBlock(isBlocked, of: "ben", by: "mira")
        }
        let entries = try await engine.audit.page(of: nil, limit: 100).entries
        let acts = entries.dropLast(before).map(\.act)
        #expect(
            acts == [
                "operators.unblock", "operators.block", "operators.sign_out", "operators.roles",
            ])
        #expect(entries.first { $0.act == "operators.roles" }?.stateBefore == ["roles": "*=viewer"])
    }

    @Test func `a form token is valid for one session and one app`() async throws {
        let stage = try OperatorStage()
        let engine = try await stage.engine()
        let tokens: Set<String> = [
            SessionService.formToken(ofSession: "a", app: "bees"),
            SessionService.formToken(ofSession: "a", app: "birds"),
            SessionService.formToken(ofSession: "b", app: "bees"),
            try await engine.sessions.formToken(ofProxied: "a", app: "bees"),
            try await engine.sessions.formToken(ofProxied: "b", app: "bees"),
        ]
        #expect(tokens.count == 5)
        let other = try await stage.engine()
        let again = try await other.sessions.formToken(ofProxied: "a", app: "bees")
        #expect(tokens.contains(again), "all servers of a database make the same")
    }
}
