/// A JWS in compact form (RFC 7515 §7.1): three base64url segments, joined by dots. The text was
/// split, but its signature was not verified.
package struct CompactJWS: Hashable, Sendable {
    /// The three segments as received. The signature covers `header.payload`, byte for byte.
    package let headerSegment: ArraySlice<UInt8>
    package let payloadSegment: ArraySlice<UInt8>
    package let signatureSegment: ArraySlice<UInt8>
    /// The bytes that the signature covers: everything before the second dot.
    package let signedBytes: ArraySlice<UInt8>

    /// Splits a text. Returns nil unless there are exactly three segments, and none of them is
    /// empty.
    package init?(_ bytes: [UInt8]) {
        let dot = UInt8(ascii: ".")
        guard let first = bytes.firstIndex(of: dot, from: 0), first > 0,
            let second = bytes.firstIndex(of: dot, from: first + 1), second > first + 1,
            second + 1 < bytes.count, bytes.firstIndex(of: dot, from: second + 1) == nil
        else { return nil }
        headerSegment = bytes[..<first]
        payloadSegment = bytes[(first + 1)..<second]
        signatureSegment = bytes[(second + 1)...]
        signedBytes = bytes[..<second]
    }

    package init?(_ text: String) { self.init(Array(text.utf8)) }

    package var header: [UInt8]? { Base64.url.decode(headerSegment) }
    package var payload: [UInt8]? { Base64.url.decode(payloadSegment) }
    package var signature: [UInt8]? { Base64.url.decode(signatureSegment) }

    /// Signs claims as a compact JWS with ES256, with the key id in the header. Tokens for Apple's
    /// APIs and customer tokens have this form.
    ///
    /// - Parameter type: the kind of the signed text, which is the header's `typ` (RFC 8725 §3.11).
    /// - Parameter sign: returns the signature of bytes: its two numbers, of 32 bytes each (RFC
    ///   7518 §3.4).
    /// - Throws: the error that `sign` throws.
    package static func text<Failure: Error>(
        _ claims: JSON, by keyID: String, type: String = "JWT",
        _ sign: ([UInt8]) throws(Failure) -> [UInt8]
    ) throws(Failure) -> String {
        let header: JSON = ["alg": "ES256", "kid": .string(keyID), "typ": .string(type)]
        let dot = UInt8(ascii: ".")
        let signed = Base64.url.encode(header.bytes) + [dot] + Base64.url.encode(claims.bytes)
        let signature = try sign(signed)
        let token = signed + [dot] + Base64.url.encode(signature)
        return String(decoding: token, as: UTF8.self)
    }
}

/// The protected header of Apple's JWS.
package struct JWSHeader: WireObject {
    package var algorithm: String?
    /// The certificates of leaf, intermediate and root in DER, each in standard base64.
    package var certificates: [String]?
    /// The id of the key: `Apple_Xcode_Key`. Only documents of Xcode contain it.
    package var keyID: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("alg", &algorithm)
        fields.field("kid", &keyID)
        fields.field("x5c", &certificates)
    }
}
