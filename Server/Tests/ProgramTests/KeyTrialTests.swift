import AppStoreClient
import Testing

@testable import Program

/// What `perennial check` says about an app's key.
@Suite struct KeyTrialTests {
    private func check(
        _ production: AppStoreFailure?, _ sandbox: AppStoreFailure?, isOK: Bool, says: String
    ) {
        let trial = KeyCheck("birds", keyID: "K1", production: production, sandbox: sandbox)
        #expect(trial.isOK == isOK)
        #expect(trial.text.contains(says), "\(trial.text)")
    }

    @Test func `a key is good where both stores accept it`() {
        check(nil, nil, isOK: true, says: "key K1 is accepted")
    }

    @Test func `production refuses every key until the first release`() {
        check(.unauthorized("No."), nil, isOK: true, says: "once the app has been released")
    }

    @Test func `a key that nobody accepts is wrong, and what to compare is told`() {
        let no = AppStoreFailure.unauthorized("The App Store does not accept the key K1.")
        check(no, no, isOK: false, says: "does not accept the key K1")
        check(no, no, isOK: false, says: "issuer_id")
    }

    @Test func `a store that is not to be had proves nothing`() {
        check(.unavailable("refused"), nil, isOK: false, says: "refused")
        check(nil, .unavailable("refused"), isOK: false, says: "sandbox")
    }
}
