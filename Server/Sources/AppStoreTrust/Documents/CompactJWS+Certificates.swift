import AppStoreFormats

extension CompactJWS {
    /// The number of certificates that Apple puts in a header: leaf, intermediate, and root.
    static let certificateCount = 3
    /// The key id in documents that Xcode signs. Each such document has a certificate that Xcode
    /// generates itself.
    static let xcodeKeyID = "Apple_Xcode_Key"

    /// Splits a document into its segments. Throws if it is too long or does not have three
    /// segments.
    init(reading jws: [UInt8]) throws(Refusal) {
        guard jws.count <= Verifier.jwsBytesMax else {
            throw Refusal(
                .tooLong, expected: "at most \(Verifier.jwsBytesMax)", found: "\(jws.count) bytes")
        }
        guard let parts = CompactJWS(jws) else {
            throw Refusal(
                .notAJWS, expected: "3", found: Self.partsText(of: jws))
        }
        guard parts.headerSegment.count <= Verifier.headerBytesMax else {
            throw Refusal(
                .tooLong, expected: "at most \(Verifier.headerBytesMax)",
                found: "\(parts.headerSegment.count) bytes of header")
        }
        self = parts
    }

    /// The number of parts for a message, such as `1 part`. Empty parts are not counted, so the
    /// number can differ from the number of dots plus one.
    private static func partsText(of jws: [UInt8]) -> String {
        let count = jws.split(separator: UInt8(ascii: ".")).count
        return count == 1 ? "1 part" : "\(count) parts"
    }

    /// The leaf and the intermediate certificate in DER, from the header. The third certificate is
    /// not used.
    func certificates() throws(Refusal) -> (leaf: [UInt8], intermediate: [UInt8]) {
        let header = try readHeader()
        guard header.keyID != Self.xcodeKeyID else {
            throw Refusal(
                .environmentNeverTrusted, expected: "Production or Sandbox",
                found: StoreEnvironment.xcode.rawValue)
        }
        guard header.algorithm == "ES256" else {
            throw Refusal(
                .algorithm, expected: "ES256", found: header.algorithm ?? "no algorithm named")
        }
        // RFC 7515 §4.1.11: a recipient that does not understand a critical extension must refuse.
        guard !header.unknown.contains(where: { $0.key == "crit" }) else {
            throw Refusal(
                .criticalHeader, expected: "none", found: "critical extensions in its header")
        }
        let texts = header.certificates ?? []
        guard texts.count == Self.certificateCount else {
            throw Refusal(
                .certificateCount, expected: "\(Self.certificateCount)",
                found: "\(texts.count) certificates")
        }
        return (try Self.der(texts[0]), try Self.der(texts[1]))
    }

    private func readHeader() throws(Refusal) -> JWSHeader {
        guard let bytes = header else {
            throw Refusal(.headerUnreadable, expected: "base64url", found: "not base64url")
        }
        do throws(JSONFailure) {
            return try JWSHeader(parsing: bytes)
        } catch {
            throw Refusal(
                .headerUnreadable, expected: "a JSON object", found: "not readable (\(error))")
        }
    }

    private static func der(_ text: String) throws(Refusal) -> [UInt8] {
        guard let der = Base64.standard.decode(text.utf8) else {
            throw Refusal(
                .certificateUnreadable, expected: "certificates in base64",
                found: "certificates in another encoding")
        }
        return der
    }
}
