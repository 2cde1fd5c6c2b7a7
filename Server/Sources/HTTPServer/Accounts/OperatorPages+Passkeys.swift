import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import Passkeys
import PerennialContract
import Storage

/// The acts of an operator on their own passkeys and recovery codes. Each needs a session of the
/// dashboard: where a proxy signs people in, it decides alone who they are.
extension OperatorPages {
    func addPasskeys(to router: Router<ServerContext>) {
        guard access.takesPasswords, engine.passkeys.settings != nil else { return }
        act("new", of: router, begin)
        act(nil, of: router, add)
        act("name", of: router) { page, form in
            try await engine.passkeys.rename(
                form["passkey"] ?? "", of: page.visit.viewer.name, to: form["name"] ?? "")
            return .done(.passkeyRenamed, .account)
        }
        act("remove", of: router) { page, form in
            try await confirmed(page, form)
            try await engine.passkeys.remove(
                form["passkey"] ?? "", of: page.visit.viewer.name)
            return .done(.passkeyRemoved, .account)
        }
        act("codes", of: router) { page, form in
            try await confirmed(page, form)
            let name = page.visit.viewer.name
            let codes = try await engine.passkeys.makeRecoveryCodes(of: name, by: name)
            return .page(RecoveryCodesPage(codes: codes).html(in: page.frame))
        }
    }

    /// Adds an act. If it is refused, the page of the account says why.
    private func act(
        _ word: String?, of router: Router<ServerContext>, _ act: @escaping DashboardRoutes.Act
    ) {
        routes.act(
            DashboardPath.passkeys(word).text, for: .session, of: router
        ) { page, form in
            do { return try await act(page, form) } catch EngineFailure.invalidOperator(
                let sentence)
            { return .page(try await account(page, passkeyTrouble: sentence)) } catch EngineFailure
                .busy
            {
                let sentence = "The server is busy. Send the form again in a few seconds."
                return .page(try await account(page, passkeyTrouble: sentence))
            }
        }
    }

    /// What the page of the account says about passkeys.
    func passkeys(of page: PageRequest) async throws -> AccountPage.PasskeyState {
        guard access.offersPasskeys, let session = page.visit.session else { return .hidden }
        guard let settings = engine.passkeys.settings else {
            return .impossible(origin: "\(access.origin.scheme)://\(access.host)")
        }
        let found = try await engine.passkeys.overview(of: page.visit.viewer.name)
        return .possible(
            AccountPage.Passkeys(
                passkeys: found.passkeys.map { passkey in
                    AccountPage.Passkey(
                        id: PasskeyService.text(ofID: passkey.id), name: passkey.name,
                        createdAt: Timestamp(passkey.createdAt),
                        usedAt: passkey.usedAt.map { Timestamp($0) })
                }, codesLeft: found.codesLeft,
                needsPassword: !engine.passkeys.isRecent(session.stored),
                areRequired: settings.areRequired))
    }

    /// Requires that the operator has signed in recently, or has typed the password.
    ///
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` with the reason.
    private func confirmed(_ page: PageRequest, _ form: FormFields) async throws {
        let session = try session(of: page)
        let place = SignInRoutes(server: server, access: access)
            .place(page.request, page.context)
        let wrong = try await engine.passkeys.confirm(
            session, password: form["password"], at: place)
        switch wrong {
        case nil: return
        case .shut(let until, let limit):
            throw EngineFailure.invalidOperator(
                LoginPage.Limit(limit).sentence(until: Timestamp(until)))
        case .wrong, .session, .unfinished:
            throw EngineFailure.invalidOperator("Your password is wrong. Nothing was changed.")
        }
    }

    private func session(of page: PageRequest) throws -> OperatorSession {
        guard let session = page.visit.session else { throw ProblemError(.formOutdated) }
        return session.stored
    }

    /// Shows the page that makes a passkey, with a ticket in a cookie.
    @Sendable private func begin(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        try await confirmed(page, form)
        let ticket = try await engine.passkeys.registrationTicket(in: try session(of: page))
        let request = PasskeyForm.Request(try await engine.passkeys.request(of: ticket))
        let html = NewPasskeyPage(
            request: request, agent: page.request.headers[.userAgent] ?? ""
        ).html(in: page.frame)
        var response = routes.response(html, to: page.request)
        response.headers.append(
            access.passkeyField(try await engine.passkeys.cookie(of: ticket)))
        return .response(response)
    }

    @Sendable private func add(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let session = try session(of: page)
        let ticket = try await SignInRoutes(server: server, access: access)
            .ticket(of: page.request)
        guard let ticket else {
            throw EngineFailure.invalidOperator(
                "This request has ended. Begin again, in one window.")
        }
        try await engine.passkeys.add(
            try RegistrationAnswer(form: form), named: form["name"] ?? "", with: ticket,
            in: session)
        return .done(.passkeyAdded, .account)
    }
}
