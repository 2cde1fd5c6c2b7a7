import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import Passkeys
import PerennialContract

/// Sign-ins with a passkey: alone, or as the step after the password. The browser's ticket says
/// which of them a request belongs to.
extension SignInRoutes {
    func addPasskeys(to router: Router<ServerContext>) {
        get(DashboardPath.passkeySignIn.text, of: router) { request, context in
            let next = DashboardRoutes.local(FormFields(request.uri.query ?? "")["next"])
            let ticket = engine.passkeys.signInTicket().returning(to: next)
            return try await page(of: ticket, request, .ok)
        }
        get(DashboardPath.signInStep.text, of: router) { request, _ in
            guard let ticket = try await ticket(of: request), ticket.isAfterPassword else {
                return Response(
                    status: .seeOther, headers: [.location: DashboardPath.login.text])
            }
            return try await page(of: ticket, request, .ok)
        }
        post(DashboardPath.passkeySignIn.text, of: router, signInWithPasskey)
        post(DashboardPath.recovery.text, of: router, signInWithCode)
        post(DashboardPath.enrolment.text, of: router, enrol)
    }

    /// Sends the browser to the step after the password, with a ticket in a cookie.
    func nextStep(_ ticket: PasskeyTicket) async throws -> Response {
        var response = Response(
            status: .seeOther, headers: [.location: DashboardPath.signInStep.text])
        response.headers.append(
            access.passkeyField(try await engine.passkeys.cookie(of: ticket)))
        return response
    }

    /// The ticket in the browser's cookie. Nil if there is none, or if it has expired.
    func ticket(of request: Request) async throws -> PasskeyTicket? {
        guard let cookie = request.cookie(access.passkeyCookie) else { return nil }
        return try await engine.passkeys.ticket(inCookie: cookie)
    }

    // MARK: - Answers

    @Sendable private func signInWithPasskey(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        guard let ticket = try await ticket(of: request) else { return stepEnded }
        let form = try await DashboardRoutes.form(in: request)
        let answer: AssertionAnswer
        do throws(PasskeyFailure) {
            answer = try AssertionAnswer(
                credential: form["credential"] ?? "", client: form["client"] ?? "",
                authenticator: form["authenticator"] ?? "", signature: form["signature"] ?? "",
                user: form["user"] ?? "")
        } catch {
            return try await page(of: ticket, request, .badRequest, trouble: error.sentence)
        }
        let result = try await engine.passkeys.signIn(
            answer, with: ticket, from: place(request, context))
        return try await response(to: result, ticket, request)
    }

    @Sendable private func signInWithCode(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        guard let ticket = try await ticket(of: request) else { return stepEnded }
        let form = try await DashboardRoutes.form(in: request)
        let result = try await engine.passkeys.signIn(
            recoveryCode: form["code"] ?? "", with: ticket, from: place(request, context))
        return try await response(to: result, ticket, request)
    }

    @Sendable private func enrol(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        guard let ticket = try await ticket(of: request) else { return stepEnded }
        let form = try await DashboardRoutes.form(in: request)
        let answer: RegistrationAnswer
        do throws(PasskeyFailure) {
            answer = try RegistrationAnswer(
                client: form["client"] ?? "", attestation: form["attestation"] ?? "")
        } catch {
            return try await page(of: ticket, request, .badRequest, trouble: error.sentence)
        }
        let result = try await engine.passkeys.enrol(
            answer, named: form["name"] ?? "", with: ticket, from: place(request, context))
        return try await response(to: result, ticket, request)
    }

    private func response(
        to result: PasskeySignIn, _ ticket: PasskeyTicket, _ request: Request
    ) async throws -> Response {
        switch result {
        case .session(let token):
            var response = session(token, next: ticket.next)
            response.headers.append(access.passkeyField(nil))
            return response
        case .outdated: return stepEnded
        case .refused(let sentence, let again):
            return try await page(of: again, request, .forbidden, trouble: sentence)
        case .shut(let until, let limit):
            return DashboardRoutes.page(
                PasskeyPage.shut(
                    by: LoginPage.Limit(limit), until: Timestamp(until), host: access.host
                ).html(), status: .tooManyRequests)
        }
    }

    private var stepEnded: Response {
        DashboardRoutes.page(PasskeyPage.ended(host: access.host).html(), status: .badRequest)
    }

    /// The page of a ticket. The response stores the ticket in the browser.
    private func page(
        of ticket: PasskeyTicket, _ request: Request, _ status: HTTPResponse.Status,
        trouble: String? = nil
    ) async throws -> Response {
        let step: PasskeyPage.Step
        switch ticket.purpose {
        case .signIn: step = .alone
        case .secondFactor: step = .second(name: ticket.operatorName)
        case .enrolment:
            step = .first(
                name: ticket.operatorName, agent: request.headers[.userAgent] ?? "")
        case .registration: return stepEnded
        }
        let page = PasskeyPage(
            host: access.host, step: step,
            request: PasskeyForm.Request(try await engine.passkeys.request(of: ticket)),
            trouble: trouble)
        var response = DashboardRoutes.page(page.html(), status: status)
        response.headers.append(
            access.passkeyField(try await engine.passkeys.cookie(of: ticket)))
        return response
    }
}

extension PasskeyTicket {
    fileprivate var isAfterPassword: Bool {
        switch purpose {
        case .secondFactor, .enrolment: true
        case .signIn, .registration: false
        }
    }
}

extension RegistrationAnswer {
    /// - Throws: ``EngineFailure/invalidOperator(_:)`` if a field is malformed.
    init(form: FormFields) throws {
        do throws(PasskeyFailure) {
            try self.init(
                client: form["client"] ?? "", attestation: form["attestation"] ?? "")
        } catch { throw EngineFailure.invalidOperator(error.sentence) }
    }
}

extension PasskeyForm.Request {
    init(_ request: PasskeyRequest) {
        self.init(
            challenge: request.challenge, host: request.host, operatorName: request.operatorName,
            user: request.user, passkeys: request.passkeys)
    }
}

extension DashboardAccess {
    /// The name of the cookie with the ticket of a passkey: see ``sessionCookie``.
    var passkeyCookie: String {
        origin.isSecure ? "__Host-perennial-passkey" : "perennial-passkey"
    }

    /// The field `Set-Cookie` that stores a ticket in a browser, or deletes it if there is none.
    func passkeyField(_ ticket: String?) -> HTTPField {
        cookieField(passkeyCookie, ticket, life: PasskeyTicket.life, sameSite: "Strict")
    }
}
