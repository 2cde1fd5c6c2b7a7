import Hummingbird
import NIOCore

/// What is known of a request while it is answered.
package struct ServerContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Names the request in the answer, in problems and in logs.
    var requestID = ""
    let channel: any Channel
    /// What the body takes of the budget; nil where there is no body.
    var bodyShare: BodyShare?

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
