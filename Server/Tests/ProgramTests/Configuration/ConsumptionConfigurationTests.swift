import Ledger
import Testing

@testable import Program

@Suite struct ConsumptionConfigurationTests {
    private func rules(_ text: String) throws(ConfigurationFailure) -> ConsumptionRules? {
        let file = try ConfigurationFile("apps:\n  a:\n    bundle_id: x\n    \(text)") { _ in nil }
        return file.apps.first?.settings.consumption
    }

    @Test func `by default, consumption is never reported to Apple`() throws {
        #expect(try rules("products: {}") == ConsumptionRules())
        #expect(try rules("consumption: {sample_content: true}")?.policy == .never)
    }

    @Test func `an app can set when Apple's requests are answered, and which refund is preferred`()
        throws
    {
        let found = try rules(
            "consumption: {answer: with_consent, sample_content: true, "
                + "refund_preference: grant_prorated}")
        #expect(
            found
                == ConsumptionRules(
                    policy: .withConsent, hasSample: true, preference: .grantProrated))
    }

    @Test(arguments: [
        ("{answer: always}", "Use one of never, with_consent."),
        ("{refund_preference: no}", "Use one of decline, grant_full, grant_prorated."),
        ("{answers: never}", "Did you mean answer?"),
    ]) func `a mistake in the consumption settings is reported with its remedy`(
        text: String, says: String
    ) throws {
        let failure = #expect(throws: ConfigurationFailure.self) {
            try rules("consumption: \(text)")
        }
        let said = failure?.complaints.map(\.description) ?? []
        #expect(said.contains { $0.contains(says) }, "\(said)")
    }
}
