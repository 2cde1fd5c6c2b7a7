import Foundation
import PerennialContract

@testable import Perennial

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The attributes of a ``LateServer``.
struct AttributeBooks: Sendable {
    /// Why a request fails.
    struct Failure: Sendable {
        var status: Int
        /// The code of the problem. Nil if the answer contains no problem.
        var code: String?
        var retryAfter: Int?
    }

    /// The latest changes, also deletions, by customer and name.
    var values: [String: [String: AttributeSetting]] = [:]
    /// The failure of every request. Nil if requests succeed.
    var failure: Failure?
    /// The server refuses a request that contains this name.
    var refusedName: String?

    /// The values of a customer, by name.
    func present(of customer: String) -> [String: String] {
        (values[customer] ?? [:]).compactMapValues(\.value)
    }

    /// - Parameter now: the server's time. The server stores no later time. Nil if the changes were
    ///   stored before.
    mutating func set(
        _ changes: [AttributeSetting], of customer: String, at now: Timestamp? = nil
    ) {
        for var change in changes {
            if let now { change.at = change.at.map { min($0, now) } }
            let known = values[customer]?[change.name]
            if let at = change.at, let last = known?.at, at < last { continue }
            values[customer, default: [:]][change.name] = change
        }
    }

    mutating func join(_ alias: String, to customer: String) {
        guard let other = values.removeValue(forKey: alias) else { return }
        set(Array(other.values), of: customer)
    }
}

extension LateServer.Books {
    /// Answers a request that changes attributes.
    ///
    /// - Parameter now: the server's time.
    mutating func change(
        of name: String, by request: URLRequest, at now: Timestamp
    ) throws -> (Data, URLResponse) {
        let changes = try JSONDecoder().decode(
            AttributesRequest.self, from: request.httpBody ?? Data()
        ).attributes
        let isRefused = changes.contains { $0.name == attributes.refusedName }
        if let failure = isRefused
            ? AttributeBooks.Failure(status: 422, code: "attribute_not_valid") : attributes.failure
        {
            let body = try failure.code.map {
                try JSONEncoder().encode(
                    Problem(
                        code: .init(rawValue: $0), status: failure.status, title: "No.",
                        remedy: "Ask for less."))
            }
            let headers = failure.retryAfter.map { ["Retry-After": "\($0)"] } ?? [:]
            return (body ?? Data(), try LateServer.response(failure.status, headers))
        }
        attributes.set(changes, of: customers[name] ?? name, at: now)
        return (
            try JSONEncoder().encode(AttributeList(items: [])),
            try LateServer.response(200, ["Perennial-Server-Time": "\(now)"])
        )
    }
}
