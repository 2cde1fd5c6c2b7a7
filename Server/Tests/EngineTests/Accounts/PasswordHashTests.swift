import Testing

@testable import Engine

@Suite struct PasswordHashTests {
    private static let cost = PasswordHash.Cost(rounds: 1, blockSize: 1, passes: 1)
    private static let password = "correct horse battery staple"

    @Test func `a password hash that is read from text matches the password in any Unicode form`()
        throws
    {
        let hash = try PasswordHash("caf\u{E9} au lait", cost: Self.cost)
        let stored = try #require(PasswordHash(hash.text))
        #expect(stored == hash)
        #expect(try stored.matches("cafe\u{301} au lait"), "typed on another keyboard")
        #expect(try !stored.matches("cafe au lait"))
        #expect(try hash.text != PasswordHash("caf\u{E9} au lait", cost: Self.cost).text, "salted")
        #expect(PasswordHash("scrypt:4:8:1:00") == nil && PasswordHash("") == nil)
    }

    @Test func `a password hash with one changed bit of its key does not match`() throws {
        let text = try PasswordHash(Self.password, cost: Self.cost).text
        let head = text.prefix(upTo: try #require(text.lastIndex(of: ":")))
        let key = try #require(Hexadecimal.bytes(String(text.dropFirst(head.count + 1))))
        for bit in 0..<key.count * 8 {
            var other = key
            other[bit / 8] ^= 1 << (bit % 8)
            let hash = try #require(PasswordHash("\(head):\(Hexadecimal.text(other))"))
            #expect(try !hash.matches(Self.password), "bit \(bit)")
        }
    }

    @Test func `a password hash matches no other password`() throws {
        let hash = try PasswordHash(Self.password, cost: Self.cost)
        for number in 0..<5_000 {
            #expect(try !hash.matches("another password \(number)"), "\(number), \(hash.text)")
        }
        #expect(try !hash.matches(""))
        #expect(try !PasswordHash.decoy(cost: Self.cost).matches(""))
    }
}
