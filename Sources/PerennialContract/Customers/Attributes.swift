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
    /// The new value. Nil, or an empty text, deletes the attribute.
    public var value: String?
    /// When the value was set, by the clock of whoever set it. An older value never replaces a
    /// newer one. If nil, the value replaces whatever is known.
    public var at: Timestamp?

    public init(name: String, value: String?, at: Timestamp? = nil) {
        self.name = name
        self.value = value
        self.at = at
    }
}

/// What an app says about a customer under one name. Nobody has proven it.
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
