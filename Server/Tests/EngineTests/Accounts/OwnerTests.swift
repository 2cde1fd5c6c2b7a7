import Ledger
import Storage
import Testing

@testable import Engine

@Suite struct OwnerTests {
    // MARK: - Links

    @Test func `the first link makes one admin, and works once`() async throws {
        let stage = try OwnerStage()
        let engine = try await stage.engine()
        let (one, other) = (
            try #require(try await engine.firstOwnerLink()),
            try #require(try await engine.firstOwnerLink())
        )
        #expect(try await engine.ownerLink(token: one)?.kind == .first)
        _ = try await engine.accept(
            linkToken: one, name: " Mira ", password: OwnerStage.password, from: OwnerStage.place)
        let mira = try await engine.owner("mira")
        #expect(mira.roles.manageOwners)
        for link in [one, other] {
            #expect(try await engine.ownerLink(token: link) == nil)
            await #expect(throws: EngineFailure.unknownLink) {
                try await engine.accept(
                    linkToken: link, name: "eve", password: OwnerStage.password,
                    from: OwnerStage.place)
            }
        }
        #expect(try await engine.firstOwnerLink() == nil)
        #expect(try await engine.owners().map(\.name) == ["mira"])
    }

    @Test func `an invitation has a name, roles and an end`() async throws {
        let stage = try OwnerStage()
        let (engine, _) = try await stage.withMira()
        let roles = OwnerRoles(byApp: ["bees": .support])
        let former = try await engine.invite("ben", as: roles, by: "mira")
        let link = try await engine.invite("ben", as: roles, by: "mira")
        #expect(try await engine.ownerLink(token: former) == nil, "a new one takes its place")
        #expect(try await engine.ownerLinks().map(\.owner) == ["ben"])
        _ = try await engine.accept(
            linkToken: link, name: "eve", password: OwnerStage.password, from: OwnerStage.place)
        #expect(try await engine.owner("ben").roles == roles)
        let late = try await engine.invite("cleo", as: roles, by: "mira")
        stage.pass(OwnerSettings.linkLifetime)
        #expect(try await engine.ownerLink(token: late) == nil)
        for name in ["ben", "", "b en", "-ben", String(repeating: "b", count: 65)] {
            await #expect(throws: EngineFailure.self, "\(name)") {
                try await engine.invite(name, as: roles, by: "mira")
            }
        }
        await #expect(throws: EngineFailure.unknownApp("cats")) {
            try await engine.invite("dan", as: OwnerRoles(byApp: ["cats": .viewer]), by: "mira")
        }
    }

    @Test func `a reset sets another password and ends every session`() async throws {
        let stage = try OwnerStage()
        let (engine, session) = try await stage.withMira()
        let link = try await engine.resetLink(for: "MIRA", by: "x")
        #expect(try await engine.signedInOwner(token: session) != nil)
        let other = try await engine.accept(
            linkToken: link, name: "", password: "another password", from: OwnerStage.place)
        #expect(try await engine.signedInOwner(token: session) == nil)
        #expect(try await engine.signedInOwner(token: other)?.owner.name == "mira")
        #expect(try await engine.signIn("mira") == .wrong(triesLeft: 4))
    }

    @Test(arguments: ["short", "mira.long.name", "aaaaaaaaaaaaaaaa"])
    func `a password that can be guessed is refused`(password: String) async throws {
        let stage = try OwnerStage()
        let engine = try await stage.engine()
        let link = try #require(try await engine.firstOwnerLink())
        await #expect(throws: EngineFailure.self) {
            try await engine.accept(
                linkToken: link, name: "mira.long.name", password: password,
                from: OwnerStage.place)
        }
        #expect(try await engine.ownerLink(token: link) != nil, "it was not used up")
    }

    // MARK: - Sessions

    @Test func `a session ends when it is idle, and some day in any case`() async throws {
        let stage = try OwnerStage()
        let (engine, session) = try await stage.withMira()
        let idle = engine.ownerSettings.idle
        stage.pass(idle - .seconds(1))
        #expect(try await engine.signedInOwner(token: session) != nil)
        stage.pass(idle - .seconds(1))
        #expect(try await engine.signedInOwner(token: session) != nil, "it was used")
        stage.pass(idle - .seconds(1))
        let looked = try await engine.signedInOwner(token: session, isUse: false)
        #expect(looked != nil, "a page that is left open is no use")
        stage.pass(.seconds(1))
        #expect(try await engine.signedInOwner(token: session) == nil)
        let other = try await engine.sessionToken(of: "mira")
        for _ in 1..<28 {
            stage.pass(.hours(12) - .seconds(1))
            #expect(try await engine.signedInOwner(token: other) != nil)
        }
        stage.pass(.hours(11) + .seconds(59 * 60 + 59))
        #expect(try await engine.signedInOwner(token: other) != nil)
        stage.pass(.seconds(60))
        #expect(try await engine.signedInOwner(token: other) == nil, "fourteen days")
    }

    @Test func `signing out ends this session, or all`() async throws {
        let stage = try OwnerStage()
        let (engine, first) = try await stage.withMira()
        let (second, third) = (
            try await engine.sessionToken(of: "mira"), try await engine.sessionToken(of: "mira")
        )
        try await engine.signOut(token: first)
        #expect(try await engine.signedInOwner(token: first) == nil)
        #expect(try await engine.sessions(of: "mira").count == 2)
        try await engine.signOutEverywhere("mira", except: third, by: "mira")
        #expect(try await engine.signedInOwner(token: second) == nil)
        #expect(try await engine.signedInOwner(token: third) != nil)
        try await engine.signOutEverywhere("mira", by: "mira")
        #expect(try await engine.signedInOwner(token: third) == nil)
        #expect(try await engine.signedInOwner(token: "") == nil)
    }

    @Test func `another password ends the other sessions`() async throws {
        let stage = try OwnerStage()
        let (engine, session) = try await stage.withMira()
        let other = try await engine.sessionToken(of: "mira")
        func change(from former: String) async throws -> SignInResult? {
            try await engine.changePassword(
                of: "mira", from: former, to: "another password", keeping: session,
                at: OwnerStage.place)
        }
        #expect(try await change(from: "wrong") == .wrong(triesLeft: 4))
        #expect(try await change(from: OwnerStage.password) == nil)
        #expect(try await engine.signedInOwner(token: session) != nil)
        #expect(try await engine.signedInOwner(token: other) == nil)
        #expect(try await engine.signIn("mira") == .wrong(triesLeft: 4))
    }

    // MARK: - Roles and blocks

    @Test func `who is blocked is out at once, and can be let in again`() async throws {
        let stage = try OwnerStage()
        let (engine, _) = try await stage.withMira()
        let link = try await engine.invite(
            "ben", as: OwnerRoles(everywhere: .support), by: "mira")
        let session = try await engine.accept(
            linkToken: link, name: "", password: OwnerStage.password, from: OwnerStage.place)
        try await engine.setBlock(true, of: "ben", by: "mira")
        #expect(try await engine.signedInOwner(token: session) == nil)
        #expect(try await engine.activeOwner("ben") == nil)
        #expect(try await engine.signIn("ben") == .wrong(triesLeft: 4))
        try await engine.setBlock(false, of: "ben", by: "mira")
        _ = try await engine.sessionToken(of: "ben")
    }

    @Test(arguments: [true, false])
    func `who is blocked, or manages nobody any more, has no way back by a link`(
        isBlocked: Bool
    ) async throws {
        let stage = try OwnerStage()
        let (engine, _) = try await stage.withMira()
        let link = try await engine.invite("ben", as: OwnerRoles(everywhere: .admin), by: "mira")
        _ = try await engine.accept(
            linkToken: link, name: "", password: OwnerStage.password, from: OwnerStage.place)
        let reset = try await engine.resetLink(for: "mira", by: "ben")
        let other = try await engine.invite("eve", as: OwnerRoles(everywhere: .admin), by: "ben")
        if isBlocked {
            try await engine.setBlock(true, of: "ben", by: "mira")
        } else {
            try await engine.setRoles(
                of: "ben", to: OwnerRoles(everywhere: .support), by: "mira")
        }
        for token in [reset, other] { #expect(try await engine.ownerLink(token: token) == nil) }
        #expect(try await engine.proxiedOwner("eve") == nil)
    }

    @Test(arguments: [true, false])
    func `who is blocked, or manages nobody any more, does nothing to accounts`(
        isBlocked: Bool
    ) async throws {
        let stage = try OwnerStage()
        let (engine, _) = try await stage.withMira()
        let admin = OwnerRoles(everywhere: .admin)
        let link = try await engine.invite("ben", as: admin, by: "mira")
        _ = try await engine.accept(
            linkToken: link, name: "", password: OwnerStage.password, from: OwnerStage.place)
        _ = try await engine.invite("cleo", as: admin, by: "mira")
        if isBlocked {
            try await engine.setBlock(true, of: "ben", by: "mira")
        } else {
            try await engine.setRoles(
                of: "ben", to: OwnerRoles(byApp: ["bees": .admin]), by: "mira")
        }
        // As when the page looked him up a moment before.
        let acts: [(String, () async throws -> Void)] = [
            ("invite", { _ = try await engine.invite("eve", as: admin, by: "ben") }),
            ("reset link", { _ = try await engine.resetLink(for: "mira", by: "ben") }),
            ("roles", { try await engine.setRoles(of: "mira", to: admin, by: "ben") }),
            ("block", { try await engine.setBlock(true, of: "mira", by: "ben") }),
            ("unblock", { try await engine.setBlock(false, of: "ben", by: "ben") }),
            ("withdraw", { try await engine.withdrawLinks(for: "cleo", by: "ben") }),
            ("sign out", { try await engine.signOutEverywhere("mira", by: "ben") }),
        ]
        for (name, act) in acts {
            await #expect(throws: EngineFailure.notManager("ben"), "\(name)") {
                try await act()
            }
        }
        #expect(try await engine.ownerLinks().map(\.owner) == ["cleo"])
        #expect(try await engine.sessions(of: "mira").count == 1)
    }

    /// By which an owner gets rid of somebody who had a session.
    enum Rescue: CaseIterable, Sendable {
        case password, reset, signOut, signOutOthers
    }

    @Test(arguments: Rescue.allCases)
    func `whoever had a session has no way back by a link`(rescue: Rescue) async throws {
        let stage = try OwnerStage()
        let (engine, session) = try await stage.withMira()
        let admin = OwnerRoles(everywhere: .admin)
        let first = try await engine.invite("ben", as: admin, by: "mira")
        _ = try await engine.accept(
            linkToken: first, name: "", password: OwnerStage.password, from: OwnerStage.place)
        let others = try await engine.invite("dan", as: admin, by: "ben")
        let bad = [
            try await engine.resetLink(for: "ben", by: "mira"),
            try await engine.invite("eve", as: admin, by: "mira"),
            try await engine.resetLink(for: "mira", by: "ben"),
        ]
        switch rescue {
        case .password:
            let refusal = try await engine.changePassword(
                of: "mira", from: OwnerStage.password, to: "another password",
                keeping: session, at: OwnerStage.place)
            #expect(refusal == nil)
        case .reset:
            _ = try await engine.accept(
                linkToken: try await engine.resetLink(for: "mira", by: "perennial owners"),
                name: "", password: "another password", from: OwnerStage.place)
        case .signOut: try await engine.signOutEverywhere("mira", by: "mira")
        case .signOutOthers:
            try await engine.signOutEverywhere("mira", except: session, by: "mira")
        }
        for token in bad { #expect(try await engine.ownerLink(token: token) == nil) }
        #expect(try await engine.ownerLink(token: others) != nil, "of somebody else")
    }

    @Test func `links of each kind can be withdrawn`() async throws {
        let stage = try OwnerStage()
        let empty = try await stage.engine()
        let first = try #require(try await empty.firstOwnerLink())
        #expect(try await empty.withdrawLinks(for: nil, by: "test"))
        #expect(try await empty.ownerLink(token: first) == nil)
        let (engine, _) = try await stage.withMira()
        let links = [
            "Mira": try await engine.resetLink(for: "mira", by: "mira"),
            "ben": try await engine.invite("ben", as: OwnerRoles(everywhere: .viewer), by: "x"),
        ]
        #expect(try await engine.ownerLinks().count == 2)
        for (name, token) in links {
            #expect(try await engine.withdrawLinks(for: name, by: "mira"))
            #expect(try await engine.ownerLink(token: token) == nil)
            #expect(try await !engine.withdrawLinks(for: name, by: "mira"))
        }
    }

    @Test func `nobody sets the password of a blocked owner`() async throws {
        let stage = try OwnerStage()
        let (engine, _) = try await stage.withMira()
        let invitation = try await engine.invite(
            "ben", as: OwnerRoles(everywhere: .viewer), by: "mira")
        _ = try await engine.accept(
            linkToken: invitation, name: "", password: OwnerStage.password,
            from: OwnerStage.place)
        try await engine.setBlock(true, of: "ben", by: "mira")
        await #expect(throws: EngineFailure.invalidOwner("ben is blocked. Lift the block first.")) {
            try await engine.resetLink(for: "ben", by: "mira")
        }
        // As if a backup had one.
        let token = Engine.newToken()
        let link = OwnerLink(
            hash: Engine.hash(ofToken: token), kind: .reset, owner: "ben", roles: OwnerRoles(),
            author: "mira", createdAt: OwnerStage.start, until: OwnerStage.start + .hours(1))
        try await engine.transaction { tx in try tx.add(link) }
        await #expect(throws: EngineFailure.unknownLink) {
            try await engine.accept(
                linkToken: token, name: "", password: "another password",
                from: OwnerStage.place)
        }
        #expect(try await engine.sessions(of: "ben").isEmpty)
    }

    @Test func `a name that only looks the same is another one`() async throws {
        let stage = try OwnerStage()
        let (engine, _) = try await stage.withMira()
        let roles = OwnerRoles(everywhere: .admin)
        _ = try await engine.invite("kim", as: roles, by: "mira")
        // The Kelvin sign, which is a k in lower case.
        #expect(try await engine.proxiedOwner("\u{212A}im") == nil)
        #expect(try await engine.proxiedOwner("Kim")?.name == "kim")
    }

    @Test func `somebody who manages owners is always left`() async throws {
        let stage = try OwnerStage()
        let (engine, _) = try await stage.withMira()
        await #expect(throws: EngineFailure.self) {
            try await engine.setBlock(true, of: "mira", by: "mira")
        }
        await #expect(throws: EngineFailure.self) {
            try await engine.setRoles(
                of: "mira", to: OwnerRoles(byApp: ["bees": .admin]), by: "mira")
        }
        #expect(try await engine.owner("mira").roles.manageOwners)
        #expect(try await engine.activeOwner("mira") != nil)
        await #expect(throws: EngineFailure.unknownOwner("ben")) {
            try await engine.setBlock(true, of: "ben", by: "mira")
        }
    }

    // MARK: - Audit and tokens

    @Test func `what was done to accounts is recorded, with who did it`() async throws {
        let stage = try OwnerStage()
        let (engine, _) = try await stage.withMira()
        stage.pass(.seconds(1))
        _ = try await engine.invite("ben", as: OwnerRoles(byApp: ["bees": .viewer]), by: "mira")
        stage.pass(.seconds(1))
        _ = try await engine.sessionToken(of: "mira")
        let page = try await engine.auditPage(of: nil, limit: 2)
        #expect(page.entries.map(\.act) == ["session.sign_in", "owners.invite"])
        #expect(page.entries.map(\.author) == ["mira", "mira"])
        #expect(page.entries.last?.subject == "ben")
        #expect(page.entries.last?.stateAfter == ["roles": "bees=viewer"])
        let next = try #require(page.next)
        #expect(RecordedAct.Position(next.description) == next)
        let rest = try await engine.auditPage(of: nil, before: next, limit: 2)
        #expect(rest.entries.map(\.act) == ["owners.accept"] && rest.next == nil)
        #expect(try await engine.auditPage(of: "bees", limit: 2).entries.isEmpty)
    }

    @Test func `what had been done before has no second entry`() async throws {
        let stage = try OwnerStage()
        let (engine, _) = try await stage.withMira()
        let roles = OwnerRoles(everywhere: .viewer)
        let link = try await engine.invite("ben", as: roles, by: "mira")
        _ = try await engine.accept(
            linkToken: link, name: "", password: OwnerStage.password, from: OwnerStage.place)
        let before = try await engine.auditPage(of: nil, limit: 100).entries.count
        let support = OwnerRoles(everywhere: .support)
        for _ in 1...2 {
            stage.pass(.seconds(1))
            try await engine.withdrawLinks(for: "nobody-at-all", by: "mira")
            try await engine.setRoles(of: "ben", to: support, by: "mira")
            stage.pass(.seconds(1))
            try await engine.signOutEverywhere("ben", by: "mira")
        }
        for isBlocked in [true, true, false, false] {
            stage.pass(.seconds(1))
            try await engine.setBlock(isBlocked, of: "ben", by: "mira")
        }
        let entries = try await engine.auditPage(of: nil, limit: 100).entries
        let acts = entries.dropLast(before).map(\.act)
        #expect(
            acts == ["owners.unblock", "owners.block", "owners.sign_out", "owners.roles"])
        #expect(entries.first { $0.act == "owners.roles" }?.stateBefore == ["roles": "*=viewer"])
    }

    @Test func `a form is of one session and one app`() async throws {
        let stage = try OwnerStage()
        let engine = try await stage.engine()
        let tokens: Set<String> = [
            Engine.formToken(ofSession: "a", app: "bees"),
            Engine.formToken(ofSession: "a", app: "birds"),
            Engine.formToken(ofSession: "b", app: "bees"),
            try await engine.formToken(ofProxied: "a", app: "bees"),
            try await engine.formToken(ofProxied: "b", app: "bees"),
        ]
        #expect(tokens.count == 5)
        let other = try await stage.engine()
        let again = try await other.formToken(ofProxied: "a", app: "bees")
        #expect(tokens.contains(again), "all servers of a database make the same")
    }
}
