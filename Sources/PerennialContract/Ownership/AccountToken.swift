/// The response of `POST /v1/customers/{id}/account_token`.
public struct AccountToken: Hashable, Sendable, Codable {
    /// The UUID to set as `appAccountToken`, in lower case. Nil if the app's account tokens do not
    /// stand for customer ids (`account_tokens: other`).
    public var accountToken: String?

    public init(accountToken: String?) { self.accountToken = accountToken }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case accountToken = "account_token"
    }
}
