import Crypto
import Engine
import Ledger
import SoftAuthenticator
import Storage
import Testing

@testable import HTTPServer

/// Passkeys and recovery codes of people who break the rules.
@Suite struct PasskeyAttackTests {
    @Test func `a passkey answer is accepted only once, even in a later session`() async throws {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            let page = try await mira.post("/account/passkeys/new")
            let (made, ticket) = (mira.made(on: page), mira.browser.ticket)
            #expect(try await mira.post("/account/passkeys", made).status == 303)
            mira.browser.ticket = ticket
            #expect(
                try await mira.post("/account/passkeys", made).text.contains(
                    "This request has ended"))
            mira.signOut()
            let login = try await mira.get("/login/passkey")
            let (signed, second) = (try mira.signed(on: login), mira.browser.ticket)
            #expect(try await mira.post("/login/passkey", signed).session != nil)
            mira.browser.session = nil
            mira.browser.ticket = second
            let again = try await mira.post("/login/passkey", signed)
            #expect(again.status == 400 && again.session == nil)
        }
    }

    @Test func `a passkey answer to the challenge of another browser is refused`() async throws {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            mira.signOut()
            var other = shop.browser
            let page = try await other.get("/login/passkey")
            _ = try await mira.get("/login/passkey")
            let answer = try await mira.post("/login/passkey", mira.signed(on: page))
            #expect(answer.status == 403 && answer.session == nil)
            #expect(answer.text.contains("for another request"))
            // A ticket that is refused once is worth nothing, and without one nothing is read.
            other.browser.ticket = nil
            #expect(try await other.post("/login/passkey", mira.signed(on: page)).status == 400)
        }
    }

    @Test func `no passkey is added with the ticket of another session`() async throws {
        try await PasskeyServer.run { shop in
            var (mira, ben) = (
                try await shop.browser(of: "mira"), try await shop.browser(of: "ben")
            )
            let page = try await mira.post("/account/passkeys/new")
            let made = mira.made(on: page)
            ben.browser.ticket = mira.browser.ticket
            for browser in [ben.browser, mira.browser] {
                var changed = PasskeyBrowser(browser: browser)
                if browser.session == mira.browser.session { changed.browser.ticket = nil }
                #expect(
                    try await changed.post("/account/passkeys", made).text.contains(
                        "This request has ended"))
            }
            for name in ["mira", "ben"] {
                #expect(try await shop.server.engine.passkeys.overview(of: name).passkeys == [])
            }
        }
    }

    @Test func `an answer for another origin or host, or without user verification, is refused`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            mira.signOut()
            let changes: [(String, @Sendable (inout SoftAuthenticator) -> Void)] = [
                ("another site", { $0.origin = "https://localhost:8443" }),
                ("another host", { $0.host = "example.com" }),
                ("PIN, finger or face", { $0.isVerified = false }),
                ("did not ask you to touch", { $0.isPresent = false }),
                ("signature of the passkey is wrong", { $0.key = P256.Signing.PrivateKey() }),
            ]
            for (sentence, change) in changes {
                var changed = mira
                change(&changed.device)
                let alone = try await changed.signInAlone()
                #expect(alone.status == 403 && alone.session == nil)
                #expect(alone.text.contains(sentence), "\(sentence): \(alone.text)")
                // The same holds as the second step.
                shop.server.pass(.seconds(120))
                _ = try await changed.sendPassword(of: "mira")
                let step = try await changed.get("/login/step")
                let second = try await changed.post("/login/passkey", changed.signed(on: step))
                #expect(second.status == 403 && second.text.contains(sentence))
                shop.server.pass(.seconds(1_000))
            }
            #expect(try await mira.signInAlone().leadsOn)
        }
    }

    @Test func `a passkey whose counter does not grow is refused, and the audit records it`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            mira.device.counter = 40
            try await mira.addPasskey()
            mira.signOut()
            var copy = mira
            #expect(try await mira.signInAlone().leadsOn)
            copy.signOut()
            let answer = try await copy.signInAlone()
            #expect(answer.status == 403 && answer.text.contains("may have been copied"))
            let entries = try await shop.server.engine.audit.page(of: nil, limit: 100).entries
            let entry = try #require(entries.first { $0.act == "account.passkey_refused" })
            #expect(entry.subject == "mira" && entry.stateBefore == ["counter": "42"])
            #expect(entry.stateAfter?["counter"] == "42")
            #expect(entry.stateAfter?["passkey"] == "Phone")
        }
    }

    @Test func `the second step of a sign-in does not accept another operator's passkey`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var (mira, ben) = (
                try await shop.browser(of: "mira"), try await shop.browser(of: "ben")
            )
            try await mira.addPasskey()
            ben.device.id = [8]
            try await ben.addPasskey()
            mira.signOut()
            _ = try await mira.sendPassword(of: "mira")
            let step = try await mira.get("/login/step")
            let answer = try await mira.post("/login/passkey", ben.signed(on: step))
            #expect(answer.status == 403 && answer.text.contains("cannot sign you in here"))
            // Ben's passkey that says it is Mira's.
            ben.signOut()
            ben.device.user = mira.device.user
            #expect(try await ben.signInAlone().status == 403)
            ben.device.user = []
            #expect(try await ben.signInAlone().status == 403)
            // The same passkey cannot be added twice, not even by another operator.
            var cleo = try await shop.browser(of: "cleo")
            #expect(try await cleo.addPasskey().text.contains("was added before"))
        }
    }

    @Test func `a blocked operator cannot sign in with a passkey or a recovery code`() async throws
    {
        try await PasskeyServer.run { shop in
            _ = try await shop.browser(of: "ben")
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            let codes = try await mira.makeCodes()
            mira.signOut()
            _ = try await mira.sendPassword(of: "mira")
            try await shop.server.engine.operators.setBlock(true, of: "mira", by: "ben")
            let step = try await mira.post("/login/recovery", ["code": codes[0]])
            #expect(step.status == 403)
            let second = try await mira.post("/login/passkey", mira.signed(on: step))
            #expect(second.status == 403 && second.text.contains("cannot sign you in here"))
            #expect(try await mira.signInAlone().status == 403)
            #expect(try await shop.server.engine.passkeys.overview(of: "mira").codesLeft == 10)
            try await shop.server.engine.operators.setBlock(false, of: "mira", by: "ben")
            #expect(try await mira.signInAlone().leadsOn)
        }
    }

    @Test func `if the password changes before the second step of a sign-in, the step is refused`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            var thief = mira
            thief.signOut()
            _ = try await thief.sendPassword(of: "mira")
            let step = try await thief.get("/login/step")
            let changed = try await mira.post(
                "/account/password",
                [
                    "former": OperatorServer.password, "password": "another password",
                    "repeated": "another password",
                ])
            #expect(changed.status == 303)
            #expect(try await thief.post("/login/passkey", thief.signed(on: step)).status == 403)
        }
    }

    @Test func `failed attempts with recovery codes and passkeys are limited`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            let codes = try await mira.makeCodes()
            mira.signOut()
            _ = try await mira.sendPassword(of: "mira")
            // The password was the first try.
            for _ in 1..<SessionService.triesOfNameFromAddress {
                let wrong = try await mira.post(
                    "/login/recovery", ["code": "0000-0000-0000-0000"])
                #expect(wrong.status == 403)
            }
            #expect(try await mira.post("/login/recovery", ["code": codes[0]]).status == 429)
            // The right password does not reset the count.
            #expect(try await mira.sendPassword(of: "mira").status == 429)
            var stranger = shop.browser
            stranger.device.id = [7]
            for _ in 0..<SessionService.triesOfNameFromAddress {
                #expect(try await stranger.signInAlone().status == 403)
            }
            #expect(try await stranger.signInAlone().status == 429)
            shop.server.pass(.seconds(61))
            #expect(try await mira.signInAlone().leadsOn)
        }
    }

    @Test func `the passkey forms need the session's token, and are refused from another site`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            for path in ["/login/passkey", "/login/recovery", "/account/passkeys/codes"] {
                let answer = try await mira.browser.post(
                    path, headers: [.origin: "https://evil.example"])
                #expect(answer.status == 403)
            }
            let forged = try await mira.browser.post("/account/passkeys/codes", token: "x")
            #expect(forged.status == 403 && forged.text.contains("another session"))
        }
    }
}
