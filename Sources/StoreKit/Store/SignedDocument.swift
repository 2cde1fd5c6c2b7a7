/// A compact JWS and its parts. The signature is not verified here.
struct SignedDocument: Sendable {
    let jws: String
    let header: Data
    let payload: Data
    let signature: Data

    /// Parses a JWS. Returns nil if the text does not have three parts in Base64.
    init?(_ jws: String) {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
            .map { Data(base64URL: $0) }
        guard parts.count == 3, let header = parts[0], let payload = parts[1],
            let signature = parts[2]
        else { return nil }
        self.jws = jws
        self.header = header
        self.payload = payload
        self.signature = signature
    }

    /// The bytes that were signed: the header and the payload as they were encoded.
    var signedData: Data { Data(jws.prefix { $0 != "." }.utf8) + Data(".".utf8) + encodedPayload }

    private var encodedPayload: Data {
        Data(jws.split(separator: ".", omittingEmptySubsequences: false)[1].utf8)
    }

    /// The payload, for debugging.
    var text: String { String(decoding: payload, as: UTF8.self) }
}

/// A value that is decoded from a signed document.
protocol SignedValue {
    /// Decodes the payload. Returns nil if the payload lacks a required member.
    init?(_ document: SignedDocument)
}

extension Data {
    /// Decodes Base64 with the URL alphabet and without padding. Returns nil for any other text.
    init?(base64URL text: Substring) {
        var plain = text.replacing("-", with: "+").replacing("_", with: "/")
        plain += String(repeating: "=", count: (4 - plain.count % 4) % 4)
        self.init(base64Encoded: String(plain))
    }
}

extension Date {
    /// - Parameter milliseconds: milliseconds since 1970. Xcode's times may have a fraction. If
    ///   nil, the result is nil.
    init?(milliseconds: Double?) {
        guard let milliseconds else { return nil }
        self.init(timeIntervalSince1970: milliseconds / 1000)
    }
}

extension Decimal {
    /// - Parameter milliunits: thousandths of the unit, as in signed prices. If nil, the result is
    ///   nil.
    init?(milliunits: Int64?) {
        guard let milliunits else { return nil }
        self = Decimal(milliunits) / 1000
    }
}

extension UUID {
    /// The UUID in a text, or a UUID of zeros if the text contains none.
    init(lenient text: String?) {
        self =
            text.flatMap { UUID(uuidString: $0) }
            ?? UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    }
}
