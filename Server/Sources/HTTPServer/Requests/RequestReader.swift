import Engine
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import ServiceLifecycle
import Synchronization

/// Reads ids, environments, limits, and cursors from requests.
package enum RequestReader {
    /// Returns the customer's id in the path, or the one in the token of RevenueCat's SDK.
    static func customerID(in context: ServerContext) throws -> CustomerID {
        if let named = context.customerOfToken { return named }
        return CustomerID(rawValue: try parameter("id", called: "customer id", in: context))
    }

    /// Returns the decoded value of a path parameter.
    ///
    /// - Parameter name: the name of the parameter in an error message.
    static func parameter(
        _ parameter: String, called name: String, in context: ServerContext
    ) throws -> String {
        let segment = context.parameters.get(parameter)
        // Most ids contain no percent sign. This check is much faster than Foundation's decoder.
        if let segment, !segment.utf8.contains(UInt8(ascii: "%")) { return segment }
        guard let text = segment?.removingPercentEncoding else {
            throw ProblemError(.pathNotDecodable(name))
        }
        return text
    }

    /// Returns the environment in the query. The sandbox must be named explicitly, so that unpaid
    /// purchases never look like paid ones.
    static func environment(in request: Request) throws -> Ledger.Environment {
        guard request.uri.query != nil,
            let name = request.uri.queryParameters["environment"]
        else { return .production }
        guard let environment = Ledger.Environment(rawValue: String(name)) else {
            throw ProblemError(.environmentUnknown)
        }
        return environment
    }

    private static let idempotencyKeyBytesMax = 255

    static func idempotencyKey(in request: Request) throws -> String? {
        guard let key = request.headers[.idempotencyKey] else { return nil }
        guard !key.isEmpty, key.utf8.count <= idempotencyKeyBytesMax else {
            throw ProblemError(.idempotencyKeyLength(bytesMax: idempotencyKeyBytesMax))
        }
        return key
    }

    /// Parses `wait`. Returns nil if the request has none.
    static func wait(in request: Request) throws -> Duration? {
        guard let text = request.uri.queryParameters["wait"] else { return nil }
        guard let seconds = Int(text), CustomerWait.secondsRange.contains(seconds) else {
            throw ProblemError(.waitOutOfRange(CustomerWait.secondsRange))
        }
        return .seconds(seconds)
    }
}
