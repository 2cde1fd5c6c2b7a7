internal import Foundation

/// Reports when the app comes to the foreground, and when the device is unlocked, because files
/// that could not be read before can then be read. `Engine.enterForeground` decides what follows.
enum ForegroundWatch {
    /// The names of the notifications. The names are texts, because extensions must not link the
    /// frameworks that declare the constants.
    private static let notifications = [
        "UIApplicationWillEnterForegroundNotification",
        "UIApplicationProtectedDataDidBecomeAvailable",
        "NSApplicationWillBecomeActiveNotification",
        "NSExtensionHostWillEnterForegroundNotification",
    ]

    /// One element for each event. The stream ends when its reader ends.
    static func returns() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        #if canImport(Darwin)
            let observers = Observers(
                notifications.map { name in
                    NotificationCenter.default.addObserver(
                        forName: Notification.Name(name), object: nil, queue: nil
                    ) { _ in continuation.yield() }
                })
            continuation.onTermination = { _ in observers.remove() }
        #else
            _ = notifications
        #endif
        return stream
    }

    #if canImport(Darwin)
        private final class Observers: @unchecked Sendable {
            private let tokens: [any NSObjectProtocol]

            init(_ tokens: [any NSObjectProtocol]) { self.tokens = tokens }

            func remove() {
                for token in tokens { NotificationCenter.default.removeObserver(token) }
            }
        }
    #endif
}
