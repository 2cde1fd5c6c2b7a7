import Testing

@testable import Program

/// What `perennial check` says about the machine's clock.
@Suite struct ClockTrialTests {
    private func check(_ ahead: Duration, isOK: Bool, says: String) {
        let trial = ClockCheck(ahead: ahead)
        #expect(trial.isOK == isOK, "\(ahead)")
        #expect(trial.text.contains(says), "\(trial.text)")
        #expect(trial.text.contains("timedatectl") == !isOK)
    }

    @Test func `a clock is accepted if it agrees or nearly agrees with the App Store's clock`() {
        check(.zero, isOK: true, says: "agrees")
        check(.seconds(30), isOK: true, says: "30 seconds ahead")
        check(.seconds(-60), isOK: true, says: "60 seconds behind")
    }

    @Test func `if a clock is ahead, the check says that periods end too early`() {
        check(.seconds(600), isOK: false, says: "600 seconds ahead of the App Store's: periods end")
        check(.seconds(61), isOK: false, says: "too early")
    }

    @Test func `if a clock is behind, the check says that periods end too late`() {
        check(.seconds(-600), isOK: false, says: "600 seconds behind the App Store's: periods end")
        check(.milliseconds(-60_001), isOK: false, says: "too late")
    }
}
