import PerennialContract
import Testing

@Suite struct AttributeRuleTests {
    @Test(
        arguments: [
            ("bird", "owl", true), ("a-b_9", "", true), ("$email", "anna@example.com", true),
            ("$email", "anna", false), ("$email", "an na@example.com", false),
            ("$email", "@example.com", false), ("$attConsentStatus", "denied", true),
            ("$attConsentStatus", "maybe", false), ("$unknownName", "x", true),
            ("9lives", "x", false), ("a.b", "x", false), ("", "x", false), ("$", "x", false),
            ("größe", "x", false), (String(repeating: "a", count: 40), "x", true),
            (String(repeating: "a", count: 41), "x", false),
            ("bird", String(repeating: "é", count: 500), true),
            ("bird", String(repeating: "é", count: 501), false),
        ] as [(String, String, Bool)])
    func `an attribute with an invalid name or value is refused`(
        name: String, value: String, isValid: Bool
    ) {
        let why = AttributeRules.defect(of: name, value)
        #expect((why == nil) == isValid, "\(name): \(why ?? "valid")")
    }
}
