import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix

/// Explains to a user at a terminal why a request got no answer.
enum NetworkTrouble {
    /// Returns a phrase for the middle of a sentence, such as `the connection was refused`.
    static func text(of error: any Error) -> String {
        switch error {
        case let failure as NIOConnectionError: text(of: failure)
        case let failure as IOError: text(errno: failure.errnoCode)
        case let failure as HTTPClientError where slow.contains(failure):
            "there was no answer in time"
        case let failure as HTTPClientError where failure == .remoteConnectionClosed:
            "the connection was closed before the answer"
        default: "\(error)"
        }
    }

    private static let slow: [HTTPClientError] = [
        .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded,
    ]

    private static func text(of failure: NIOConnectionError) -> String {
        if let attempt = failure.connectionErrors.first { return text(of: attempt.error) }
        return "there is no host \(failure.host)"
    }

    private static func text(errno: CInt) -> String {
        switch errno {
        case ECONNREFUSED: "the connection was refused"
        case ECONNRESET: "the connection was closed before the answer"
        case EHOSTUNREACH, ENETUNREACH: "that host cannot be reached"
        case ETIMEDOUT: "there was no answer in time"
        default: String(cString: strerror(errno))
        }
    }
}
