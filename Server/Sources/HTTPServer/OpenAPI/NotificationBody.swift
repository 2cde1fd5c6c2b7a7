/// The body of an App Store Server Notification. The engine reads the body; this type only
/// describes the body for OpenAPI.
struct NotificationBody: Decodable, Sendable {
    var signedPayload: String?
    var notificationType: String?
    var password: String?

    private enum CodingKeys: String, CodingKey {
        case signedPayload
        case notificationType = "notification_type"
        case password
    }
}
