/// Apple's answer about a searched number. Apple is asked only about texts that have the form of
/// its numbers and are unknown here.
package enum AppleSearch: Hashable, Sendable {
    /// Something was found here, or the text is not a number of Apple.
    case notAsked
    /// Apple does not know the number either.
    case unknown
    /// Apple knows the number, but the purchase is not recorded here.
    case known(originalTransactionID: String)
    /// The server has no key for queries to Apple.
    case noKey
    /// Apple did not answer.
    case away

    /// The sentence to show if nothing was found.
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
