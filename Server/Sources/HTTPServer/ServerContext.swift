import Hummingbird

/// What is known of a request while it is answered.
package struct ServerContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Names the request in the answer, in problems and in logs.
    var requestID = ""

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
    }
}
