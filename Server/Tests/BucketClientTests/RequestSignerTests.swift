import Crypto
import Ledger
import Testing

@testable import BucketClient

/// The examples of "Authenticating Requests: Using the Authorization Header (AWS Signature Version
/// 4)" in Amazon's reference of S3, and of its test suite for signatures.
@Suite struct RequestSignerTests {
    private static let signer = RequestSigner(
        BucketCredentials(
            accessKeyID: "AKIAIOSFODNN7EXAMPLE",
            secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1")
    private static let host = "examplebucket.s3.amazonaws.com"
    private static let day = Instant("2013-05-24T00:00:00.000Z")!

    struct Example: Sendable {
        var method = "GET"
        var path = "/"
        var query: [String: String] = [:]
        var headers: [String: String] = [:]
        var body = ""
        var signature: String
    }

    @Test(arguments: [
        Example(
            path: "/test.txt", headers: ["range": "bytes=0-9"],
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        Example(
            method: "PUT", path: "/test%24file.text",
            headers: [
                "date": "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class": "REDUCED_REDUNDANCY",
            ], body: "Welcome to Amazon S3.",
            signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        Example(
            query: ["lifecycle": ""],
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        Example(
            query: ["max-keys": "2", "prefix": "J"],
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ])
    func `the requests in Amazon's examples get the signatures in the examples`(example: Example) {
        let request = BucketRequest(
            example.method, base: "https://\(Self.host)", path: example.path,
            query: example.query, headers: example.headers, body: Array(example.body.utf8))
        let signed = Self.signer.signed(request, host: Self.host, at: Self.day)
        let authorization = signed.headers["authorization"] ?? ""
        #expect(
            authorization.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                    + "aws4_request, SignedHeaders="))
        #expect(authorization.hasSuffix("Signature=\(example.signature)"))
    }

    @Test func `the simplest request of Amazon's test suite gets the expected signature`() {
        let signer = RequestSigner(
            BucketCredentials(
                accessKeyID: "AKIDEXAMPLE",
                secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            region: "us-east-1", service: "service")
        let request = BucketRequest(
            "GET", base: "https://example.amazonaws.com", path: "/",
            headers: ["host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z"])
        #expect(
            signer.authorization(of: request)
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/"
                + "aws4_request, SignedHeaders=host;x-amz-date, Signature="
                + "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
    }

    @Test func `a session token is sent and signed`() {
        var credentials = BucketCredentials(accessKeyID: "id", secretAccessKey: "secret")
        credentials.sessionToken = "token"
        let request = BucketRequest("GET", base: "https://\(Self.host)", path: "/")
        let signed = RequestSigner(credentials, region: "eu-west-1")
            .signed(request, host: Self.host, at: Self.day)
        #expect(signed.headers["x-amz-security-token"] == "token")
        #expect(signed.headers["authorization"]?.contains(";x-amz-security-token,") == true)
    }

    @Test func `the parameters of a query are encoded, and sorted by name`() {
        let request = BucketRequest(
            "GET", base: "https://x", path: "/",
            query: ["prefix": "a b/ü", "list-type": "2", "continuation-token": "1+/="])
        #expect(
            request.query
                == "continuation-token=1%2B%2F%3D&list-type=2&prefix=a%20b%2F%C3%BC")
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy"),
    ])
    func `our base64 text equals that of RFC 4648`(text: String, expected: String) {
        #expect(BucketClient.base64(Array(text.utf8)) == expected)
    }
}
