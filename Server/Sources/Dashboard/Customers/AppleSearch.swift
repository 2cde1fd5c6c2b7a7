/// What Apple said of a number that was searched for. It is asked about numbers of its own, of
/// which nothing is known here.
package enum AppleSearch: Hashable, Sendable {
    /// Something was found here, or the text is no number of Apple's.
    case notAsked
    /// Apple knows none either.
    case unknown
    /// Apple knows it, but the purchase is not recorded here.
    case known(originalTransactionID: String)
    /// The server has no key with which it could ask.
    case noKey
    /// Apple did not answer.
    case away

    /// What there is to say if nothing was found.
    var sentence: Markup {
        switch self {
        case .notAsked: ""
        case .unknown: "Apple was asked and does not know it either."
        case .known(let transaction):
            """
            Apple knows it as original transaction \(.bdi(transaction)), but that purchase is not \
            recorded here.
            """
        case .noKey:
            """
            Apple may know it, but this server has no key for the App Store \
            Server API.
            """
        case .away: "Apple may know it, but could not be asked. Search again in a few minutes."
        }
    }
}
