/// Arithmetic modulo the order of an elliptic curve, which signatures need besides points.
///
/// A number is a list of 64-bit limbs, least significant first. Products are Montgomery products
/// (P. Montgomery: Modular Multiplication Without Trial Division, 1985): `a · b / R` modulo the
/// order, where R is two to the power of the number of bits. Not constant-time: the keys of a
/// simulator are not secret.
struct ScalarField: Sendable {
    typealias Limbs = [UInt64]

    /// The order of P-256's base point (FIPS 186-4, D.1.2.3).
    static let p256 = ScalarField(modulus: [
        0xF3B9_CAC2_FC63_2551, 0xBCE6_FAAD_A717_9E84, 0xFFFF_FFFF_FFFF_FFFF,
        0xFFFF_FFFF_0000_0000,
    ])
    /// The order of P-384's base point (FIPS 186-4, D.1.2.4).
    static let p384 = ScalarField(modulus: [
        0xECEC_196A_CCC5_2973, 0x581A_0DB2_48B0_A77A, 0xC763_4D81_F437_2DDF,
        0xFFFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF,
    ])

    let modulus: Limbs
    /// −1 / modulus, modulo 2⁶⁴.
    private let negativeInverse: UInt64
    /// R² modulo the order. A multiplication by this value converts a number to Montgomery form.
    private let squareOfR: Limbs

    var byteCount: Int { modulus.count * 8 }

    /// - Precondition: the modulus is odd and its highest bit is set.
    init(modulus: Limbs) {
        self.modulus = modulus
        // Newton's iteration doubles the number of correct bits: 3, 6, … 96.
        var inverse = modulus[0]
        for _ in 0..<5 { inverse = inverse &* (2 &- modulus[0] &* inverse) }
        negativeInverse = 0 &- inverse
        // R modulo the order is R minus the order. Doubled as many times as R has bits, it becomes
        // R².
        var square = modulus.map(~)
        square[0] &+= 1
        for _ in 0..<64 * modulus.count { square = Self.sum(square, square, modulo: modulus) }
        squareOfR = square
    }

    /// A number from its bytes, most significant first, reduced modulo the order.
    func scalar(_ bytes: some Collection<UInt8>) -> Limbs {
        precondition(bytes.count == byteCount, "A scalar has as many bytes as the order.")
        var limbs = Limbs(repeating: 0, count: modulus.count)
        for (index, byte) in bytes.reversed().enumerated() {
            limbs[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
        }
        return isReduced(limbs) ? limbs : Self.difference(limbs, modulus)
    }

    func bytes(_ scalar: Limbs) -> [UInt8] {
        scalar.reversed().flatMap { limb in
            (0..<8).map { UInt8(truncatingIfNeeded: limb >> UInt64(56 - $0 * 8)) }
        }
    }

    func isReduced(_ limbs: Limbs) -> Bool { Self.isBelow(limbs, modulus) }

    func sum(_ one: Limbs, _ other: Limbs) -> Limbs { Self.sum(one, other, modulo: modulus) }

    func product(_ one: Limbs, _ other: Limbs) -> Limbs {
        montgomery(montgomery(one, squareOfR), other)
    }

    /// `one / other`, by Fermat's little theorem: the order is prime, so `other` to the power of
    /// the order minus two is its inverse.
    func quotient(_ one: Limbs, by other: Limbs) -> Limbs {
        let factor = montgomery(other, squareOfR)
        // The highest bit of the exponent is set, so the power begins there.
        var power = factor
        var scratch = Limbs(repeating: 0, count: modulus.count + 2)
        for bit in (0..<64 * modulus.count - 1).reversed() {
            multiply(&power, by: power, &scratch)
            // The order's lowest limb is above two, so only that limb differs in the exponent.
            let limb = bit < 64 ? modulus[0] &- 2 : modulus[bit / 64]
            if limb >> UInt64(bit % 64) & 1 == 1 { multiply(&power, by: factor, &scratch) }
        }
        return montgomery(power, one)
    }
}

// MARK: - Limbs

extension ScalarField {
    private func montgomery(_ one: Limbs, _ other: Limbs) -> Limbs {
        var product = one
        var scratch = Limbs(repeating: 0, count: modulus.count + 2)
        multiply(&product, by: other, &scratch)
        return product
    }

    /// Replaces one factor by the product. For each limb: adds a multiple of the other factor, then
    /// the multiple of the modulus that makes the lowest limb zero, and drops that limb.
    private func multiply(_ one: inout Limbs, by other: Limbs, _ scratch: inout Limbs) {
        let count = modulus.count
        let isLarge = one.withUnsafeBufferPointer { one in
            other.withUnsafeBufferPointer { other in
                modulus.withUnsafeBufferPointer { modulus in
                    scratch.withUnsafeMutableBufferPointer { sum in
                        sum.update(repeating: 0)
                        for limb in 0..<count {
                            Self.add(other, times: one[limb], to: sum)
                            Self.add(modulus, times: sum[0] &* negativeInverse, to: sum)
                            for index in 0...count { sum[index] = sum[index + 1] }
                            sum[count + 1] = 0
                        }
                        return sum[count] > 0
                    }
                }
            }
        }
        for index in 0..<count { one[index] = scratch[index] }
        if isLarge || !isReduced(one) { one = Self.difference(one, modulus) }
    }

    private static func add(
        _ limbs: UnsafeBufferPointer<UInt64>, times factor: UInt64,
        to sum: UnsafeMutableBufferPointer<UInt64>
    ) {
        var carry: UInt64 = 0
        for index in 0..<limbs.count {
            var (high, low) = limbs[index].multipliedFullWidth(by: factor)
            var overflows: Bool
            (low, overflows) = low.addingReportingOverflow(carry)
            high &+= overflows ? 1 : 0
            (low, overflows) = low.addingReportingOverflow(sum[index])
            high &+= overflows ? 1 : 0
            sum[index] = low
            carry = high
        }
        let (last, overflows) = sum[limbs.count].addingReportingOverflow(carry)
        sum[limbs.count] = last
        sum[limbs.count + 1] &+= overflows ? 1 : 0
    }

    private static func isBelow(_ one: Limbs, _ other: Limbs) -> Bool {
        for index in one.indices.reversed() where one[index] != other[index] {
            return one[index] < other[index]
        }
        return false
    }

    private static func sum(_ one: Limbs, _ other: Limbs, modulo modulus: Limbs) -> Limbs {
        var sum = one
        var carry: UInt64 = 0
        for index in sum.indices {
            let (first, overflowsFirst) = one[index].addingReportingOverflow(other[index])
            let (second, overflowsSecond) = first.addingReportingOverflow(carry)
            sum[index] = second
            carry = overflowsFirst || overflowsSecond ? 1 : 0
        }
        return carry == 1 || !isBelow(sum, modulus) ? difference(sum, modulus) : sum
    }

    /// The difference modulo R: a borrow beyond the highest limb is dropped.
    private static func difference(_ one: Limbs, _ other: Limbs) -> Limbs {
        var difference = one
        var borrow: UInt64 = 0
        for index in difference.indices {
            let (first, underflowsFirst) = one[index].subtractingReportingOverflow(other[index])
            let (second, underflowsSecond) = first.subtractingReportingOverflow(borrow)
            difference[index] = second
            borrow = underflowsFirst || underflowsSecond ? 1 : 0
        }
        return difference
    }
}
