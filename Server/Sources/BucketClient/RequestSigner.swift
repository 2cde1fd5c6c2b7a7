import Crypto
import Ledger

/// Signs requests by Amazon's "Signature Version 4".
///
/// A signature covers the method, the path, the query, all given headers, and the SHA-256 of the
/// body. It is a chain of HMAC-SHA256: the secret key signs the day, the result signs the region,
/// and so on to the request. The server accepts it for 15 minutes.
struct RequestSigner: Sendable {
    private let credentials: BucketCredentials
    private let region: String
    private let service: String

    private static let algorithm = "AWS4-HMAC-SHA256"
    private static let ending = "aws4_request"

    /// - Parameter service: `s3`; another one in tests.
    init(_ credentials: BucketCredentials, region: String, service: String = "s3") {
        self.credentials = credentials
        self.region = region
        self.service = service
    }

    /// Adds the headers of the date, the body's hash and the signature.
    func signed(_ request: BucketRequest, host: String, at now: Instant) -> BucketRequest {
        var request = request
        request.headers["host"] = host
        request.headers["x-amz-date"] = Self.stamp(of: now)
        request.headers["x-amz-content-sha256"] = Self.hex(SHA256.hash(data: request.body))
        request.headers["x-amz-security-token"] = credentials.sessionToken
        request.headers["authorization"] = authorization(of: request)
        return request
    }

    /// The value of the header `Authorization` for a request with all other headers.
    func authorization(of request: BucketRequest) -> String {
        let stamp = request.headers["x-amz-date"] ?? ""
        let day = String(stamp.prefix(8))
        let scope = [day, region, service, Self.ending].joined(separator: "/")
        let text = [
            Self.algorithm, stamp, scope,
            Self.hex(SHA256.hash(data: Array(canonicalText(of: request).utf8))),
        ].joined(separator: "\n")
        let key = [day, region, service, Self.ending]
            .reduce(SymmetricKey(data: Array("AWS4\(credentials.secretAccessKey)".utf8))) {
                SymmetricKey(data: Self.code(of: $1, by: $0))
            }
        return "\(Self.algorithm) Credential=\(credentials.accessKeyID)/\(scope), "
            + "SignedHeaders=\(Self.names(in: request)), "
            + "Signature=\(Self.hex(Self.code(of: text, by: key)))"
    }

    /// Amazon's "canonical request".
    func canonicalText(of request: BucketRequest) -> String {
        let headers = request.headers.sorted { $0.key < $1.key }
            .map { "\($0.key):\(Self.trimmed($0.value))\n" }.joined()
        let hash = request.headers["x-amz-content-sha256"]
        return [
            request.method, request.path, request.query, headers, Self.names(in: request),
            hash ?? Self.hex(SHA256.hash(data: request.body)),
        ].joined(separator: "\n")
    }

    private static func names(in request: BucketRequest) -> String {
        request.headers.keys.sorted().joined(separator: ";")
    }

    /// Without spaces at the ends, and with one space for several.
    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ").joined(separator: " ")
    }

    /// For example `20261130T083751Z`.
    static func stamp(of now: Instant) -> String {
        now.description.prefix("2026-11-30T08:37:51".count).filter { $0 != "-" && $0 != ":" } + "Z"
    }

    private static func code(
        of text: String, by key: SymmetricKey
    ) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)
    }

    /// Hexadecimal digits, in small letters.
    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
