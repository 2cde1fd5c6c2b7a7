import AppStoreFormats

extension CompactJWS {
    /// How many certificates Apple puts in a header: leaf, intermediate and root.
    static let certificateCount = 3
    /// The key id in documents that Xcode signs, each with a certificate of its own making.
    static let xcodeKeyID = "Apple_Xcode_Key"

    /// Takes a document apart. Throws where it is too long, or not of three segments.
    init(reading jws: [UInt8]) throws(Refusal) {
        guard jws.count <= Verifier.jwsBytesMax else {
            throw Refusal(
                .tooLong, expected: "at most \(Verifier.jwsBytesMax)", found: "\(jws.count) bytes")
        }
        guard let parts = CompactJWS(jws) else {
            throw Refusal(
                .notAJWS, expected: "three, joined by dots: a compact JWS",
                found: "another number of segments")
        }
        guard parts.headerSegment.count <= Verifier.headerBytesMax else {
            throw Refusal(
                .tooLong, expected: "at most \(Verifier.headerBytesMax)",
                found: "\(parts.headerSegment.count) bytes of header")
        }
        self = parts
    }

    /// The leaf and the intermediate certificate in DER, from the header. The third is left where
    /// it is.
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
        // RFC 7515 §4.1.11: who does not understand what is marked critical must refuse.
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
            throw Refusal(.headerUnreadable, expected: "base64url", found: "something else")
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
                found: "something else")
        }
        return der
    }
}
