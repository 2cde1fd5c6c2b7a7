public import Foundation

extension Perennial {
    /// Everything that can be set, with the values that most apps want.
    public struct Configuration: Sendable {
        /// The address of your Perennial server.
        public var server: URL
        /// An app key: `pk_…`.
        public var key: String
        /// Who is signed in already. Nil: whoever was last, or a new anonymous customer. An empty
        /// text, or one of more than 255 bytes, is no id, and counts as nil.
        public var customer: String?
        /// With false, nothing is bought or posted before `identify`: for apps that always have a
        /// log-in.
        public var allowsAnonymous: Bool
        public var role: Role
        /// The app group whose folder holds the files, if extensions or widgets read them.
        public var appGroup: String?
        /// Keys that sign tokens and offerings: members of the server's `/.well-known/jwks.json`.
        /// Without one, the first keys that the server sends are trusted, and after a launch
        /// nothing is known for some milliseconds longer.
        public var trustedKeys: [PublicKey]
        /// A file made by `perennial config export`, for a first launch without a network.
        public var bundledOfferings: URL?
        /// A proof from your own log-in for each request, where the server wants one.
        public var proof: (@Sendable (_ customer: String) async throws -> String)?
        public var log: LogHandler?
        /// How long access stays open after a period's end while neither the server nor the App
        /// Store can be reached. Seconds; 7 days.
        public var silentHold: TimeInterval
        /// The time limit of one request that a caller waits for. A call may send several.
        /// Seconds; 10.
        public var patience: TimeInterval
        /// Keeps one request open while the app runs, so that a grant, a refund or a purchase on
        /// the web shows within a second. With false it shows when the app comes to the
        /// foreground. A server holds 1,000 such requests at a time.
        public var waitsForChanges: Bool
        /// Where files are kept instead of the usual folder.
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

    /// Who finishes transactions.
    public struct Role: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Perennial buys, and finishes what its server has recorded.
        public static let seller = Self(rawValue: "seller")
        /// Other code buys and finishes. Perennial sees and posts.
        public static let observer = Self(rawValue: "observer")
    }

    /// A P-256 key that signs tokens: a member of `/.well-known/jwks.json`.
    public struct PublicKey: Hashable, Sendable {
        public var id: String
        /// The point's coordinates, each as Base64url of 32 bytes.
        public var x: String
        public var y: String

        public init(id: String, x: String, y: String) {
            self.id = id
            self.x = x
            self.y = y
        }
    }

    /// Takes what the SDK logs. It never contains documents, tokens, or ids of customers.
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
