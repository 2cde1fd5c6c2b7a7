import Foundation
import PerennialContract

@testable import Perennial

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server with a wallet, behind a network that sometimes answers in the server's place.
final class StrangeServer: Sendable {
    enum Fault: String, CaseIterable, Sendable {
        case offline
        /// A network that wants a log-in answers with a page and the status 200.
        case page
        /// A proxy answers without a body and with the status 200.
        case empty
        /// The network redirects to its own page.
        case redirect
        /// A firewall refuses the request with a page.
        case firewall
        /// A proxy does not find the server.
        case notFound
        /// The server does not know the app key, for example after a wrong deployment.
        case wrongKey
    }

    private struct State {
        var fault: Fault?
        var requests = 0
        var debits: [(key: String, amount: Int64)] = []
    }

    static let balance: Int64 = 100
    private let server: LateServer
    private let state = Locked(State())

    init(_ clock: VirtualClock) {
        server = LateServer(.init(gives: AnswerRow.shop), after: 0, by: clock, signer: nil)
    }

    /// The requests that got the answer of the fault.
    var faults: Int { state.withLock { $0.requests } }
    /// The amounts that were debited, each time that the server booked a request.
    var booked: [Int64] { state.withLock { $0.debits.map(\.amount) } }
    var isCustomerErased: Bool { server.requests.contains { $0.hasPrefix("DELETE") } }

    func has(_ fault: Fault?) {
        state.withLock {
            $0.fault = fault
            $0.requests = 0
        }
    }

    @Sendable func send(_ request: URLRequest) async throws -> (Data, URLResponse) {
        let fault = state.withLock { state in
            if state.fault != nil, request.url?.path.contains("customers") == true {
                state.requests += 1
            }
            return state.fault
        }
        if let fault { return try Self.answer(fault) }
        let parts = (request.url?.path ?? "").split(separator: "/").map(String.init)
        if parts.last == "debits" { return try book(request) }
        let (body, response) = try await server.send(request)
        switch (request.httpMethod ?? "", parts.dropFirst().first ?? "", parts.count) {
        case ("GET", "offerings", _):
            var offerings = try JSONDecoder().decode(Offerings.self, from: body)
            offerings.wallets["seeds"] = .init(spend: "app", maxOffline: 50, allowsDebt: false)
            return (try JSONEncoder().encode(offerings), response)
        case ("GET", "customers", 3):
            var customer = try JSONDecoder().decode(PerennialContract.Customer.self, from: body)
            customer.wallets["seeds"] = .init(balance: Self.balance - booked.reduce(0, +))
            return (try JSONEncoder().encode(customer), response)
        default: return (body, response)
        }
    }

    private func book(_ request: URLRequest) throws -> (Data, URLResponse) {
        let debit = try JSONDecoder().decode(
            DebitRequest.self, from: request.httpBody ?? Data())
        let key = request.value(forHTTPHeaderField: "Idempotency-Key") ?? ""
        let balance = state.withLock { state in
            if !state.debits.contains(where: { $0.key == key }) {
                state.debits.append((key, debit.amount))
            }
            return Self.balance - state.debits.reduce(0) { $0 + $1.amount }
        }
        let answer = Debit(
            debitID: key, currency: "seeds", amount: debit.amount, reason: debit.reason,
            at: server.clock.now(), balance: balance)
        return (try JSONEncoder().encode(answer), try LateServer.response(200))
    }

    private static func answer(_ fault: Fault) throws -> (Data, URLResponse) {
        let page = Data("\n<!doctype html><title>Welcome</title>".utf8)
        switch fault {
        case .offline: throw URLError(.notConnectedToInternet)
        case .page: return (page, try LateServer.response(200))
        case .empty: return (Data(), try LateServer.response(200))
        case .redirect:
            let headers = ["Location": "http://login.example/?from=late.test"]
            return (page, try LateServer.response(302, headers))
        case .firewall: return (page, try LateServer.response(403))
        case .notFound: return (page, try LateServer.response(404))
        case .wrongKey:
            let problem = Problem(
                code: .keyUnknown, status: 401, title: "The key is not known.",
                remedy: "Send another key.")
            return (try JSONEncoder().encode(problem), try LateServer.response(401))
        }
    }
}
