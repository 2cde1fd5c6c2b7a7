import Testing

@testable import Perennial

struct MessageCodeTests {
    @Test func `a message code is an HMAC-SHA256`() throws {
        // HMAC-SHA256 of an empty text, with 32 zero bytes as the key.
        let code = try #require(MessageCode(key: [UInt8](repeating: 0, count: 32)))
        #expect(
            code.code(of: []).hexadecimal
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
        #expect(code.isCode(code.code(of: [1]), of: [1]))
        #expect(!code.isCode(code.code(of: [1]), of: [2]))
        #expect(!code.isCode([], of: [1]))
    }

    @Test func `a key for message codes is refused if it does not have 32 bytes`() {
        #expect(MessageCode(key: []) == nil)
        #expect(MessageCode(key: [UInt8](repeating: 0, count: 31)) == nil)
    }
}
