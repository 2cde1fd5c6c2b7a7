internal import Foundation

extension Perennial {
    /// Why an entitlement is open or shut.
    public struct Explanation: Hashable, Sendable, CustomStringConvertible {
        public var access: Access
        /// The number of the rule that decided, in the list in `docs/sdk.md`.
        public var rule: Int
        /// The evidence and rules that were considered, in order.
        public var steps: [Step]

        public init(access: Access, rule: Int, steps: [Step]) {
            self.access = access
            self.rule = rule
            self.steps = steps
        }

        public struct Step: Hashable, Sendable {
            public var rule: Int
            public var basis: Basis
            /// The original transaction id of the purchase that the step is about. Nil for a grant.
            public var purchase: String?
            /// What the evidence says, in one sentence.
            public var text: String

            public init(rule: Int, basis: Basis, purchase: String?, text: String) {
                self.rule = rule
                self.basis = basis
                self.purchase = purchase
                self.text = text
            }
        }

        public var description: String {
            let word = access.isActive ? "open" : access.isKnown ? "shut" : "not known yet"
            let head =
                "\(access.entitlement.rawValue) is \(word) (\(access.state.rawValue), "
                + "by \(access.basis.rawValue), rule \(rule))"
            return ([head] + steps.map { "- \($0.text)" }).joined(separator: "\n")
        }
    }

    /// The findings about the set-up.
    public struct Diagnosis: Hashable, Sendable, CustomStringConvertible {
        public var findings: [Finding]

        public init(findings: [Finding]) { self.findings = findings }

        public var isFine: Bool { !findings.contains { $0.isProblem } }

        public struct Finding: Hashable, Sendable {
            public var isProblem: Bool
            public var text: String
            /// What the developer can do about the finding. Nil if nothing needs to be done.
            public var remedy: String?

            public init(isProblem: Bool, text: String, remedy: String? = nil) {
                self.isProblem = isProblem
                self.text = text
                self.remedy = remedy
            }
        }

        public var description: String {
            findings
                .map { "\($0.isProblem ? "!" : "✓") \($0.text)\($0.remedy.map { " \($0)" } ?? "")" }
                .joined(separator: "\n")
        }
    }
}
