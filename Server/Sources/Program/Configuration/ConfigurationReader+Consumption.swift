import Ledger
import Yams

/// Parses what is reported to Apple if a customer asks for a refund.
extension ConfigurationReader {
    mutating func consumption(_ node: Node) -> ConsumptionRules {
        var rules = ConsumptionRules()
        let members = members(
            of: node, known: ["answer", "sample_content", "refund_preference"], in: "consumption")
        if let answer = members["answer"] {
            rules.policy =
                word(answer, ConsumptionRules.Policy.self, "not a consumption answer policy")
                ?? rules.policy
        }
        if let sample = members["sample_content"].flatMap({ bool($0) }) { rules.hasSample = sample }
        if let preference = members["refund_preference"] {
            rules.preference = word(
                preference, RefundPreference.self, "not a refund preference")
        }
        return rules
    }
}
