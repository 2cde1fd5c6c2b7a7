import AppStoreFormats

// Reads the required members of a response.

extension JSON {
    func required(_ key: String) throws(AppStoreFailure) -> String {
        guard let text = self[key]?.string else { throw .unreadable("\(key) must be a string") }
        return text
    }

    func requiredArray(_ key: String) throws(AppStoreFailure) -> [JSON] {
        guard let values = self[key]?.array else { throw .unreadable("\(key) must be an array") }
        return values
    }

    func requiredStrings(_ key: String) throws(AppStoreFailure) -> [String] {
        let values = try requiredArray(key)
        let texts = values.compactMap(\.string)
        guard texts.count == values.count else {
            throw .unreadable("\(key) must be an array of strings")
        }
        return texts
    }
}
