public import Foundation

extension Perennial {
    /// Everything that can be configured. The defaults suit most apps.
    public struct Configuration: Sendable {
        /// The address of your Perennial server.
        public var server: URL
        /// An app key: `pk_…`. Anybody can read the keys in an app, so never use a secret key here.
        public var key: String
        /// The id of the customer who is already signed in. If nil, the SDK uses the last customer
        /// of this device, or a new anonymous customer. An empty id, or an id of more than 255
        /// bytes, counts as nil.
        public var customer: String?
        /// Whether the SDK may buy and post before `identify` is called. Set the value to false if
        /// the app always requires a log-in.
        public var allowsAnonymous: Bool
        /// Whether Perennial or other code buys. The default is that Perennial buys.
        public var role: Role
        /// The app group whose folder contains the files, so that extensions or widgets can read
        /// them. If nil, the files are in the app's own folder.
        public var appGroup: String?
        /// Keys that sign tokens and offerings: members of the server's `/.well-known/jwks.json`.
        /// If the list is empty, the SDK trusts the first keys that the server sends, and access is
        /// unknown for some milliseconds longer after a launch.
        public var trustedKeys: [PublicKey]
        /// A file made by `perennial config export`. The SDK uses the file at a first launch
        /// without a network.
        public var bundledOfferings: URL?
        /// Returns a proof from your own log-in system that the app acts for the customer, if the
        /// server requires one. The SDK calls the closure before each request about the customer,
        /// and waits at most ``patience``. If the closure throws, the request is tried again later.
        public var proof: (@Sendable (_ customer: String) async throws -> String)?
        /// Receives the SDK's log lines. If nil, the lines go to the system's log.
        public var log: LogHandler?
        /// How many seconds access stays open after a period's end while neither the server nor the
        /// App Store can be reached. The default is 7 days.
        public var silentHold: TimeInterval
        /// The time limit, in seconds, of one request for which a caller waits. One call may send
        /// several requests. The default is 10.
        public var patience: TimeInterval
        /// Whether the SDK keeps one request open while the app runs. With this request, the SDK
        /// learns of a grant, a refund or a purchase on the web within a second. If false, the SDK
        /// learns of such changes when the app comes to the foreground. A server holds at most
        /// 1,000 such requests at a time.
        public var waitsForChanges: Bool
        /// The folder for the files, instead of the usual one.
        public var folder: URL?

        public init(server: URL, key: String) {
            self.server = server
            self.key = key
            allowsAnonymous = true
            role = .seller
            trustedKeys = []
            silentHold = 7 * 24 * 3600
            patience = 10
            waitsForChanges = false
        }
    }

    /// Whether Perennial or other code buys and finishes transactions.
    public struct Role: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Perennial buys, and finishes the transactions that its server has recorded.
        public static let seller = Self(rawValue: "seller")
        /// Other code buys and finishes. Perennial only reads the transactions and posts them.
        public static let observer = Self(rawValue: "observer")
    }

    /// A P-256 key that signs tokens: a member of `/.well-known/jwks.json`.
    public struct PublicKey: Hashable, Sendable {
        public var id: String
        /// The point's coordinates, each 32 bytes in Base64url.
        public var x: String
        public var y: String

        public init(id: String, x: String, y: String) {
            self.id = id
            self.x = x
            self.y = y
        }
    }

    /// Receives the SDK's log lines. The lines never contain documents, tokens, or ids of
    /// customers.
    public struct LogHandler: Sendable {
        public var level: Level
        public var write: @Sendable (_ level: Level, _ category: String, _ message: String) -> Void

        public init(
            level: Level = .notice,
            write: @escaping @Sendable (Level, _ category: String, _ message: String) -> Void
        ) {
            self.level = level
            self.write = write
        }

        public struct Level: RawRepresentable, Hashable, Comparable, Sendable {
            public let rawValue: Int
            public init(rawValue: Int) { self.rawValue = rawValue }

            public static let debug = Self(rawValue: 0)
            public static let info = Self(rawValue: 1)
            public static let notice = Self(rawValue: 2)
            public static let error = Self(rawValue: 3)

            public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
        }
    }
}
