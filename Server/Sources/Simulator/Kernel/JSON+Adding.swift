import AppStoreFormats

extension JSON {
    /// An object with one more member.
    func adding(_ name: String, _ value: JSON) -> JSON {
        .object((members ?? []) + [Member(name, value)])
    }
}
