import PerennialContract

extension EngineFailure {
    /// The code and the texts of a failure, for the caller and for the operator.
    package struct Row {
        package let code: ProblemCode
        /// The code that is used if the request is a notification of the App Store.
        package let notificationCode: ProblemCode
        /// The sentence for logs and the command line.
        package let sentence: String
        /// The particulars for the caller. Nil if the title and the remedy of the code are enough.
        package let detail: String?
        /// The particulars that only the log contains. Nil if the log contains no further
        /// particulars.
        package let operatorDetail: String?
        /// How long to wait until the same request may succeed. Nil if that is not known.
        package let wait: Duration?

        /// - Parameter isForCaller: whether the sentence is also the detail.
        init(
            _ code: ProblemCode, ofNotification notificationCode: ProblemCode? = nil,
            _ sentence: String, isForCaller: Bool = false, detail: String? = nil,
            operatorDetail: String? = nil, wait: Duration? = nil
        ) {
            self.code = code
            self.notificationCode = notificationCode ?? code
            self.sentence = sentence
            self.detail = isForCaller ? "\(sentence)." : detail
            self.operatorDetail = operatorDetail
            self.wait = wait
        }
    }

    /// The maximum length of a name or id in a response.
    private static let nameCharactersMax = 40

    /// Returns a name that a client sent, shortened for a response.
    package static func shortened(_ name: String) -> String {
        String(name.prefix(nameCharactersMax))
    }

    /// Returns a name that a client sent, shortened and in quotation marks for a response.
    package static func quoted(_ name: String) -> String { shortened(name).debugDescription }
}

/// Codes that only pages of the dashboard use, and no route of the HTTP API.
extension ProblemCode {
    package static let roleNotEnough = Self(rawValue: "role_not_enough")
    package static let operatorUnknown = Self(rawValue: "operator_unknown")
    package static let operatorNotValid = Self(rawValue: "operator_not_valid")
    package static let operatorLinkUnknown = Self(rawValue: "operator_link_unknown")
}
