import AppStoreFormats
import Testing

@Suite struct CompactJWSTests {
    @Test func `the three segments of a compact JWS are split and decoded`() throws {
        let jws = try #require(CompactJWS("e30.WzFd.AAH_"))
        #expect(jws.header == Array("{}".utf8))
        #expect(jws.payload == Array("[1]".utf8))
        #expect(jws.signature == [0, 1, 255])
        #expect(Array(jws.signedBytes) == Array("e30.WzFd".utf8))
    }

    @Test(arguments: ["", "a", "a.b", "a.b.c.d", "a.b.c.", ".a.b", "a..b", "a.b.", "..", "..."])
    func `a text with a missing, empty or additional segment is not a JWS`(text: String) {
        #expect(CompactJWS(text) == nil)
    }

    @Test func `a segment that is not base64url is not decoded`() throws {
        let jws = try #require(CompactJWS("e3+.e30=.Zh"))
        #expect(jws.header == nil)
        #expect(jws.payload == nil)
        #expect(jws.signature == nil)
    }

    @Test func `a new JWS consists of the signed bytes and the signature`() throws {
        var signed: [UInt8] = []
        let text = CompactJWS.text(["sub": "anna"], by: "k") { bytes in
            signed = bytes
            return [0, 1, 255]
        }
        let jws = try #require(CompactJWS(text))
        #expect(Array(jws.signedBytes) == signed)
        #expect(jws.header == Array(#"{"alg":"ES256","kid":"k","typ":"JWT"}"#.utf8))
        #expect(jws.payload == Array(#"{"sub":"anna"}"#.utf8))
        #expect(jws.signature == [0, 1, 255])
    }

    @Test func `the algorithm and the certificates are read from Apple's header`() throws {
        let text = #"{"alg":"ES256","x5c":["QQ==","Qg=="],"typ":"JWT"}"#
        let header = try JWSHeader(parsing: text.utf8)
        #expect(header.algorithm == "ES256")
        #expect(header.certificates == ["QQ==", "Qg=="])
        #expect(header.keyID == nil)
        #expect(header.unknown == [.init("typ", "JWT")])
    }
}
