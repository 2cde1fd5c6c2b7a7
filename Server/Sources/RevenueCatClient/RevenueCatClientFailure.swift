import Ledger

/// Why RevenueCat was not read. None of these failures says anything about a customer's access.
package enum RevenueCatClientFailure: Error, Hashable, Sendable {
    /// Status 401. `wasAccepted` says whether an earlier request was accepted with the same key.
    case keyRefused(wasAccepted: Bool)
    /// Status 403: the key may not read the requested data.
    case forbidden(what: String)
    /// Status 404 for the project itself.
    case unknownProject(String)
    /// No attempt succeeded: there was no response, or a status of 408, 423, 429 or 5xx.
    case unavailable(String)
    /// Any other status of 4xx. `customer` is the customer whom the request was about, if any.
    case refused(customer: CustomerID?, answer: String)
    /// The response does not have the expected form.
    case unreadable(String)
    case limitExceeded(what: String, limit: Int)
}

extension RevenueCatClientFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .keyRefused(wasAccepted: false): "RevenueCat does not accept the key."
        case .keyRefused(wasAccepted: true):
            "RevenueCat accepted the key at first, and does not accept it any more."
        case .forbidden(let what): "The key may not read \(what) at RevenueCat."
        case .unknownProject(let project): "RevenueCat has no project \(project) for this key."
        case .unavailable(let reason): "RevenueCat is not available: \(reason)."
        case .refused(let customer, let answer):
            "RevenueCat refuses a request about "
                + (customer.map { "customer “\($0.rawValue)”" } ?? "the project")
                + ": \(answer)."
        case .unreadable(let what): "This is not a valid response of RevenueCat: \(what)."
        case .limitExceeded(let what, let limit):
            "RevenueCat lists more than \(limit) \(what), which is the limit."
        }
    }

    /// What an operator can do about the failure.
    package var remedy: String {
        switch self {
        case .keyRefused(wasAccepted: false):
            "Create a secret key of version 2 in RevenueCat's dashboard, under API keys. Public "
                + "keys and keys of version 1 are refused."
        case .keyRefused(wasAccepted: true):
            "It expired or was revoked. Create another one, and run the same command again."
        case .forbidden:
            "Give the key the permissions to read customer information and the project's "
                + "configuration."
        case .unknownProject:
            "Use the id in the address of the project's dashboard, with `proj` in front, and a "
                + "key of this project."
        case .unavailable:
            "Check the outgoing network and --from, then run the same command again."
        case .refused(.some, _):
            "Check the id. If it is in the file of --customers, correct it or take it out. Then "
                + "run the same command again."
        case .refused(nil, _): "Check --project and --from."
        case .unreadable: "Check --from, and whether a proxy responds instead of RevenueCat."
        case .limitExceeded: "Name the customers to compare in a file, with --customers."
        }
    }
}
