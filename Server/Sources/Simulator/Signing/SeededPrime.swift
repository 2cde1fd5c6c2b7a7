import Crypto

/// A prime of 1024 bits derived from a text, for RSA keys that must be the same in each run.
///
/// A first number is drawn from the text by SHA-512. Its two highest bits are set, so that two such
/// primes make a modulus of full length. Its lowest bit is set, so that it is odd. From there on,
/// each odd number is examined. Numbers that are divisible by a small prime are skipped. All other
/// numbers are tested by Miller-Rabin (FIPS 186-5, B.3.1) with a few small witnesses. It is far
/// less likely that a random composite number passes this test than that memory fails. The first
/// number that passes is used. If none of a stretch passes, another number is drawn. Nothing is
/// secret: anyone who knows the text can compute the prime.
struct SeededPrime: Hashable, Sendable {
    static let bits = 1024
    /// RSA's public exponent, which must not divide the prime minus one.
    static let exponent: UInt64 = 65_537

    /// The number in limbs of 64 bits, least significant first.
    let limbs: [UInt64]

    /// The number of odd numbers that are tested after one draw. About one in 355 of these numbers
    /// is prime.
    private static let stretch = 4096
    private static let smallPrimesEnd = 4096
    private static let witnesses = [2, 3, 5, 7]

    init(_ text: String) {
        var draw = 0
        while true {
            if let found = Self.first(in: Self.drawn(text, draw)) {
                limbs = found
                return
            }
            draw += 1
        }
    }

