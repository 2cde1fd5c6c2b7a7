import AccessRules
import PerennialContract
import Testing

@Suite struct ReckonedClockTests {
    private static let year: Int64 = 365 * 86_400_000
    private static let hour: Int64 = 3_600_000
    private let end = Timestamp(milliseconds: 10 * Self.hour)

    private func at(_ hours: Int64) -> Timestamp { Timestamp(milliseconds: hours * Self.hour) }

    /// Whether a stored answer opens access at a time. The answer is from the time 0: a month
    /// that ends in ten hours and does not renew.
    private func isOpen(at now: Timestamp) -> Bool {
        var evidence = Evidence(
            person: nil, store: StoreEvidence(isTrusted: true), meanings: Situation.meanings,
            now: now)
        evidence.server = ServerEvidence(
            asOf: at(0), isLive: false, offlineUntil: at(1000),
            rights: [
                "pro": .init(
                    isActive: true, state: .paid, until: end, originalTransactionID: "1")
            ], verdicts: [:])
        return AccessRules.decision(on: "pro", by: evidence).isActive
    }

    private func contacted() -> ReckonedClock {
        var clock = ReckonedClock()
        clock.anchor(signed: at(0), monotonic: 0, bootID: "a", isContact: true)
        return clock
    }

    @Test func `a clock that is set back a year does not reopen an ended period`() {
        var clock = contacted()
        let wound = Timestamp(milliseconds: -Self.year)
        let now = clock.now(deviceClock: wound, monotonic: 11 * Self.hour, bootID: "a")
        #expect(now == at(11) && !isOpen(at: now))
        clock.advance(monotonic: 11 * Self.hour, bootID: "a")
        let restarted = clock.now(deviceClock: wound, monotonic: 5, bootID: "b")
        #expect(restarted == at(11) && !isOpen(at: restarted))
    }

    @Test func `before a restart, a clock that is set forward a year closes no access`() {
        let clock = contacted()
        let now = clock.now(
            deviceClock: Timestamp(milliseconds: Self.year), monotonic: Self.hour, bootID: "a")
        #expect(now == at(1) && isOpen(at: now))
    }

    @Test
    func `after a restart, the wrong time of a clock counts until a contact with the server`() {
        var clock = contacted()
        let forward = Timestamp(milliseconds: Self.year)
        #expect(!isOpen(at: clock.now(deviceClock: forward, monotonic: 5, bootID: "b")))
        clock.anchor(signed: at(2), monotonic: 7, bootID: "b", isContact: true)
        let now = clock.now(deviceClock: forward, monotonic: 7, bootID: "b")
        #expect(now == at(2) && isOpen(at: now))
    }

    @Test func `a contact with the server replaces the clock's anchor, even with an earlier time`()
    {
        var clock = contacted()
        clock.anchor(signed: at(20), monotonic: 0, bootID: "a", isContact: true)
        clock.anchor(signed: at(3), monotonic: 0, bootID: "a", isContact: true)
        #expect(clock.now(deviceClock: at(50), monotonic: 0, bootID: "a") == at(3))
    }

    /// A clock whose anchor is in the past, from a file that somebody has edited.
    private func forged() -> ReckonedClock {
        ReckonedClock(
            anchor: .init(signed: at(0), monotonic: 11 * Self.hour, bootID: "a"), isProven: false)
    }

    @Test func `a forged anchor of the clock gives no access, before and after it is detected`() {
        var clock = forged()
        for _ in 1...2 {
            let now = clock.now(deviceClock: at(11), monotonic: 11 * Self.hour, bootID: "a")
            #expect(now == at(11) && !isOpen(at: now))
            #expect(!clock.isCounted(monotonic: 11 * Self.hour, bootID: "a"))
            clock.distrust()
        }
        let wound = clock.now(deviceClock: at(-9), monotonic: 11 * Self.hour, bootID: "a")
        #expect(wound == at(0), "it stays a lower limit")
    }

    @Test func `a clock's anchor is used if it is proven or comes from a contact with the server`()
    {
        var proven = forged()
        proven.confirm()
        var contacted = forged()
        contacted.anchor(
            signed: at(0), monotonic: 11 * Self.hour, bootID: "a", isContact: true)
        contacted.distrust()
        for clock in [proven, contacted] {
            let now = clock.now(
                deviceClock: Timestamp(milliseconds: Self.year), monotonic: 12 * Self.hour,
                bootID: "a")
            #expect(now == at(1) && isOpen(at: now))
        }
    }

    @Test func `a document that was signed before the anchor does not replace the anchor`() {
        var clock = contacted()
        clock.anchor(signed: at(-5), monotonic: 0, bootID: "a", isContact: false)
        clock.anchor(signed: at(-5), monotonic: 0, bootID: "b", isContact: false)
        #expect(clock.now(deviceClock: at(-9), monotonic: 0, bootID: "a") == at(0))
        clock.anchor(signed: at(4), monotonic: 0, bootID: "a", isContact: false)
        #expect(clock.now(deviceClock: at(-9), monotonic: Self.hour, bootID: "a") == at(5))
    }

    @Test func `the date of a signed document is only a lower bound of the device's time`() {
        var clock = ReckonedClock()
        #expect(clock.now(deviceClock: at(7), monotonic: 0, bootID: "a") == at(7))
        clock.anchor(signed: at(2), monotonic: 0, bootID: "a", isContact: false)
        #expect(clock.now(deviceClock: at(7), monotonic: 0, bootID: "a") == at(7))
        #expect(clock.now(deviceClock: at(1), monotonic: 0, bootID: "a") == at(2))
    }

    @Test
    func `until the device restarts, changing its clock has no effect, and time never goes back`() {
        var dice = Dice(announcedBy: "clock")
        for _ in 0..<300 {
            var clock = contacted()
            var (monotonic, boot, last) = (Int64(0), "a", at(0))
            for step in 0..<20 {
                monotonic += .random(in: 0...Self.hour, using: &dice)
                switch Int.random(in: 0..<6, using: &dice) {
                case 0:
                    clock.anchor(
                        signed: dice.time(-100...20), monotonic: monotonic, bootID: boot,
                        isContact: false)
                case 1: clock.advance(monotonic: monotonic, bootID: boot)
                case 2:
                    clock.advance(monotonic: monotonic, bootID: boot)
                    (boot, monotonic) = ("\(step)", 0)
                default: break
                }
                let back = clock.now(
                    deviceClock: dice.time(-900 ... -200), monotonic: monotonic, bootID: boot)
                #expect(back >= last)
                if clock.anchor?.bootID == boot {
                    let any = dice.time(-900...900)
                    #expect(
                        clock.now(deviceClock: any, monotonic: monotonic, bootID: boot) == back)
                }
                if !isOpen(at: last) { #expect(!isOpen(at: back)) }
                last = back
            }
        }
    }
}
