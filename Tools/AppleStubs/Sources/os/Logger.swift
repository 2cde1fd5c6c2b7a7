// Follows "Logger", "OSLogMessage" and "OSSignposter" in Apple's documentation of os.
// Privacy is a parameter of the interpolation there, too.

public struct Logger: Sendable {
    public init(subsystem: String, category: String) {}
    public func debug(_ message: OSLogMessage) {}
    public func info(_ message: OSLogMessage) {}
    public func notice(_ message: OSLogMessage) {}
    public func warning(_ message: OSLogMessage) {}
    public func error(_ message: OSLogMessage) {}
    public func fault(_ message: OSLogMessage) {}
    public func log(level: OSLogType, _ message: OSLogMessage) {}
}

public struct OSLogType: RawRepresentable, Equatable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let `default` = Self(rawValue: 0)
    public static let info = Self(rawValue: 1)
    public static let debug = Self(rawValue: 2)
    public static let error = Self(rawValue: 16)
    public static let fault = Self(rawValue: 17)
}

public struct OSLogPrivacy: Sendable {
    public static var `public`: OSLogPrivacy { OSLogPrivacy() }
    public static var `private`: OSLogPrivacy { OSLogPrivacy() }
    public static var auto: OSLogPrivacy { OSLogPrivacy() }
}

public struct OSLogMessage: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {}
    public init(stringInterpolation: StringInterpolation) {}

    public struct StringInterpolation: StringInterpolationProtocol {
        public init(literalCapacity: Int, interpolationCount: Int) {}
        public mutating func appendLiteral(_ literal: String) {}
        public mutating func appendInterpolation(
            _ value: @autoclosure @escaping () -> String, privacy: OSLogPrivacy = .auto
        ) {}
        public mutating func appendInterpolation(
            _ value: @autoclosure @escaping () -> some BinaryInteger, privacy: OSLogPrivacy = .auto
        ) {}
    }
}

public struct OSSignposter: Sendable {
    public init(subsystem: String, category: String) {}
    public func makeSignpostID() -> OSSignpostID {
        preconditionFailure("a stub has declarations only")
    }
    public func beginInterval(
        _ name: StaticString, id: OSSignpostID = .exclusive
    ) -> OSSignpostIntervalState {
        preconditionFailure("a stub has declarations only")
    }
    public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) {}
    public func emitEvent(_ name: StaticString) {}
}

public struct OSSignpostID: Sendable {
    public static let exclusive = Self()
}

// Apple's pages do not say that it is sendable.
public final class OSSignpostIntervalState {}

@available(*, unavailable)
extension OSSignpostIntervalState: Sendable {}
