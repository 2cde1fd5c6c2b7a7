import Testing

@testable import Traces

@Suite struct OTLPRequestTests {
    private static let span = FinishedSpan(
        trace: Array(1...16), span: Array(17...24), parent: Array(25...32),
        name: "POST /v1/…", kind: .server, start: 1_700_000_000_000_000_000,
        end: 1_700_000_000_012_345_678,
        attributes: [
            .init("flag", .flag(true)), .init("number", .integer(-1)), .init("text", .text("x y")),
        ], isError: true, message: "no response")

    private static func body(_ spans: [FinishedSpan]) -> [UInt8] {
        OTLPRequest.body(
            spans, resource: [.init("service.name", .text("perennial"))],
            scope: ("perennial", "0.1.0"))
    }

    @Test func `numbers are written in groups of seven bits, the lowest first`() {
        var writer = ProtocolBufferWriter()
        writer.number(1, 300)
        writer.bytes(2, [7])
        writer.fixed64(3, 1)
        #expect(writer.bytes == [0x08, 0xAC, 0x02, 0x12, 0x01, 0x07, 0x19, 1, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test(.enabled(if: CollectorDecoder.isPresent, CollectorDecoder.absence))
    func `the published definition of the messages reads every value`() async throws {
        var first = Self.span
        (first.parent, first.isError, first.attributes) = (nil, false, [])
        let lines = try await CollectorDecoder.lines(of: Self.body([first, Self.span]))
        let ids = "0102030405060708090a0b0c0d0e0f10 1112131415161718"
        let times = "2 1700000000000000000 1700000000012345678"
        #expect(
            lines == [
                "resource service.name perennial", "scope perennial 0.1.0",
                "span POST /v1/… \(ids) - \(times) 0 -",
                "span POST /v1/… \(ids) 191a1b1c1d1e1f20 \(times) 2 no response",
                "attribute flag bool True", "attribute number int -1", "attribute text str x y",
            ])
    }

    @Test(.enabled(if: CollectorDecoder.isPresent, CollectorDecoder.absence))
    func `a request without spans is read`() async throws {
        #expect(try await CollectorDecoder.lines(of: Self.body([])).count == 2)
    }
}
