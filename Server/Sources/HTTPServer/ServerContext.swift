import Hummingbird
import Ledger
import NIOCore

/// The context of a request while it is processed.
package struct ServerContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The id of the request in the response, in problems, and in logs.
    var requestID = ""
    package let channel: any Channel
    /// The part of the body budget that the body uses; nil if there is no body.
    var bodyShare: BodyShare?
    let author = RequestAuthor()
    let trace = RequestTrace()
    /// The customer whom RevenueCat's SDK names by a token, on routes without an id in the path.
    var customerOfToken: CustomerID?

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
