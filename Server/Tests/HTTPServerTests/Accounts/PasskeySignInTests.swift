import Engine
import Ledger
import Storage
import Testing

@testable import HTTPServer

/// Passkeys and recovery codes of operators who follow the rules.
@Suite struct PasskeySignInTests {
    @Test func `an operator can add a passkey and sign in with only the passkey`() async throws {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            #expect(try await mira.get("/account").text.contains("You have none."))
            let added = try await mira.addPasskey("Phone <b>")
            #expect(added.status == 303 && added.headers[.location] == "/account")
            let page = try await mira.get("/account").text
            #expect(page.contains("Phone &lt;b&gt;") && page.contains("You have no recovery code."))
            mira.signOut()
            #expect(
                try await mira.get("/login?next=/customers").text.contains(
                    #""/login/passkey?next=%2Fcustomers">"#))
            let answer = try await mira.signInAlone()
            #expect(answer.leadsOn, "\(answer.text)")
            #expect(try await mira.isSignedIn())
            // The ticket is gone from the browser.
            #expect(mira.browser.ticket == nil)
            let passkey = try #require(
                try await shop.server.engine.passkeys.overview(of: "mira").passkeys.first)
            #expect(passkey.usedAt == TestServer.now && passkey.counter == 2)
            #expect(
                try await shop.acts().sorted() == [
                    "account.passkey_add", "operators.accept", "operators.invite",
                    "session.sign_in",
                ])
        }
    }

    @Test func `an operator who has a passkey cannot sign in with only the password`() async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            mira.signOut()
            #expect(try await mira.sendPassword(of: "mira", "wrong").status == 403)
            let answer = try await mira.sendPassword(of: "mira")
            #expect(answer.headers[.location] == "/login/step" && answer.session == nil)
            let cookie = answer.headers[values: .setCookie].first ?? ""
            #expect(
                cookie.hasSuffix("; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Strict"))
            let step = try await mira.get("/login/step")
            #expect(step.text.contains("The password of <bdi>mira</bdi> is right."))
            #expect(step.data("ids") == "AQID" && step.data("host") == "localhost")
            #expect(try await mira.post("/login/passkey", mira.signed(on: step)).leadsOn)
            // The whole sign-in made the wrong try forgotten.
            mira.signOut()
            #expect(
                try await mira.sendPassword(of: "mira", "wrong").text.contains("4 tries are left"))
        }
    }

    @Test func `the page of the second step redirects to the sign-in if there is no ticket`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var browser = shop.browser
            #expect(try await browser.get("/login/step").headers[.location] == "/login")
            for path in ["/login/passkey", "/login/recovery", "/login/enrol"] {
                #expect(try await browser.post(path).status == 400)
            }
            // A ticket for a passkey alone is not one for the second step.
            _ = try await browser.get("/login/passkey")
            #expect(try await browser.get("/login/step").headers[.location] == "/login")
            #expect(try await browser.post("/login/recovery", ["code": "x"]).status == 400)
        }
    }

    @Test func `a recovery code replaces the passkey once, and new codes invalidate the old ones`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            let codes = try await mira.makeCodes()
            #expect(codes.count == 10 && Set(codes).count == 10)
            #expect(try await mira.get("/account").text.contains("10 of your codes are left."))
            for (code, isRight) in [(codes[0], true), (codes[0], false), (codes[1], true)] {
                mira.signOut()
                _ = try await mira.sendPassword(of: "mira")
                let answer = try await mira.post("/login/recovery", ["code": code.uppercased()])
                #expect(answer.leadsOn == isRight, "\(answer.text)")
                if !isRight {
                    #expect(answer.status == 403 && answer.text.contains("was used before"))
                    // The page lets the person try again, without the password.
                    let again = try await mira.post("/login/recovery", ["code": codes[2]])
                    #expect(again.leadsOn)
                }
            }
            #expect(try await shop.server.engine.passkeys.overview(of: "mira").codesLeft == 7)
            let new = try await mira.makeCodes()
            mira.signOut()
            _ = try await mira.sendPassword(of: "mira")
            #expect(try await mira.post("/login/recovery", ["code": codes[3]]).status == 403)
            #expect(try await mira.post("/login/recovery", ["code": new[3]]).leadsOn)
            #expect(try await shop.acts().count { $0 == "account.recovery_codes" } == 2)
        }
    }

    @Test func `if passkeys are required, an operator must add one at the first sign-in`()
        async throws
    {
        try await PasskeyServer.run(areRequired: true) { shop in
            let link = try await shop.server.engine.operators.invite(
                "mira", as: OperatorRoles(everywhere: .admin), by: "test")
            var mira = shop.browser
            let password = OperatorServer.password
            let accepted = try await mira.post(
                "/links/\(link)", ["password": password, "repeated": password])
            #expect(accepted.headers[.location] == "/login/step" && accepted.session == nil)
            // The operator closes the browser, and signs in later.
            mira.signOut()
            #expect(try await mira.sendPassword(of: "mira").headers[.location] == "/login/step")
            let step = try await mira.get("/login/step")
            #expect(step.text.contains("needs a passkey, too") && step.data("passkey") == "make")
            let answer = try await mira.post("/login/enrol", mira.made(on: step))
            #expect(answer.leadsOn, "\(answer.text)")
            #expect(try await mira.isSignedIn())
            mira.signOut()
            #expect(try await mira.signInAlone().leadsOn)
            _ = try await mira.sendPassword(of: "mira")
            #expect(try await mira.get("/login/step").data("passkey") == "sign")
        }
    }

    @Test func `after a password reset by a link, the sign-in still needs the passkey`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            let link = try await shop.server.engine.operators.resetLink(for: "mira", by: "test")
            mira.signOut()
            let password = "another password"
            let answer = try await mira.post(
                "/links/\(link)", ["password": password, "repeated": password])
            #expect(answer.headers[.location] == "/login/step" && answer.session == nil)
            let step = try await mira.get("/login/step")
            let signed = try await mira.post("/login/passkey", mira.signed(on: step))
            #expect(signed.status == 303 && signed.session != nil)
        }
    }

    @Test func `after an operator removes all passkeys, the password alone is enough again`()
        async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            _ = try await mira.makeCodes()
            mira.device.id = [9]
            try await mira.addPasskey("Key")
            let renamed = try await mira.post(
                "/account/passkeys/name", ["passkey": "CQ", "name": " Blue key "])
            #expect(renamed.status == 303)
            let names = try await shop.server.engine.passkeys.overview(of: "mira").passkeys
            #expect(Set(names.map(\.name)) == ["Phone", "Blue key"])
            #expect(
                try await mira.post("/account/passkeys/remove", ["passkey": "CQ"]).status == 303)
            #expect(try await shop.server.engine.passkeys.overview(of: "mira").codesLeft == 10)
            #expect(
                try await mira.post("/account/passkeys/remove", ["passkey": "AQID"]).status == 303)
            #expect(try await shop.server.engine.passkeys.overview(of: "mira").codesLeft == 0)
            mira.signOut()
            #expect(try await mira.sendPassword(of: "mira").leadsOn)
            #expect(try await shop.acts().count { $0 == "account.passkey_remove" } == 2)
            #expect(try await shop.acts().contains("account.passkey_name"))
        }
    }

    @Test func `ten minutes after the sign-in, changes to passkeys need the password`() async throws
    {
        try await PasskeyServer.run { shop in
            var mira = try await shop.browser(of: "mira")
            try await mira.addPasskey()
            shop.server.pass(PasskeyService.recentFor)
            #expect(try await mira.get("/account").text.contains("Your password</label>"))
            for (path, fields) in [
                ("new", [:]), ("codes", ["password": "wrong"]), ("remove", ["passkey": "AQID"]),
            ] {
                let answer = try await mira.post("/account/passkeys/\(path)", fields)
                #expect(answer.text.contains("Your password is wrong."), "\(path)")
            }
            let right = ["passkey": "AQID", "password": OperatorServer.password]
            #expect(try await mira.post("/account/passkeys/new", right).data("passkey") == "make")
            #expect(
                try await mira.post("/account/passkeys/codes", right).text.contains("Ten codes"))
            #expect(try await mira.post("/account/passkeys/remove", right).status == 303)
        }
    }

    @Test func `at an address where browsers make no passkeys, the pages say so and offer none`()
        async throws
    {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            #expect(
                try await mira.get("/account").text.contains(
                    "Browsers make no passkeys at <bdi>https://localhost</bdi>"))
            #expect(try await !server.browser.get("/login").text.contains("/login/passkey"))
            #expect(try await mira.post("/account/passkeys/new").status == 404)
        }
    }
}
