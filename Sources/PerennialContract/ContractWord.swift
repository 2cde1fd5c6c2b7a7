/// A word of the contract. Words are open: a newer server may send a word that its client does not
/// know. The client keeps such a word unchanged.
public protocol ContractWord: RawRepresentable, Hashable, Sendable, Codable
where RawValue == String {
    /// The words that this version of the contract knows.
    static var known: [Self] { get }

    init(rawValue: String)
}
