/// The App Store itself.
public enum AppStore: Sendable {
    /// Whether the device's restrictions allow purchases. True if the simulator does not answer.
    /// Blocks the thread until the answer arrives.
    public static var canMakePayments: Bool {
        struct Device: Decodable { let canMakePayments: Bool }
        let answer = StoreClient(.current).readBlocking("", as: Device.self)
        return answer?.canMakePayments ?? true
    }

    /// The identifier to which documents are bound. Nil if the simulator does not answer, or if no
    /// account is signed in. Blocks the thread until the answer arrives.
    public static var deviceVerificationID: UUID? {
        struct Answer: Decodable { let deviceVerificationId: String }
        return StoreClient(.current).readBlocking("app-transaction", as: Answer.self)
            .flatMap { UUID(uuidString: $0.deviceVerificationId) }
    }

    /// Asks the customer for the account's password, and fetches the purchases from the store. Call
    /// this function only after an action of the customer.
    ///
    /// - Throws: ``StoreKitError``, such as ``StoreKitError/userCancelled``.
    public static func sync() async throws {
        struct Answer: Decodable {}
        _ = try await StoreClient(.current).post("sync", as: Answer.self)
    }

    public struct Environment: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let production = Self(rawValue: "Production")
        public static let sandbox = Self(rawValue: "Sandbox")
        public static let xcode = Self(rawValue: "Xcode")
    }

    public struct Platform: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let iOS = Self(rawValue: "iOS")
        public static let macOS = Self(rawValue: "macOS")
        public static let tvOS = Self(rawValue: "tvOS")
        public static let visionOS = Self(rawValue: "visionOS")
    }
}
