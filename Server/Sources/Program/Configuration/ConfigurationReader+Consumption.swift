import Ledger
import Yams

/// What the App Store is told where a customer wishes to have the money back.
extension ConfigurationReader {
    mutating func consumption(_ node: Node) -> ConsumptionRules {
        var rules = ConsumptionRules()
        let members = members(
            of: node, known: ["answer", "sample_content", "refund_preference"], in: "consumption")
        if let answer = members["answer"] {
            rules.policy =
                word(answer, ConsumptionRules.Policy.self, "when the App Store is answered")
                ?? rules.policy
        }
        if let sample = members["sample_content"].flatMap({ bool($0) }) { rules.hasSample = sample }
        if let preference = members["refund_preference"] {
            rules.preference = word(
                preference, RefundPreference.self, "what is preferred of a refund")
        }
        return rules
    }

    private mutating func word<Word: RawRepresentable & CaseIterable>(
        _ node: Node, _: Word.Type, _ what: String
    ) -> Word? where Word.RawValue == String {
        if let word = text(node).flatMap(Word.init(rawValue:)) { return word }
        let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
        complain(node, "“\(text(node) ?? "…")” is not \(what).", "Write one of \(known).")
        return nil
    }
}
