import HTTPBasics
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

    /// The connection of the request, for a live stream.
    var liveConnection: LiveConnection {
        LiveConnection(channel) { [channel] body in
            channel.closeFuture.whenComplete { _ in body() }
        }
    }
}
