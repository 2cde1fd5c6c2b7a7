import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import Logging

/// Who may see a page or carry out an act. A file with pages names the permission in the parameter
/// `for` when it registers a path. The default is `viewer`.
enum Permission: Hashable, Sendable {
    /// Operators with at least this role for the app.
    case viewer, support, admin
    /// Operators who see money: those with the role `viewer` or `admin`.
    case money
    /// Admins of every app: only they manage operators.
    case manager
    /// Every operator. For acts on the operator's own session or password.
    case session

    /// Whether an act is about the app, so that its audit entry belongs to the app.
    var isOfApp: Bool {
        switch self {
        case .viewer, .support, .admin, .money: true
        case .manager, .session: false
        }
    }

    /// - Throws: ``ProblemError`` if the viewer is not permitted.
    func require(of viewer: Viewer) throws {
        switch self {
        case .viewer, .session: return
        case .support: try require(.support, of: viewer)
        case .admin: try require(.admin, of: viewer)
        case .money:
            guard viewer.seesMoney else {
                throw ProblemError(.roleNotEnough("viewer in addition to support, or admin"))
            }
        case .manager:
            guard viewer.managesOperators else {
                throw ProblemError(.roleNotEnough("admin of every app"))
            }
        }
    }

    private func require(_ role: Viewer.Role, of viewer: Viewer) throws {
        guard viewer.role.includes(role) else {
            throw ProblemError(.roleNotEnough(role.rawValue))
        }
    }
}

extension DashboardRoutes {
    /// Begins the audit entry of an act for the app. Returns nil if the act is not about the app.
    ///
    /// - Parameter path: the pattern of the path. In the audit entry, the act of
    ///   `/customers/{id}/grants` is named `customers.grants`. The subject of the entry is the last
    ///   parameter of the path other than the customer, unless the act sets another subject.
    func begin(
        _ path: String, for permission: Permission, _ page: PageRequest
    ) throws -> PendingAct? {
        guard permission.isOfApp else { return nil }
        let parts = path.split(separator: "/")
        let parameters = parts.filter { $0.hasPrefix("{") }.map { $0.dropFirst().dropLast() }
        let subject = try parameters.last { $0 != "id" }.map { try page.parameter(String($0)) }
        let act = parts.filter { !$0.hasPrefix("{") }.joined(separator: ".")
        // The entry must not name an erased customer. An erasure affects both environments.
        let customer = parameters.contains("id") && act != "customers.erase"
        return engine.audit.begin(
            act, by: page.visit.viewer.name, app: app,
            environment: customer ? page.environment : nil,
            customer: customer ? try page.customer : nil, subject: subject)
    }

    /// Completes the entry of an act that is done. A failure is only logged: if the page reported
    /// it, the operator would think that the act did not happen.
    func complete(_ act: PendingAct, _ page: PageRequest) async {
        let draft = page.audit.content
        do {
            try await engine.audit.complete(
                act, subject: draft.subject, before: draft.before, after: draft.after)
        } catch {
            page.context.logger.error(
                "the audit entry of an operator's act could not be completed",
                metadata: [
                    "act": .string(act.name),
                    "operator": .string(page.visit.viewer.name),
                    "request_id": .string(page.context.requestID), "error": "\(error)",
                ])
        }
    }
}
