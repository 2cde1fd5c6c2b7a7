import Foundation
import Testing

@testable import StoreKit

@Suite struct EventParserTests {
    private static let text = "event: a\nid: 7\ndata: {\"x\":1}\n\n: keep-alive\n\ndata: b\r\n\r\n"

    @Test(arguments: [1, 2, 3, 5, 100])
    func `a stream's events do not depend on how its bytes are split`(size: Int) {
        let bytes = Data(Self.text.utf8)
        var parser = EventParser()
        var events: [EventParser.Event] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += parser.events(in: bytes[start..<min(start + size, bytes.count)])
        }
        #expect(
            events == [
                .init(name: "a", id: "7", data: Data(#"{"x":1}"#.utf8)),
                .init(name: "message", id: nil, data: Data("b".utf8)),
            ])
    }

    @Test func `an event is returned only when it is complete`() {
        var parser = EventParser()
        #expect(parser.events(in: Data("id: 1\ndata: half\n".utf8)).isEmpty)
    }
}

@Suite struct ResponseBodyTests {
    private static let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n"

    private func bodyText(of answer: String, by size: Int) -> String? {
        var (body, text, isOpen) = (ResponseBody(), "", false)
        let bytes = Array(answer.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            for piece in body.pieces(in: bytes[start..<min(start + size, bytes.count)]) {
                switch piece {
                case .opened: isOpen = true
                case .bytes(let data): text += String(decoding: data, as: UTF8.self)
                }
            }
        }
        return isOpen ? text : nil
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `the parsed body of an answer does not depend on how its bytes are split`(size: Int) {
        let chunks = "5\r\nhello\r\nc;x=1\r\n, cruel\nworl\r\n1\r\nd\r\n0\r\n\r\n"
        #expect(bodyText(of: Self.head + chunks, by: size) == "hello, cruel\nworld")
        #expect(bodyText(of: "HTTP/1.1 200 OK\r\n\r\na\r\nb", by: size) == "a\r\nb")
        #expect(bodyText(of: "HTTP/1.1 404 Not Found\r\n\r\n{}", by: size) == nil)
        #expect(bodyText(of: Self.head + "zz\r\nhello", by: size) == "")
    }
}
