/// A member that an answer leaves out if it is nil. Other nil members are written as null. So an
/// answer without such a member has the same bytes as before the member was added.
protocol AbsentIfNil: Encodable {}

extension KeyedEncodingContainer {
    /// The overload that a synthesized `encode(to:)` calls for members of these types.
    mutating func encodeIfPresent(_ value: (some AbsentIfNil)?, forKey key: Key) throws {
        guard let value else { return }
        try encode(value, forKey: key)
    }
}
