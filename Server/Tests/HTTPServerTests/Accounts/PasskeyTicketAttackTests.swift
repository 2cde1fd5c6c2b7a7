import Engine
import Ledger
import Passkeys
import Storage
import Testing

@testable import HTTPServer

/// People who try to use one ticket of a sign-in for several.
@Suite struct PasskeyTicketAttackTests {
    @Test func `a malformed answer does not renew a used ticket`() async throws {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            let codes = try await mira.makeCodes()
            mira.signOut()
            _ = try await mira.sendPassword(of: "mira")
            let (used, step) = (mira.browser.ticket, try await mira.get("/login/step"))
            #expect(try await mira.post("/login/passkey", mira.signed(on: step)).leadsOn)
            var thief = shop.browser
            thief.browser.ticket = used
            for fields in [["client": "!"], mira.made(on: step)] {
                #expect(try await thief.post("/login/enrol", fields).status == 400)
                let answer = try await thief.post("/login/recovery", ["code": codes[0]])
                #expect(answer.status == 400 && answer.session == nil)
                thief.browser.ticket = used
            }
        }
    }

    @Test func `if an operator's first passkey is refused, its ticket is renewed only once`()
        async throws
    {
        try await PasskeyServer.run(areRequired: true) { shop in
            let link = try await shop.server.engine.operators.invite(
                "mira", as: OperatorRoles(everywhere: .admin), by: "test")
            var mira = shop.browser
            let password = OperatorServer.password
            _ = try await mira.post(
                "/links/\(link)", ["password": password, "repeated": password])
            let (first, step) = (mira.browser.ticket, try await mira.get("/login/step"))
            let made = mira.made(on: step, named: "")
            let refused = try await mira.post("/login/enrol", made)
            #expect(refused.status == 403 && refused.text.contains("Give the passkey a name"))
            var thief = shop.browser
            thief.browser.ticket = first
            let again = try await thief.post("/login/enrol", made)
            #expect(again.status == 400 && again.text.contains("This sign-in has ended"))
            let added = try await mira.post("/login/enrol", mira.made(on: refused))
            #expect(added.status == 303 && added.session != nil)
        }
    }

    @Test func `no passkey is added if the session ended after the challenge was made`()
        async throws
    {
        try await PasskeyServer.run { shop in
            let engine = shop.server.engine
            var mira = try await shop.browser(of: "mira")
            let token = try #require(mira.browser.session)
            let visitor = try #require(try await engine.sessions.signedInOperator(token: token))
            let page = try await mira.post("/account/passkeys/new")
            let made = mira.made(on: page)
            let cookie = try #require(mira.browser.ticket)
            let ticket = try #require(try await engine.passkeys.ticket(inCookie: cookie))
            let answer = try RegistrationAnswer(
                client: made["client"] ?? "", attestation: made["attestation"] ?? "")
            try await engine.sessions.signOutEverywhere("mira", by: "mira")
            await #expect(throws: EngineFailure.self) {
                try await engine.passkeys.add(
                    answer, named: "Phone", with: ticket, in: visitor.session)
            }
            #expect(try await engine.passkeys.overview(of: "mira").passkeys == [])
        }
    }
}
