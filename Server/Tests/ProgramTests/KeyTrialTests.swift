import AppStoreClient
import Testing

@testable import Program

/// What `perennial check` says about an app's App Store key.
@Suite struct KeyTrialTests {
    private func check(
        _ production: AppStoreFailure?, _ sandbox: AppStoreFailure?, isOK: Bool, says: String
    ) {
        let trial = KeyCheck("birds", keyID: "K1", production: production, sandbox: sandbox)
        #expect(trial.isOK == isOK)
        #expect(trial.text.contains(says), "\(trial.text)")
    }

    @Test func `an App Store key is good if production and sandbox accept it`() {
        check(nil, nil, isOK: true, says: "key K1 is accepted")
    }

    @Test
    func `an App Store key that only production refuses is good: the app may be unreleased`() {
        check(.unauthorized("No."), nil, isOK: true, says: "once the app has been released")
    }

    @Test
    func `if neither environment accepts a key, the remedy says which settings to compare`() {
        let no = AppStoreFailure.unauthorized("The App Store does not accept the key K1.")
        check(no, no, isOK: false, says: "does not accept the key K1")
        check(no, no, isOK: false, says: "issuer_id")
    }

    @Test func `an unreachable App Store gives no result about a key`() {
        check(.unavailable("refused"), nil, isOK: false, says: "refused")
        check(nil, .unavailable("refused"), isOK: false, says: "sandbox")
    }
}
