/// The data that the signature of an answer covers. RevenueCat's SDK concatenates the same parts of
/// its request and of the answer, without separators. A part that is absent is empty.
package struct RevenueCatSignedAnswer: Hashable, Sendable {
    /// Random bytes that are sent with the signature.
    package var salt: [UInt8]
    /// The key in the request's `Authorization`; empty for calls without a key.
    package var key: String
    /// The random bytes that the SDK has chosen for this request. Empty for answers that are the
    /// same for all customers.
    package var nonce: [UInt8]
    /// The path as it was sent, with its percent encoding and without a query.
    package var path: String
    /// The value of `X-Post-Params-Hash`.
    package var parametersHash: String
    /// The value of `X-Headers-Hash`.
    package var headersHash: String
    /// The value of `X-RevenueCat-Request-Time`: milliseconds since 1970, in decimal digits.
    package var requestTime: String
    /// The value of `X-RevenueCat-ETag`.
    package var tag: String
    /// The body; empty for an answer with the status 304.
    package var body: [UInt8]

    package init(
        salt: [UInt8], key: String, nonce: [UInt8], path: String, parametersHash: String,
        headersHash: String, requestTime: String, tag: String, body: [UInt8]
    ) {
        self.salt = salt
        self.key = key
        self.nonce = nonce
        self.path = path
        self.parametersHash = parametersHash
        self.headersHash = headersHash
        self.requestTime = requestTime
        self.tag = tag
        self.body = body
    }

    /// The bytes to sign.
    package var payload: [UInt8] {
        let texts = [path, parametersHash, headersHash, requestTime, tag]
        return salt + Array(key.utf8) + nonce + texts.flatMap { Array($0.utf8) } + body
    }
}

/// The value of `X-Signature`, before Base64. It contains a signature by the server's key, and a
/// certificate, in which the root key confirms that the server's key is valid until a certain day.
/// The app knows the root key.
package struct RevenueCatSignature: Hashable, Sendable {
    /// The size of a nonce in a request, in bytes.
    package static let nonceBytes = 12
    /// The size of the salt in a signature, in bytes.
    package static let saltBytes = 16

    /// The server's public key, 32 bytes of Ed25519.
    package var key: [UInt8]
    /// The last day on which the key is valid, as a number of days since 1970-01-01.
    package var lastDay: UInt32
    /// The root key's signature of ``certified(_:until:)``, 64 bytes.
    package var certificate: [UInt8]
    package var salt: [UInt8]
    /// The server's signature of ``RevenueCatSignedAnswer/payload``, 64 bytes.
    package var signature: [UInt8]

    package init(
        key: [UInt8], lastDay: UInt32, certificate: [UInt8], salt: [UInt8], signature: [UInt8]
    ) {
        self.key = key
        self.lastDay = lastDay
        self.certificate = certificate
        self.salt = salt
        self.signature = signature
    }

    /// The bytes that the root key signs: the day, then the key.
    package static func certified(_ key: [UInt8], until lastDay: UInt32) -> [UInt8] {
        littleEndian(lastDay) + key
    }

    /// The 180 bytes of the header.
    package var bytes: [UInt8] {
        key + Self.littleEndian(lastDay) + certificate + salt + signature
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}

/// A value of `X-Post-Params-Hash` or `X-Headers-Hash`: the names of some values of the request,
/// and a digest of these values. An example is `app_user_id,fetch_token:sha256:…`.
package struct RevenueCatValuesHash: Hashable, Sendable {
    /// The maximum number of names.
    package static let namesMax = 10

    package var names: [String]
    /// The digest in hexadecimal, in lower case.
    package var digest: String

    /// Parses the value of the header. Returns nil if the text does not have this form.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1] == "sha256", !parts[0].isEmpty else { return nil }
        names = parts[0].split(separator: ",").map(String.init)
        digest = parts[2].lowercased()
        guard !names.isEmpty, names.count <= Self.namesMax else { return nil }
    }

    /// The bytes whose SHA-256 is the digest: the values in the order of the names, with a zero
    /// byte between two values. The value of an absent parameter is left out, but the list of names
    /// still contains its name.
    package static func input(of values: [String]) -> [UInt8] {
        Array(values.map { Array($0.utf8) }.joined(separator: [0]))
    }
}
