import AppStoreFormats
import Foundation

/// What an app has uploaded for customers who are about to cancel: images, messages, the default
/// messages, and the URL that Apple may query instead. Each environment has a separate value.
struct RetentionMessaging: Sendable {
    /// How long Apple reviews an upload in production, in milliseconds. The sandbox approves at
    /// once.
    static let reviewMilliseconds: Int64 = 86_400_000
    static let imagesMax = 2000
    static let messagesMax = 2000
    static let headerLengthMax = 66
    static let bodyLengthMax = 144
    static let altTextLengthMax = 150
    static let bulletPointsMax = 5
    static let bulletPointLengthMax = 66
    static let urlLengthMax = 256

    struct Image: Hashable, Sendable {
        let size: String
        let approved: AppStoreDate
    }

    struct Message: Hashable, Sendable {
        let images: Set<String>
        let approved: AppStoreDate
    }

    struct Place: Hashable, Sendable {
        let productID: String
        let locale: String
    }

    var images: [String: Image] = [:]
    var messages: [String: Message] = [:]
    var defaults: [Place: String] = [:]
    var realtimeURL: String?
    var performanceTests: [String: PerformanceTest] = [:]

    /// When an upload made now is approved.
    static func approval(
        in environment: SimulatedEnvironment, at now: AppStoreDate
    ) -> AppStoreDate {
        switch environment {
        case .production: AppStoreDate(milliseconds: now.milliseconds + reviewMilliseconds)
        case .sandbox: now
        }
    }

    // MARK: - Images

    /// The first bytes of a PNG file.
    private static let pngStart: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// The name of the first chunk of a PNG file.
    private static let pngHeader: ArraySlice<UInt8> = [0x49, 0x48, 0x44, 0x52]

    mutating func uploadImage(
        _ id: String, _ bytes: [UInt8], size: String?, approved: AppStoreDate
    ) throws(APIError) {
        let size = size ?? "FULL_SIZE"
        guard ["FULL_SIZE", "BULLET_POINT"].contains(size) else { throw .invalidImageSize }
        guard bytes.starts(with: Self.pngStart), bytes.dropFirst(12).prefix(4) == Self.pngHeader
        else { throw .invalidImage }
        guard images[id] == nil else { throw .imageAlreadyExists }
        guard images.count < Self.imagesMax else { throw .imagesUsedUp }
        images[id] = Image(size: size, approved: approved)
    }

    mutating func deleteImage(_ id: String) throws(APIError) {
        guard images[id] != nil else { throw .imageNotFound }
        guard !messages.values.contains(where: { $0.images.contains(id) }) else {
            throw .imageInUse
        }
        images[id] = nil
    }

    // MARK: - Messages

    mutating func uploadMessage(
        _ id: String, _ body: JSON, approved: AppStoreDate
    ) throws(APIError) {
        let used = try Self.images(in: body)
        guard messages[id] == nil else { throw .messageAlreadyExists }
        guard messages.count < Self.messagesMax else { throw .messagesUsedUp }
        for image in used where images[image] == nil { throw .imageNotFound }
        messages[id] = Message(images: used, approved: approved)
    }

    /// The images that a message refers to. Throws if one of its texts exceeds its limit.
    private static func images(in body: JSON) throws(APIError) -> Set<String> {
        guard let header = body["header"]?.string, let text = body["body"]?.string else {
            throw .badRequest
        }
        guard header.count <= headerLengthMax else { throw .headerTooLong }
        guard text.count <= bodyLengthMax else { throw .bodyTooLong }
        var images: Set<String> = []
        if let image = body["image"], image != .null { images.insert(try self.image(in: image)) }
        if body["headerPosition"] == "ABOVE_IMAGE", images.isEmpty {
            throw .aboveImageWithoutImage
        }
        let points = body["bulletPoints"]?.array ?? []
        guard points.count <= bulletPointsMax else { throw .tooManyBulletPoints }
        for point in points {
            guard let text = point["text"]?.string else { throw .badRequest }
            guard text.count <= bulletPointLengthMax else { throw .bulletPointTooLong }
            images.insert(try image(in: point))
        }
        return images
    }

    private static func image(in json: JSON) throws(APIError) -> String {
        guard let text = json["imageIdentifier"]?.string, let id = UUID(uuidString: text),
            let altText = json["altText"]?.string
        else { throw .badRequest }
        guard altText.count <= altTextLengthMax else { throw .altTextTooLong }
        return id.uuidString.lowercased()
    }

    mutating func deleteMessage(_ id: String) throws(APIError) {
        guard messages.removeValue(forKey: id) != nil else { throw .messageNotFound }
        defaults = defaults.filter { $0.value != id }
    }

    // MARK: - Default messages

    mutating func setDefault(
        _ id: String, at place: Place, now: AppStoreDate
    ) throws(APIError) {
        guard let message = messages[id] else { throw .messageNotFound }
        guard message.approved <= now else { throw .messageNotApproved }
        for image in message.images {
            guard let image = images[image], image.approved <= now else {
                throw .imageNotApproved
            }
        }
        defaults[place] = id
    }
}
