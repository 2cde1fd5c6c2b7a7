/// A member that an answer leaves out if it is nil, although other nil members are written as null.
/// Answers without such a member stay unchanged, byte for byte.
protocol AbsentIfNil: Encodable {}

extension KeyedEncodingContainer {
    /// A synthesized `encode(to:)` calls this overload for members of these types.
    mutating func encodeIfPresent(_ value: (some AbsentIfNil)?, forKey key: Key) throws {
        guard let value else { return }
        try encode(value, forKey: key)
    }
}
