// After Apple's documentation of CryptoKit. The same declarations of swift-crypto run in our tests.

public import Foundation

private func declarationOnly() -> Never {
    preconditionFailure("a stub has declarations only")
}

public protocol Digest: Hashable, ContiguousBytes, Sequence, Sendable where Element == UInt8 {
    static var byteCount: Int { get }
}

public struct SHA256Digest: Digest {
    public static var byteCount: Int { 32 }
    public func makeIterator() -> Array<UInt8>.Iterator { declarationOnly() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        declarationOnly()
    }
}

public protocol HashFunction: Sendable {
    associatedtype Digest: CryptoKit.Digest
    init()
    mutating func update<D: DataProtocol>(data: D)
    func finalize() -> Digest
    static func hash<D: DataProtocol>(data: D) -> Digest
}

public struct SHA256: HashFunction {
    public typealias Digest = SHA256Digest
    public init() {}
    public mutating func update<D: DataProtocol>(data: D) { declarationOnly() }
    public func finalize() -> SHA256Digest { declarationOnly() }
    public static func hash<D: DataProtocol>(data: D) -> SHA256Digest { declarationOnly() }
}

public struct SymmetricKeySize: Sendable {
    public static var bits128: SymmetricKeySize { declarationOnly() }
    public static var bits256: SymmetricKeySize { declarationOnly() }
}

public struct SymmetricKey: ContiguousBytes, Equatable, Sendable {
    public init<D: ContiguousBytes>(data: D) {}
    public init(size: SymmetricKeySize) {}
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        declarationOnly()
    }
}

public struct HashedAuthenticationCode<H: HashFunction>: Hashable, ContiguousBytes, Sequence,
    Sendable
{
    public func makeIterator() -> Array<UInt8>.Iterator { declarationOnly() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        declarationOnly()
    }
}

public struct HMAC<H: HashFunction>: Sendable {
    public typealias MAC = HashedAuthenticationCode<H>
    public static func authenticationCode<D: DataProtocol>(
        for data: D, using key: SymmetricKey
    ) -> MAC { declarationOnly() }
    public static func isValidAuthenticationCode<C: ContiguousBytes, D: DataProtocol>(
        _ authenticationCode: C, authenticating authenticatedData: D, using key: SymmetricKey
    ) -> Bool { declarationOnly() }
}

public enum P256: Sendable {
    public enum Signing: Sendable {
        public struct ECDSASignature: Sendable {
            public init<D: DataProtocol>(rawRepresentation: D) throws { declarationOnly() }
            public init<D: DataProtocol>(derRepresentation: D) throws { declarationOnly() }
            public var rawRepresentation: Data { declarationOnly() }
        }

        public struct PublicKey: Sendable {
            public init<D: ContiguousBytes>(rawRepresentation: D) throws { declarationOnly() }
            public init<B: ContiguousBytes>(x963Representation: B) throws { declarationOnly() }
            public var rawRepresentation: Data { declarationOnly() }
            public var x963Representation: Data { declarationOnly() }
            public func isValidSignature<D: DataProtocol>(
                _ signature: ECDSASignature, for data: D
            ) -> Bool { declarationOnly() }
            public func isValidSignature<D: CryptoKit.Digest>(
                _ signature: ECDSASignature, for digest: D
            ) -> Bool { declarationOnly() }
        }
    }
}
