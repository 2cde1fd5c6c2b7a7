import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract

extension NotificationPages {
    func addForwards(to router: Router<ServerContext>) {
        routes.page(DashboardPath.forwarded.path, of: router, forwarded)
        routes.act("/forwards/{document_id}/retry", for: .admin, of: router, retry)
    }

    /// Forwards a notification again, to the address of the row.
    @Sendable private func retry(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        guard let address = form["address"] else {
            throw ProblemError(
                .requestNotUnderstood, detail: "The field “address” is missing.")
        }
        guard let document = Hexadecimal.bytes(try page.parameter("document_id")) else {
            throw ProblemError(.forwardUnknown)
        }
        switch try await engine.forwarding.retry(of: document, toAddress: address, app: app) {
        case true?:
            page.audit.change(to: ["address": address])
            return .done(.retried, .forwarded)
        case false?: return .done(.retryNotDue, .forwarded)
        case nil:
            page.audit.leaveOut()
            return .done(.retryAddressGone, .forwarded)
        }
    }

    @Sendable private func forwarded(_ page: PageRequest) async throws -> String {
        let forwards = try await server.forwardRoutes.list(of: app, after: page.cursor)
        let states = engine.forwarding.states.filter { $0.app == app }
        let addresses = states.map { state in
            let own = forwards.items.filter { $0.url == state.label }
            let last = own.first { $0.attempts > 0 && $0.state != .accepted }
            return NotificationsPage.Address(
                url: state.label, environments: [],
                trouble: state.waiting > 0
                    ? last.flatMap { $0.lastTrouble ?? $0.lastStatus.map { "answers \($0)" } }
                    : nil,
                waiting: state.waiting,
                oldestWaiting: state.waiting > 0
                    ? Timestamp(engine.context.serverTime - state.oldestAge) : nil,
                accepted: own.count { $0.state == .accepted },
                nextAttemptAt: own.compactMap(\.nextAttemptAt).min())
        }
        return NotificationsPage(
            .forwarded(.init(addresses: addresses, forwards: forwards)), waiting: forwardsWaiting
        ).html(in: page.frame)
    }
}
