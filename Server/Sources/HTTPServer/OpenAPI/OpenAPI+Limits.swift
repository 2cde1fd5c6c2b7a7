import Engine
import HTTPBasics
import Ledger
import PerennialContract

// The rules for texts. With these rules, a client can check texts before it sends them. JSON Schema
// counts characters, and the server counts bytes: a text with too many characters also has too many
// bytes.

extension OpenAPI {
    /// A customer's id: printable words with single spaces between them. The server also refuses
    /// words that mean "no id", such as `null`.
    static let customerIDLimits: OpenAPIValue = [
        "minLength": 1, "maxLength": .integer(CustomerID.bytesMax),
        "pattern": .text(customerIDPattern),
    ]
    static let customerIDPattern = "^\(word)( \(word))*$"
    private static let word = #"[^\s\u0000-\u001F\u007F-\u009F]+"#

    static let customerID = OpenAPIValue.object([.init("type", "string")])
        .adding(customerIDLimits)

    /// The schemas of parameters in the path. A part of a path is never empty.
    static func pathSchema(_ name: String) -> OpenAPIValue {
        switch name {
        case "id", "alias": customerID
        default: ["type": "string", "minLength": 1]
        }
    }

    /// A text that may be empty, up to a number of bytes.
    static func text(_ bytesMax: Int, from minimum: Int? = nil) -> OpenAPIValue {
        OpenAPIValue.object(minimum.map { [OpenAPIValue.Member("minLength", .integer($0))] } ?? [])
            .adding(["maxLength": .integer(bytesMax)])
    }

    static let textLimits: [String: OpenAPIValue] = [
        "PurchasesRequest.customer_id": customerIDLimits,
        "PreviewRequest.customer_id": customerIDLimits,
        "AliasRequest.customer_id": customerIDLimits,
        "SeatClaimRequest.customer_id": customerIDLimits,
        "SeatInvitationRequest.customer_id": customerIDLimits,
        "OfferSignatureRequest.customer_id": customerIDLimits,
        "WebhookReplayRequest.customer_id": customerIDLimits,
        "AttributeSetting.name": text(AttributeRules.nameCharactersMax, from: 1),
        "AttributeSetting.value": text(AttributeRules.valueCharactersMax),
        "DebitRequest.reason": text(NewBooking.reasonBytesMax),
        "CreditRequest.reason": text(NewBooking.reasonBytesMax, from: 1),
        "GrantRequest.reason": text(NewGrant.reasonBytesMax),
        "OwnershipRequest.reason": text(OwnershipChange.reasonBytesMax),
        "WebhookRequest.url": text(WebhookRules.urlBytesMax, from: 1),
        "WebhookChangeRequest.url": text(WebhookRules.urlBytesMax, from: 1),
        "WebhookRequest.authorization": text(WebhookService.authorizationBytesMax, from: 1),
        "WebhookChangeRequest.authorization": text(WebhookService.authorizationBytesMax),
        "ConfigurationPreviewRequest.configuration":
            text(ConfigurationRoutes.bytesMax),
    ]
}

extension OpenAPIParameter {
    /// - Parameter description: the purpose of the id.
    static func customerID(_ description: String) -> Self {
        OpenAPIParameter(
            name: "customer_id", description: description, schema: OpenAPI.customerID)
    }
}
