/// A JWS in compact form (RFC 7515 §7.1), taken apart but not trusted: three base64url segments,
/// joined by dots.
package struct CompactJWS: Hashable, Sendable {
    /// The three segments as they came. The signature covers `header.payload`, byte for byte.
    package let headerSegment: ArraySlice<UInt8>
    package let payloadSegment: ArraySlice<UInt8>
    package let signatureSegment: ArraySlice<UInt8>
    /// What the signature covers: everything before the second dot.
    package let signedBytes: ArraySlice<UInt8>

    /// Nil unless there are exactly three segments, none of them empty.
    package init?(_ bytes: [UInt8]) {
        let parts = bytes.split(
            separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        (headerSegment, payloadSegment, signatureSegment) = (parts[0], parts[1], parts[2])
        signedBytes = bytes[..<parts[1].endIndex]
    }

    package init?(_ text: String) { self.init(Array(text.utf8)) }

    package var header: [UInt8]? { Base64.url.decode(headerSegment) }
    package var payload: [UInt8]? { Base64.url.decode(payloadSegment) }
    package var signature: [UInt8]? { Base64.url.decode(signatureSegment) }
}

/// The protected header of Apple's JWS.
package struct JWSHeader: WireObject {
    package var algorithm: String?
    /// Certificates in DER, each as standard base64: leaf, intermediate, root.
    package var certificates: [String]?
    /// Only in Xcode's: `Apple_Xcode_Key`.
    package var keyID: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some Fields) {
        fields.field("alg", &algorithm)
        fields.field("kid", &keyID)
        fields.field("x5c", &certificates)
    }
}