    private static func drawn(_ text: String, _ draw: Int) -> [UInt64] {
        let bytes = (0..<bits / 512).flatMap { part in
            Array(SHA512.hash(data: Array("\(text) \(draw) \(part)".utf8)))
        }
        var limbs = stride(from: 0, to: bytes.count, by: 8).map { place in
            bytes[place..<place + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        limbs[0] |= 1
        limbs[limbs.count - 1] |= 0xC000_0000_0000_0000
        return limbs
    }

    private static func first(in start: [UInt64]) -> [UInt64]? {
        var isComposite = [Bool](repeating: false, count: stretch)
        for prime in smallPrimes {
            let rest = remainder(start, by: UInt64(prime))
            // The first step k for which the prime divides start + 2k: half of an even distance.
            let distance = rest == 0 ? 0 : prime - Int(rest)
            let first = distance.isMultiple(of: 2) ? distance / 2 : (distance + prime) / 2
            for step in stride(from: first, to: stretch, by: prime) { isComposite[step] = true }
        }
        for step in 0..<stretch where !isComposite[step] {
            guard let candidate = sum(start, UInt64(2 * step)) else { return nil }
            guard remainder(candidate, by: exponent) != 1 else { continue }
            let trial = PrimeTrial(candidate)
            if witnesses.allSatisfy(trial.passes) { return candidate }
        }
        return nil
    }

    /// All odd primes below a fixed end, by the sieve of Eratosthenes.
    private static let smallPrimes: [Int] = {
        var isComposite = [Bool](repeating: false, count: smallPrimesEnd)
        var primes: [Int] = []
        for number in stride(from: 3, to: smallPrimesEnd, by: 2) where !isComposite[number] {
            primes.append(number)
            for multiple in stride(from: number * number, to: smallPrimesEnd, by: number) {
                isComposite[multiple] = true
            }
        }
        return primes
    }()

    static func remainder(_ limbs: [UInt64], by divisor: UInt64) -> UInt64 {
        limbs.reversed().reduce(0) { rest, limb in
            divisor.dividingFullWidth((rest, limb)).remainder
        }
    }

    /// The sum of a number in limbs and a small number. Returns nil if the sum needs more limbs.
    private static func sum(_ limbs: [UInt64], _ number: UInt64) -> [UInt64]? {
        var (sum, carry) = (limbs, number)
        for place in sum.indices {
            let overflows: Bool
            (sum[place], overflows) = sum[place].addingReportingOverflow(carry)
            carry = overflows ? 1 : 0
        }
        return carry == 0 ? sum : nil
    }
}

/// Tests whether a number may be prime, by Miller-Rabin. The number must be odd with its highest
/// bit set.
///
/// Numbers are in Montgomery form, multiplied by R, which is two to the power of the number of
/// bits: see ``ScalarField``. So R minus the candidate represents the number 1. Powers of small
/// witnesses need only squares and sums.
private struct PrimeTrial {
    private let number: [UInt64]
    private let negativeInverse: UInt64
    private let one: [UInt64]
    private let minusOne: [UInt64]
    /// The number of times that two divides the number minus one.
    private let doublings: Int

    init(_ number: [UInt64]) {
        self.number = number
        // Newton's iteration doubles the number of correct bits: 3, 6, … 96.
        var inverse = number[0]
        for _ in 0..<5 { inverse = inverse &* (2 &- number[0] &* inverse) }
        negativeInverse = 0 &- inverse
        var one = number.map(~)
        one[0] &+= 1
        self.one = one
        var minusOne = number
        Self.subtract(one, from: &minusOne)
        self.minusOne = minusOne
        var even = number
        even[0] &-= 1
        let low = even.firstIndex { $0 != 0 } ?? 0
        doublings = 64 * low + even[low].trailingZeroBitCount
    }

    func passes(_ witness: Int) -> Bool {
        var power = one
        var scratch = [UInt64](repeating: 0, count: number.count + 2)
        for bit in (doublings..<64 * number.count).reversed() {
            square(&power, &scratch)
            guard number[bit / 64] >> UInt64(bit % 64) & 1 == 1 else { continue }
            let single = power
            for _ in 1..<witness { add(single, to: &power) }
        }
        if power == one || power == minusOne { return true }
        for _ in 1..<doublings {
            square(&power, &scratch)
            if power == minusOne { return true }
        }
        return false
    }

    /// Replaces a value by its square, limb by limb, as in ``ScalarField``. Uses raw pointers for
    /// speed in unoptimised builds.
    private func square(_ value: inout [UInt64], _ scratch: inout [UInt64]) {
        let count = number.count
        value.withUnsafeMutableBufferPointer { value in
            number.withUnsafeBufferPointer { number in
                scratch.withUnsafeMutableBufferPointer { scratch in
                    scratch.update(repeating: 0)
                    guard let value = value.baseAddress, let number = number.baseAddress,
                        let sum = scratch.baseAddress
                    else { return }
                    var limb = 0
                    while limb < count {
                        Self.add(UnsafePointer(value), times: value[limb], to: sum, count)
                        Self.add(number, times: sum[0] &* negativeInverse, to: sum, count)
                        sum.update(from: sum + 1, count: count + 1)
                        sum[count + 1] = 0
                        limb += 1
                    }
                    value.update(from: sum, count: count)
                }
            }
        }
        if scratch[count] > 0 || !Self.isBelow(value, number) {
            Self.subtract(number, from: &value)
        }
    }

    private static func add(
        _ limbs: UnsafePointer<UInt64>, times factor: UInt64, to sum: UnsafeMutablePointer<UInt64>,
        _ count: Int
    ) {
        var carry: UInt64 = 0
        var place = 0
        while place < count {
            var (high, low) = limbs[place].multipliedFullWidth(by: factor)
            var overflows: Bool
            (low, overflows) = low.addingReportingOverflow(carry)
            if overflows { high &+= 1 }
            (low, overflows) = low.addingReportingOverflow(sum[place])
            if overflows { high &+= 1 }
            sum[place] = low
            carry = high
            place += 1
        }
        let (last, overflows) = sum[count].addingReportingOverflow(carry)
        sum[count] = last
        if overflows { sum[count + 1] &+= 1 }
    }

    private func add(_ other: [UInt64], to value: inout [UInt64]) {
        var isCarried = false
        for place in value.indices {
            let (first, overflowsFirst) = value[place].addingReportingOverflow(other[place])
            let (second, overflowsSecond) = first.addingReportingOverflow(isCarried ? 1 : 0)
            value[place] = second
            isCarried = overflowsFirst || overflowsSecond
        }
        if isCarried || !Self.isBelow(value, number) { Self.subtract(number, from: &value) }
    }

    private static func isBelow(_ one: [UInt64], _ other: [UInt64]) -> Bool {
        for place in one.indices.reversed() where one[place] != other[place] {
            return one[place] < other[place]
        }
        return false
    }

    /// Subtracts a number from a value. A borrow beyond the highest limb is dropped.
    private static func subtract(_ other: [UInt64], from value: inout [UInt64]) {
        var isBorrowed = false
        for place in value.indices {
            let (first, underflowsFirst) = value[place].subtractingReportingOverflow(other[place])
            let (second, underflowsSecond) = first.subtractingReportingOverflow(
                isBorrowed ? 1 : 0)
            value[place] = second
            isBorrowed = underflowsFirst || underflowsSecond
        }
    }
}
