import AppStoreFormats

/// How a document can be invalid: not signed by Apple, or not for this app and time. A server that
/// accepts such a document has a security hole.
package enum DocumentDefect: String, Hashable, Sendable, CaseIterable {
    case forged
    case tampered
    case truncated
    case expired
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"

    package var summary: String {
        switch self {
        case .forged: "A document with the true certificates, signed with another key."
        case .tampered: "A true document with one character of its payload changed."
        case .truncated: "A true document, truncated in the middle."
        case .expired: "A document that was signed after its certificates expired."
        case .wrongApp: "A validly signed document for another app."
        case .wrongEnvironment: "A validly signed document of the environment LocalTesting."
        }
    }

    /// A time after the expiry of every certificate.
    static let tooLate = AppStoreDate(milliseconds: 4_102_444_800_000)
    static let otherBundleID = "com.example.other"
    static let otherAppleID: Int64 = 999_999_999
}

extension SigningAuthority {
    /// Signs a payload and spoils it as a fault requires.
    ///
    /// The parts of a notification (such as `data`) are altered too; the signed documents inside
    /// are not.
    func sign(_ payload: JSON, spoiled: DocumentDefect) throws(SigningFailure) -> String {
        switch spoiled {
        case .forged: return try signedWithUntrustedKey(payload)
        case .tampered: return Self.tampered(try sign(payload))
        case .truncated:
            let text = try sign(payload)
            return String(text.prefix(text.count / 2))
        case .expired:
            return try sign(payload.replacing("signedDate", with: DocumentDefect.tooLate.json))
        case .wrongApp:
            let other = payload.replacing("bundleId", with: .string(DocumentDefect.otherBundleID))
            return try sign(
                other.replacing("appAppleId", with: .integer(DocumentDefect.otherAppleID)))
        case .wrongEnvironment:
            let local = StoreEnvironment.localTesting.json
            return try sign(payload.replacing("environment", with: local))
        }
    }

    /// Changes one character in the middle of the payload segment.
    private static func tampered(_ text: String) -> String {
        var bytes = Array(text.utf8)
        let dots = bytes.indices.filter { bytes[$0] == UInt8(ascii: ".") }
        guard dots.count == 2 else { return text }
        let middle = (dots[0] + dots[1]) / 2
        bytes[middle] = bytes[middle] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSON {
    /// The members that contain what a notification is about.
    private static let parts: Set = ["data", "summary", "appData", "externalPurchaseToken"]

    /// Replaces the value of a key in the object and in its parts. Adds no key.
    fileprivate func replacing(_ key: String, with value: JSON) -> JSON {
        guard case .object(let members) = self else { return self }
        return .object(
            members.map { member in
                if member.key == key { return Member(key, value) }
                return Self.parts.contains(member.key)
                    ? Member(member.key, member.value.replacing(key, with: value)) : member
            })
    }
}
