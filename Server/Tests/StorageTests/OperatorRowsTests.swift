import Ledger
import Testing

@testable import Engine
@testable import Storage

@Suite struct OperatorRowsTests {
    private static let hash = [UInt8](repeating: 1, count: 32)
    private static let other = [UInt8](repeating: 2, count: 32)

    private func session(_ hash: [UInt8], until: Instant) -> OperatorSession {
        OperatorSession(
            hash: hash, operatorName: "mira", createdAt: now, until: until, address: "::1",
            agent: "x")
    }

    @Test(arguments: Driver.allCases)
    func `an operator has one account, and the account's roles can be replaced`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let roles = OperatorRoles(everywhere: .viewer, byApp: ["birds": .admin])
            try await store.transaction { tx in
                #expect(try !tx.operators.hasAny())
                let mira = Operator(name: "mira", roles: roles, createdAt: now)
                #expect(try tx.operators.add(mira, password: "a"))
                #expect(try !tx.operators.add(mira, password: "b"))
                #expect(try tx.operators.hasAny())
                #expect(try tx.operators.password(of: "mira") == "a")
                #expect(try tx.operators.named("mira") == mira)
                #expect(
                    try tx.operators.named("ben") == nil && tx.operators.password(of: "ben") == nil)
                #expect(
                    try tx.operators.add(
                        Operator(name: "ben", roles: .init(), createdAt: now), password: ""))
                #expect(try tx.operators.all().map(\.name) == ["ben", "mira"])
                try tx.operators.replaceRoles(
                    of: "mira", with: OperatorRoles(byApp: ["bees": .support]))
                try tx.operators.setPassword("c", of: "mira")
                try tx.operators.setBlock(of: "mira", since: now)
                try tx.operators.recordSignIn(of: "mira", at: now)
                let changed = try #require(try tx.operators.all().last)
                #expect(changed.roles == OperatorRoles(byApp: ["bees": .support]))
                #expect(changed.blockedAt == now && changed.signedInAt == now)
                try tx.operators.setBlock(of: "mira", since: nil)
                #expect(try tx.operators.named("mira")?.blockedAt == nil)
                #expect(try tx.operators.password(of: "mira") == "c")
            }
        }
    }

    @Test
    func `an operator's role in an app is the greater of the app role and the general role`() {
        let roles = OperatorRoles(everywhere: .support, byApp: ["a": .viewer, "b": .admin])
        #expect(roles.role(in: "a") == .support && roles.role(in: "b") == .admin)
        #expect(roles.role(in: "c") == .support)
        #expect(OperatorRoles(byApp: ["a": .admin]).role(in: "b") == nil)
        #expect(OperatorRoles(roles.description) == roles)
        #expect(roles.description == "*=support a=viewer b=admin")
        #expect(OperatorRoles("a=operator") == nil && OperatorRoles("a") == nil)
    }

    @Test func `an operator sees money in an app if the app role or the general role allows it`() {
        let roles = OperatorRoles(
            everywhere: .support, byApp: ["a": .viewer, "b": .admin, "c": .support])
        #expect(roles.seeMoney(in: "a") && roles.seeMoney(in: "b"))
        #expect(!roles.seeMoney(in: "c") && !roles.seeMoney(in: "d"))
        let supporter = OperatorRoles(everywhere: .viewer, byApp: ["a": .support])
        #expect(supporter.role(in: "a") == .support && supporter.seeMoney(in: "a"))
        #expect(supporter.seeMoney(in: "b"))
        let alone = OperatorRoles(byApp: ["a": .support])
        #expect(!alone.seeMoney(in: "a") && !alone.seeMoney(in: "b"))
    }

    @Test(arguments: Driver.allCases)
    func `an operator's sessions end one by one, all together, or when they expire`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            try await store.transaction { tx in
                for hash in [Self.hash, Self.other] {
                    try tx.sessions.add(session(hash, until: now + .days(1)))
                }
                try tx.sessions.recordUse(ofSession: Self.other, at: now + .hours(2))
                #expect(try tx.sessions.find(hash: Self.other)?.usedAt == now + .hours(2))
                try tx.sessions.deleteEnded(usedBefore: now + .hours(1), at: now + .hours(2))
                #expect(try tx.sessions.all(of: "mira").map(\.hash) == [Self.other])
                try tx.sessions.deleteEnded(usedBefore: now, at: now + .days(1))
                #expect(try tx.sessions.find(hash: Self.other) == nil)
                for hash in [Self.hash, Self.other] {
                    try tx.sessions.add(session(hash, until: now + .days(1)))
                }
                #expect(try tx.sessions.delete(of: "mira", except: Self.hash) == 1)
                #expect(try tx.sessions.all(of: "mira").map(\.hash) == [Self.hash])
                try tx.sessions.delete(hash: Self.hash)
                #expect(try tx.sessions.all(of: "mira").isEmpty)
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `an operator's link can be used once`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                let link = OperatorLink(
                    hash: Self.hash, kind: .invitation, operatorName: "ben",
                    roles: OperatorRoles(everywhere: .admin), author: "mira", createdAt: now,
                    until: now + .days(1))
                try tx.operatorLinks.add(link)
                #expect(try tx.operatorLinks.all() == [link])
                #expect(try tx.operatorLinks.find(hash: Self.hash) == link)
                #expect(try tx.operatorLinks.delete(hash: Self.hash))
                #expect(try !tx.operatorLinks.delete(hash: Self.hash))
                try tx.operatorLinks.add(link)
                try tx.operatorLinks.delete(.invitation)
                #expect(try tx.operatorLinks.all().count == 1)
                try tx.operatorLinks.delete(.invitation, for: "ben")
                #expect(try tx.operatorLinks.all().isEmpty)
                try tx.operatorLinks.add(link)
                try tx.operatorLinks.deleteEnded(at: now + .days(1))
                #expect(try tx.operatorLinks.all().isEmpty)
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `the networks of an operator's recent sign-ins are stored`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                func signIn(_ network: String, after seconds: Int64, max: Int = 9) throws {
                    try tx.signIns.record(
                        of: "mira", from: network, at: now + .seconds(seconds), since: now,
                        max: max)
                }
                func known(since seconds: Int64 = 0, of name: String = "mira") throws -> [String] {
                    try ["a", "b", "c"].filter {
                        try tx.signIns.hasSignedIn(name, from: $0, since: now + .seconds(seconds))
                    }
                }
                try signIn("a", after: 1)
                try signIn("b", after: 2)
                #expect(try known() == ["a", "b"])
                #expect(try known(since: 2) == ["b"])
                #expect(try known(of: "ben") == [])
                try signIn("a", after: 3)
                try signIn("c", after: 4, max: 2)
                #expect(try known() == ["a", "c"], "the longest unused is forgotten")
                try tx.signIns.record(
                    of: "mira", from: "b", at: now + .seconds(9), since: now + .seconds(4), max: 9)
                #expect(try known() == ["b", "c"], "what is old is forgotten")
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `failed sign-ins are counted separately for each subject`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                var failures = SignInFailures(subject: "name mira", count: 1, lastAt: now)
                try tx.signIns.save(failures)
                (failures.count, failures.shutUntil) = (2, now + .seconds(60))
                try tx.signIns.save(failures)
                #expect(try tx.signIns.failures(of: "name mira") == failures)
                #expect(try tx.signIns.failures(of: "name ben") == nil)
                try tx.signIns.deleteFailures(before: now + .seconds(1))
                #expect(try tx.signIns.failures(of: "name mira") == nil)
                try tx.signIns.save(failures)
                try tx.signIns.deleteFailures(of: "name mira")
                #expect(try tx.signIns.failures(of: "name mira") == nil)
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `the audit log is listed page by page, newest entry first`(driver: Driver) async throws {
        try await driver.withStore { store in
            let entries = (0..<5).map { number in
                RecordedAct(
                    app: app, at: now + .seconds(number / 2), id: "\(number)", author: "mira",
                    act: "grant", environment: .sandbox, customer: "anna", subject: "grt_1",
                    before: "{}", after: "{}")
            }
            try await store.transaction { tx in
                for entry in entries { try tx.audit.append(entry) }
                try tx.audit.append(
                    RecordedAct(app: nil, at: now, id: "9", author: "x", act: "sign_in"))
            }
            let (first, rest) = try await store.read { tx in
                let first = try tx.audit.entries(of: app, before: nil, limit: 3)
                let rest = try tx.audit.entries(of: app, before: first.last?.position, limit: 3)
                return (first, rest)
            }
            #expect(first + rest == entries.reversed())
            #expect(
                try await store.read { try $0.audit.entries(of: nil, before: nil, limit: 9) }.map(
                    \.id) == ["9"])
        }
    }

    @Test(arguments: Driver.allCases)
    func `the audit log does not keep the id of an erased customer`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                for (id, customer) in [("1", "anna"), ("2", "ben")] {
                    try tx.audit.append(
                        RecordedAct(
                            app: app, at: now, id: id, author: "mira", act: "grant",
                            customer: CustomerID(rawValue: customer)))
                }
                try CustomerErasure(tx).erase(
                    StoredCustomer(customer: "anna", ids: ["anna"]), names: ["anna": "erased_1"],
                    hashes: [Self.hash], in: app, at: now)
            }
            let entries = try await store.read {
                try $0.audit.entries(of: app, before: nil, limit: 9)
            }
            #expect(entries.map(\.customer) == ["ben", "erased_1"])
        }
    }

    @Test(arguments: Driver.allCases)
    func `the audit entry of a transfer does not keep the id of an erased owner`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                for (id, act) in [("1", "customers.transfers"), ("2", "customers.transfers.undo")] {
                    try tx.audit.append(
                        RecordedAct(
                            app: app, at: now, id: id, author: "mira", act: act, customer: "ben",
                            before: #"{"owner":"anna"}"#, after: #"{"owner":"ben","x":"anna"}"#))
                }
                try CustomerErasure(tx).erase(
                    StoredCustomer(customer: "anna", ids: ["anna"]), names: ["anna": "erased_1"],
                    hashes: [Self.hash], in: app, at: now)
            }
            let entries = try await store.read {
                try $0.audit.entries(of: app, before: nil, limit: 9)
            }
            #expect(entries.map(\.before) == [#"{"owner":"erased_1"}"#, #"{"owner":"erased_1"}"#])
            #expect(entries.allSatisfy { $0.after == #"{"owner":"ben","x":"anna"}"# })
        }
    }
}
