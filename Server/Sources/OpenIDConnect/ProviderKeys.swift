import AppStoreFormats
import Crypto
import _CryptoExtras

/// The algorithms of signatures that are accepted. An ID token with any other algorithm, such as
/// `none` or `HS256`, is rejected (RFC 8725, 3.1).
enum SigningAlgorithm: String, Hashable, Sendable, CaseIterable {
    case rs256 = "RS256"
    case es256 = "ES256"

    static let names = Set(allCases.map(\.rawValue))
}

/// The public keys of a provider (RFC 7517). Keys of other types or for other purposes are left
/// out.
struct ProviderKeys: Hashable, Sendable {
    /// The maximum size of the document, in bytes.
    static let bytesMax = 131_072
    /// The maximum number of keys in the document.
    static let keysMax = 100
    private static let idBytesMax = 512
    /// The sizes of RSA keys that are accepted, in bytes of the modulus: 2,048 to 8,192 bits. To
    /// verify with a longer key would take long.
    private static let modulusBytes = 256...1_024
    private static let exponentBytesMax = 4
    private static let coordinateBytes = 32

    struct Key: Hashable, Sendable {
        var id: String?
        var algorithm: SigningAlgorithm
        /// The modulus and the exponent of RSA, or the two coordinates of P-256.
        var numbers: [[UInt8]]
    }

    let keys: [Key]

    /// - Throws: ``OpenIDFailure/unreadable(_:)`` if the document is not a set of keys, or has more
    ///   than ``keysMax``.
    init(parsing bytes: [UInt8]) throws(OpenIDFailure) {
        guard let json = try? JSON(parsing: bytes), let list = json["keys"]?.array else {
            throw .unreadable("its keys are not a JSON object with a list of keys")
        }
        guard list.count <= Self.keysMax else {
            throw .unreadable("it has more than \(Self.keysMax) keys")
        }
        keys = list.compactMap(Self.key)
    }

    private static func key(_ json: JSON) -> Key? {
        guard [nil, "sig"].contains(json["use"]?.string) else { return nil }
        let id = json["kid"]?.string
        guard (id?.utf8.count ?? 0) <= idBytesMax else { return nil }
        let found: Key?
        switch json["kty"]?.string {
        case "RSA": found = rsaKey(json, id)
        case "EC": found = ecKey(json, id)
        default: found = nil
        }
        guard let found, [nil, found.algorithm.rawValue].contains(json["alg"]?.string) else {
            return nil
        }
        return found
    }

    private static func rsaKey(_ json: JSON, _ id: String?) -> Key? {
        guard let modulus = number(json["n"]), let exponent = number(json["e"]),
            modulusBytes.contains(modulus.count), (1...exponentBytesMax).contains(exponent.count)
        else { return nil }
        return Key(id: id, algorithm: .rs256, numbers: [modulus, exponent])
    }

    private static func ecKey(_ json: JSON, _ id: String?) -> Key? {
        guard json["crv"]?.string == "P-256", let x = number(json["x"]), let y = number(json["y"]),
            x.count == coordinateBytes, y.count == coordinateBytes
        else { return nil }
        return Key(id: id, algorithm: .es256, numbers: [x, y])
    }

    private static func number(_ json: JSON?) -> [UInt8]? {
        (json?.string).flatMap { Base64.url.decode(Array($0.utf8)) }
    }

    /// The key for a signature. Without an id, the only key for the algorithm (OpenID Connect Core
    /// 1.0, 10.1). Nil if there is no such key, or if several have the id.
    func key(id: String?, for algorithm: SigningAlgorithm) -> Key? {
        let found = keys.filter { $0.algorithm == algorithm && (id == nil || $0.id == id) }
        return found.count == 1 ? found[0] : nil
    }
}

extension ProviderKeys.Key {
    /// Whether a signature is valid. A key that is not on the curve, or is too short, signs
    /// nothing.
    func isValid(_ signature: [UInt8], for signed: [UInt8]) -> Bool {
        switch algorithm {
        case .rs256:
            guard let key = try? _RSA.Signing.PublicKey(n: numbers[0], e: numbers[1]) else {
                return false
            }
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: signed,
                padding: .insecurePKCS1v1_5)
        case .es256:
            guard let key = try? P256.Signing.PublicKey(rawRepresentation: numbers[0] + numbers[1]),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: signed)
        }
    }
}
