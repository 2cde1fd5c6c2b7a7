import AppStoreFormats

/// How a document can be none of Apple's, or none for this app now. Whoever takes it in has a hole.
package enum Spoilage: String, Hashable, Sendable, CaseIterable {
    case forged
    case tampered
    case truncated
    case expired
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"

    package var summary: String {
        switch self {
        case .forged: "A document under the true certificates, signed with another key."
        case .tampered: "A true document with one character of its payload changed."
        case .truncated: "A true document that ends in the middle."
        case .expired: "A document that was signed after its certificates had ended."
        case .wrongApp: "A document for another app, truly signed."
        case .wrongEnvironment: "A document of the environment LocalTesting, truly signed."
        }
    }

    /// After the end of every certificate.
    static let tooLate = AppStoreDate(milliseconds: 4_102_444_800_000)
    static let otherBundleID = "com.example.other"
    static let otherAppleID: Int64 = 999_999_999
}

extension SigningAuthority {
    /// A payload signed as a fault wants it.
    ///
    /// What stands in a part of a notification is spoiled with it; the documents inside are left.
    func sign(_ payload: JSON, spoiled: Spoilage) throws(SigningFailure) -> String {
        switch spoiled {
        case .forged: return try signedByAStranger(payload)
        case .tampered: return Self.tampered(try sign(payload))
        case .truncated:
            let text = try sign(payload)
            return String(text.prefix(text.count / 2))
        case .expired:
            return try sign(payload.replacing("signedDate", with: Spoilage.tooLate.json))
        case .wrongApp:
            let other = payload.replacing("bundleId", with: .string(Spoilage.otherBundleID))
            return try sign(other.replacing("appAppleId", with: .integer(Spoilage.otherAppleID)))
        case .wrongEnvironment:
            let local = StoreEnvironment.localTesting.json
            return try sign(payload.replacing("environment", with: local))
        }
    }

    /// Another letter in the middle of the payload's segment.
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
    /// What a notification is about stands in one of these.
    private static let parts: Set = ["data", "summary", "appData", "externalPurchaseToken"]

    /// With another value wherever the key stands, here or in a part; nothing is added.
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
