import AppStoreFormats
import Testing

@Suite struct CompactJWSTests {
    @Test func `three segments are taken apart and decoded`() throws {
        let jws = try #require(CompactJWS("e30.WzFd.AAH_"))
        #expect(jws.header == Array("{}".utf8))
        #expect(jws.payload == Array("[1]".utf8))
        #expect(jws.signature == [0, 1, 255])
        #expect(Array(jws.signedBytes) == Array("e30.WzFd".utf8))
    }

    @Test(arguments: ["", "a", "a.b", "a.b.c.d", "a.b.c.", ".a.b", "a..b", "a.b.", "..", "..."])
    func `another number of segments, or an empty one, is no JWS`(text: String) {
        #expect(CompactJWS(text) == nil)
    }

    @Test func `a segment that is no base64url is not decoded`() throws {
        let jws = try #require(CompactJWS("e3+.e30=.Zh"))
        #expect(jws.header == nil)
        #expect(jws.payload == nil)
        #expect(jws.signature == nil)
    }

    @Test func `a text is made of what was signed, and of the signature`() throws {
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

    @Test func `Apple's header names algorithm and certificates`() throws {
        let text = #"{"alg":"ES256","x5c":["QQ==","Qg=="],"typ":"JWT"}"#
        let header = try JWSHeader(parsing: text.utf8)
        #expect(header.algorithm == "ES256")
        #expect(header.certificates == ["QQ==", "Qg=="])
        #expect(header.keyID == nil)
        #expect(header.unknown == [.init("typ", "JWT")])
    }
}
