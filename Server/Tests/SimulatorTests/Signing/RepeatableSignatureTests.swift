import AppStoreFormats
import Crypto
import Foundation
import Testing
import X509

@testable import Simulator

@Suite struct RepeatableSignatureTests {
    /// The examples in RFC 6979, A.2.5 and A.2.6: the message, then r and s.
    private static let p256 = [
        (
            "sample", "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
            "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
        ),
        (
            "test", "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367",
            "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"
        ),
    ]
    private static let p384 = [
        (
            "sample",
            "94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C"
                + "81A648152E44ACF96E36DD1E80FABE46",
            "99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94F"
                + "A329C145786E679E7B82C71A38628AC8"
        )
    ]

    @Test(arguments: p256)
    func `our P-256 signatures equal those in RFC 6979`(
        message: String, r: String, s: String
    ) throws {
        let key = try P256.Signing.PrivateKey(
            rawRepresentation: bytes(
                "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721"))
        let signature = try DeterministicSignature(key)(Data(message.utf8))
        #expect(try signature == bytes(r + s))
    }

    @Test(arguments: p384)
    func `our P-384 signatures equal those in RFC 6979`(
        message: String, r: String, s: String
    ) throws {
        let key = try P384.Signing.PrivateKey(
            rawRepresentation: bytes(
                "6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA9AA4774078713"
                    + "7D896D5724E4C70A825F872C9EA60D2EDF5"))
        let signature = try DeterministicSignature(key)(Data(message.utf8))
        #expect(try signature == bytes(r + s))
    }

    @Test func `swift-crypto accepts every signature that we make`() throws {
        let key = P256.Signing.PrivateKey()
        let sign = DeterministicSignature(key)
        for number in 0..<64 {
            let message = Data("message \(number)".utf8)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: sign(message))
            #expect(key.publicKey.isValidSignature(signature, for: message))
            #expect(!key.publicKey.isValidSignature(signature, for: message + [0]))
        }
    }

    @Test func `numbers near the order of the curve are reduced and divided correctly`() {
        let field = ScalarField.p256
        let one: [UInt64] = [1, 0, 0, 0]
        let greatest = [field.modulus[0] - 1] + field.modulus[1...]
        #expect(field.scalar(field.bytes(field.modulus)) == [0, 0, 0, 0])
        #expect(field.scalar([UInt8](repeating: 0xFF, count: 32))[0] == ~field.modulus[0])
        #expect(field.sum(greatest, one) == [0, 0, 0, 0])
        #expect(field.sum(greatest, greatest) == [field.modulus[0] - 2] + field.modulus[1...])
        // The greatest is −1: its square is 1, so it is its own inverse.
        #expect(field.product(greatest, greatest) == one)
        #expect(field.quotient(one, by: greatest) == greatest)
        let seven = field.quotient(greatest, by: [7, 0, 0, 0])
        #expect(field.product(seven, [7, 0, 0, 0]) == greatest)
    }

    @Test func `equal seeds give equal certificates and signatures, and different seeds differ`()
        throws
    {
        let (one, same) = (try SigningAuthority(seed: 7), try SigningAuthority(seed: 7))
        let other = try SigningAuthority(seed: 8)
        #expect(one.certificates == same.certificates)
        #expect(try one.sign(["a": 1]) == same.sign(["a": 1]))
        #expect(Set(one.certificates).isDisjoint(with: other.certificates))
        let chain = try one.certificates.map { try Certificate(derEncoded: $0) }
        #expect(chain[1].publicKey.isValidSignature(chain[0].signature, for: chain[0]))
        #expect(chain[2].publicKey.isValidSignature(chain[1].signature, for: chain[1]))
        #expect(Set(chain.map(\.serialNumber)).count == 3)
    }

    @Test func `without a seed two signatures of one payload differ`() throws {
        let authority = try Stage.authority.get()
        #expect(try authority.sign(["a": 1]) != authority.sign(["a": 1]))
        let repeating = authority.deterministic
        #expect(try repeating.sign(["a": 1]) == repeating.sign(["a": 1]))
        #expect(repeating.rootDER == authority.rootDER)
    }

    @Test func `fast signatures are valid, and the same each time`() throws {
        let key = P256.Signing.PrivateKey()
        let sign = PooledSignature(key)
        for number in 0..<512 {
            let digest = SHA256.hash(data: Data("message \(number)".utf8))
            let bytes = try sign(digest: digest)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes)
            #expect(key.publicKey.isValidSignature(signature, for: digest))
            #expect(try sign(digest: digest) == bytes)
        }
    }

    private func bytes(_ hex: String) throws -> [UInt8] {
        let digits = Array(hex)
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            try require(UInt8(String(digits[index...index + 1]), radix: 16), "\(hex) is no hex")
        }
    }
}
