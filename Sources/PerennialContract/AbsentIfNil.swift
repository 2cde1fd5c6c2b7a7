/// A member that an answer leaves out if it is nil, where other members are null: answers that have
/// nothing to do with it keep every byte.
protocol AbsentIfNil: Encodable {}

extension KeyedEncodingContainer {
    /// Synthesized `encode(to:)` calls this one for members of these types.
    mutating func encodeIfPresent(_ value: (some AbsentIfNil)?, forKey key: Key) throws {
        guard let value else { return }
        try encode(value, forKey: key)
    }
}
