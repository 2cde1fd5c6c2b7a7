import _CryptoExtras

/// An RSA key of 2048 bits whose modulus is the product of two primes. For keys derived from a
/// seed.
struct SeededRSAKey {
    private typealias Limbs = [UInt64]

    let key: _RSA.Signing.PrivateKey

    /// - Throws: if the two primes are the same.
    init(_ one: SeededPrime, _ other: SeededPrime) throws {
        let modulus = Self.product(one.limbs, other.limbs)
        // φ is (p − 1)(q − 1), which is pq − (p − 1) − q. p is odd.
        var (totient, lessOne) = (modulus, one.limbs)
        lessOne[0] -= 1
        Self.subtract(lessOne, from: &totient)
        Self.subtract(other.limbs, from: &totient)
        key = try _RSA.Signing.PrivateKey(
            n: Self.bytes(modulus), e: Self.bytes([SeededPrime.exponent]),
            d: Self.bytes(Self.privateExponent(totient)), p: Self.bytes(one.limbs),
            q: Self.bytes(other.limbs))
    }

    /// The inverse of e modulo φ: (1 + kφ) / e, with the k that makes it a whole number.
    private static func privateExponent(_ totient: Limbs) -> Limbs {
        let exponent = SeededPrime.exponent
        let rest = SeededPrime.remainder(totient, by: exponent)
        // By Fermat's little theorem, because e is prime: the inverse is the power e − 2.
        var (inverse, power, left) = (UInt64(1), rest, exponent - 2)
        while left > 0 {
            if left & 1 == 1 { inverse = inverse * power % exponent }
            power = power * power % exponent
            left >>= 1
        }
        var whole = product(totient, [exponent - inverse])
        // kφ is even, so adding one changes only the lowest bit.
        whole[0] |= 1
        var quotient = whole
        var carried: UInt64 = 0
        for place in whole.indices.reversed() {
            (quotient[place], carried) = exponent.dividingFullWidth((carried, whole[place]))
        }
        precondition(carried == 0, "1 + kφ is a multiple of e by the choice of k.")
        return quotient
    }

    private static func product(_ one: Limbs, _ other: Limbs) -> Limbs {
        var product = Limbs(repeating: 0, count: one.count + other.count)
        for (place, factor) in one.enumerated() {
            var carry: UInt64 = 0
            for (step, limb) in other.enumerated() {
                var (high, low) = limb.multipliedFullWidth(by: factor)
                var overflows: Bool
                (low, overflows) = low.addingReportingOverflow(carry)
                high &+= overflows ? 1 : 0
                (low, overflows) = low.addingReportingOverflow(product[place + step])
                high &+= overflows ? 1 : 0
                product[place + step] = low
                carry = high
            }
            product[place + other.count] = carry
        }
        return product
    }

    private static func subtract(_ other: Limbs, from value: inout Limbs) {
        var isBorrowed = false
        for place in value.indices {
            let limb = place < other.count ? other[place] : 0
            let (first, underflowsFirst) = value[place].subtractingReportingOverflow(limb)
            let (second, underflowsSecond) = first.subtractingReportingOverflow(isBorrowed ? 1 : 0)
            value[place] = second
            isBorrowed = underflowsFirst || underflowsSecond
        }
    }

    /// The bytes of a number, most significant first, without leading zeros.
    private static func bytes(_ limbs: Limbs) -> [UInt8] {
        let all = limbs.reversed().flatMap { limb in
            (0..<8).map { UInt8(truncatingIfNeeded: limb >> UInt64(56 - $0 * 8)) }
        }
        return Array(all.drop { $0 == 0 })
    }
}
