import Ledger
import Storage

extension CustomerService {
    /// The maximum number of ids of one customer.
    package static let idsMax = 100
    /// Without proofs of identity, an app may add ids to a customer only up to this number of ids.
    /// The remaining ids are reserved for the app's server, and for the id that is set as account
    /// token.
    package static let idsByAppMax = 50
    /// If a customer has at most this number of ids, a merge with an anonymous customer also adds
    /// the anonymous customer's unused account tokens. The remaining ids are reserved for the app's
    /// server.
    static let idsWithUnusedTokensMax = 75
}

extension AppSettings {
    /// The maximum number of ids that a request with an app key may give a customer.
    var idsByAppMax: Int {
        proof != nil || joinsPeople ? CustomerService.idsMax : CustomerService.idsByAppMax
    }

    /// Whether a merge must not change the attributes of a person. If the app proves no identity,
    /// an attacker can guess a person's id and merge an anonymous id into it.
    func keepsAttributes(isByApp: Bool) -> Bool { isByApp && proof == nil && !joinsPeople }
}
