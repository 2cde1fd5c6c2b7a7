import Hummingbird
import NIOCore

/// The simulator's data about a request, besides the request itself.
package struct SimulatorContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Calls a function when the client's connection has ended.
    func onClose(_ body: @escaping @Sendable () -> Void) {
        channel.closeFuture.whenComplete { _ in body() }
    }
}
