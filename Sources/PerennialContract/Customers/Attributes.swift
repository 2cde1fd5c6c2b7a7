/// The body of `PATCH /v1/customers/{id}/attributes`. Attributes that are left out stay as they
/// are. Idempotent.
public struct AttributesRequest: Hashable, Sendable, Codable {
    public var attributes: [AttributeSetting]

    public init(attributes: [AttributeSetting]) { self.attributes = attributes }
}

/// A change of one attribute.
public struct AttributeSetting: Hashable, Sendable, Codable {
    /// A name of your own, or a reserved one that begins with `$`, such as `$email`.
    public var name: String
    /// The new value. Nil, or an empty text, deletes the attribute. The JSON must have this member,
    /// even if it is null. So a misspelt name of the member does not delete the attribute.
    public var value: String?
    /// When the value was set, by the clock of whoever set it. An older value never replaces a
    /// newer one. If nil, the value replaces whatever is known.
    public var at: Timestamp?

    public init(name: String, value: String?, at: Timestamp? = nil) {
        self.name = name
        self.value = value
        self.at = at
    }

    private enum CodingKeys: CodingKey {
        case name, value, at
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        name = try members.decode(String.self, forKey: .name)
        guard members.contains(.value) else {
            throw DecodingError.keyNotFound(
                CodingKeys.value,
                .init(codingPath: members.codingPath, debugDescription: "value is missing"))
        }
        value = try members.decodeIfPresent(String.self, forKey: .value)
        at = try members.decodeIfPresent(Timestamp.self, forKey: .at)
    }

    // Written manually, because `JSONEncoder` would leave out a value that is nil.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(name, forKey: .name)
        if let value {
            try members.encode(value, forKey: .value)
        } else {
            try members.encodeNil(forKey: .value)
        }
        try members.encodeIfPresent(at, forKey: .at)
    }
}

/// A named value that an app has stored about a customer. Nobody has verified it.
public struct Attribute: Hashable, Sendable, Codable {
    public var name: String
    public var value: String
    /// When the value was set.
    public var at: Timestamp
    /// Who set the value: `app` for a device, or `server`.
    public var author: String

    public init(name: String, value: String, at: Timestamp, author: String) {
        self.name = name
        self.value = value
        self.at = at
        self.author = author
    }
}

/// The response of `GET` and `PATCH /v1/customers/{id}/attributes`, ordered by name. With an app
/// key, it contains only attributes that the request names.
public struct AttributeList: Hashable, Sendable, Codable {
    public var items: [Attribute]

    public init(items: [Attribute]) { self.items = items }
}
