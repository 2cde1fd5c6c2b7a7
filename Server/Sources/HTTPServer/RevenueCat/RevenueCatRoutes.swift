import Engine
import Hummingbird
import Ledger
import RevenueCatWebhooks
import RevenueCatWire
import Storage

/// The routes by which RevenueCat's SDK reads and identifies customers, and the routes whose
/// content is not stored.
struct RevenueCatRoutes: RouteGroup {
    let server: PerennialServer

    private var gate: RevenueCatGate { RevenueCatGate(server: server) }

    var all: [Route] { customers + accepted + withoutKey + absent }

    private var customers: [Route] {
        [
            gate.keyed(
                .post, "/v1/subscribers/identify", "revenueCatIdentify", signed: .withNonce,
                identify),
            gate.keyed(.post, "/v1/subscribers/{id}/alias", "revenueCatAlias", alias),
            gate.keyed(
                .get, "/v1/customercenter/{id}", "revenueCatCustomerCenter", customerCenter),
            gate.keyed(
                .get, "/v1/customer/customercenter", "revenueCatCustomerCenterByToken",
                customerCenter),
        ]
            + gate.about(
                .get, "", "revenueCatSubscriber", from: .both(.read), signed: .withNonce,
                subscriber)
    }

    /// The routes whose content is not stored. The SDK would send these requests again forever if
    /// they were refused.
    private var accepted: [Route] {
        [
            "/v1/subscribers/{id}/attribution", "/v1/subscribers/{id}/adservices_attribution",
            "/v1/customer/attribution", "/v1/customer/adservices_attribution",
            "/v1/events", "/v1/diagnostics",
        ].map {
            gate.keyed(.post, $0, "revenueCatAccepted", from: .both(.support), gate.accept)
        }
    }

    private var withoutKey: [Route] {
        [
            gate.open(.get, "/v1/health", "revenueCatHealth") { _, _ in
                try JSONResponse.ok(RevenueCatValue.object([]))
            },
            gate.open(
                .get, "/v1/subscribers/{id}/health_report_availability", "revenueCatReports"
            ) { _, _ in
                try JSONResponse.ok(RevenueCatValue.object([.init("report_logs", .bool(false))]))
            },
        ]
    }

    /// The routes of features that this server does not have. The SDK works without these features.
    private var absent: [Route] {
        [
            gate.keyed(.post, "/v1/subscribers/redeem_purchase", "revenueCatRedeem") { _, _, _ in
                throw RevenueCatProblem(
                    .badRequest, .invalidWebPurchase, "There are no web purchases here.")
            },
            gate.keyed(
                .post, "/v1/customercenter/support/create-ticket", "revenueCatTicket"
            ) { _, _, _ in
                try JSONResponse.ok(RevenueCatValue.object([.init("sent", .bool(false))]))
            },
            gate.keyed(.post, "/v1/config/app", "revenueCatConfiguration") { _, _, _ in
                throw RevenueCatProblem(
                    .notFound, .badRequest, "There is no remote configuration here.")
            },
        ]
            + ["/v1/subscribers/{id}/health_report", "/v1/customer/health_report"].map {
                gate.keyed(.get, $0, "revenueCatReport") { _, _, _ in
                    throw RevenueCatProblem(
                        .notFound, .badRequest, "There is no health report here.")
                }
            }
    }

    @Sendable func subscriber(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let subscriber = try await gate.subscriber(
            try await gate.state(of: id, request, holder), for: holder)
        return try gate.respond(subscriber.value, taggedBy: subscriber.content, to: request)
    }

    @Sendable func customerCenter(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        guard let email = try engine.context.settings(of: holder.app).revenueCat.supportEmail else {
            throw RevenueCatProblem(
                .notFound, .badRequest,
                "The customer center needs support_email under revenuecat in perennial.yaml.")
        }
        return try JSONResponse.ok(RevenueCatCustomerCenter.value(email: email))
    }

    // MARK: - Log in

    private struct LogIn: Decodable {
        /// The current id.
        var appUserId: String?
        var newAppUserId: String
    }

    /// Logs a device in. The status is 201 if the wanted id was unknown.
    @Sendable func identify(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let ids = try await RevenueCatGate.value(LogIn.self, of: request, max: BodyLimit.order)
        return try await logIn(
            from: ids.appUserId ?? ids.newAppUserId, to: ids.newAppUserId, request, holder)
    }

    /// The log-in of old versions of the SDK.
    @Sendable func alias(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let ids = try await RevenueCatGate.value(LogIn.self, of: request, max: BodyLimit.order)
        let current = try RequestReader.customerID(in: context)
        return try await logIn(from: current.rawValue, to: ids.newAppUserId, request, holder)
    }

    private func logIn(
        from current: String, to wanted: String, _ request: Request, _ holder: StoredKey
    ) async throws -> Response {
        let (current, wanted) = (CustomerID(rawValue: current), CustomerID(rawValue: wanted))
        let isKnown = try await engine.customers.isKnown(wanted, app: holder.app)
        var response = try await gate.respond(
            try await join(current, to: wanted, request, holder), to: holder)
        if !isKnown { response.status = .created }
        return response
    }

    /// Links the purchases of a device on which nobody had signed in, under the rules of our own
    /// route for aliases. If the current id is not anonymous, or if those rules refuse the alias,
    /// the device only changes to the other customer. Then the purchases of the current id stay
    /// with that id, and a restore still finds them, as with RevenueCat.
    ///
    /// Anybody who has the app's key can use up the growth limit, so this limit should not make the
    /// log-in fail. The limit stops only ids without purchases. If nothing is stored for the
    /// anonymous id, the log-in succeeds without the alias, and nothing is lost. Otherwise the
    /// anonymous id may have a grant or a balance, which no restore would find. Then the log-in
    /// fails, and can be repeated.
    func join(
        _ current: CustomerID, to wanted: CustomerID, _ request: Request, _ holder: StoredKey
    ) async throws -> CustomerState {
        guard current.isAnonymous, current != wanted else {
            return try await gate.state(of: wanted, request, holder)
        }
        do {
            return try await engine.customers.alias(
                current, to: wanted, app: holder.app,
                environment: RevenueCatGate.environment(of: request),
                proofs: RequestAuthorization.proofs(in: request.headers, of: holder))
        } catch {
            switch error {
            case .aliasJoinsTwoPeople, .aliasNotProven, .tooManyIDs,
                .identityNotProven(.ofOneOnly):
                break
            case .growthBudgetExhausted:
                guard try await !engine.customers.isKnown(current, app: holder.app) else {
                    throw error
                }
            default: throw error
            }
            return try await gate.state(of: wanted, request, holder)
        }
    }
}
