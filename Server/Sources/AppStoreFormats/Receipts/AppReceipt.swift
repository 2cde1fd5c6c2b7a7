/// The contents of an app receipt (since iOS 7): the payload of the signed file that every app has
/// on a device.
///
/// A receipt is a set of numbered attributes. All of them are retained, including unknown ones;
/// ``Field`` names those that are known.
package struct AppReceipt: ReceiptAttributes {
    /// All attributes except the purchases.
    package var attributes: [ReceiptAttribute]
    /// In the order of the receipt.
    package var purchases: [InAppReceipt]

    package init(attributes: [ReceiptAttribute] = [], purchases: [InAppReceipt] = []) {
        self.attributes = attributes
        self.purchases = purchases
    }

    package init(parsing bytes: [UInt8]) throws(ReceiptFailure) {
        attributes = []
        purchases = []
        for attribute in try ReceiptAttribute.list(parsing: bytes[...]) {
            if attribute.number == Field.purchase.rawValue {
                purchases.append(try InAppReceipt(parsing: attribute.value))
            } else {
                attributes.append(attribute)
            }
        }
    }

    /// The payload to be signed.
    package var bytes: [UInt8] {
        let bought = purchases.map { ReceiptAttribute(Field.purchase.rawValue, value: $0.bytes) }
        return ReceiptAttribute.bytes(attributes + bought)
    }

    /// The numbers whose meaning is known. Apple documents a few; the others were derived from
    /// receipts and Apple's responses about them.
    package enum Field: Int64, Hashable, Sendable, CaseIterable {
        case receiptType = 0
        /// 0 in the sandbox.
        case appAppleID = 1
        case bundleID = 2
        /// `CFBundleVersion`; on the Mac, the short version.
        case applicationVersion = 3
        /// Random bytes, which are one part of the device hash.
        case opaqueValue = 4
        /// The SHA-1 of ``AppReceipt/hashedBytes(guid:)``.
        case deviceHash = 5
        case opaque6 = 6
        case opaque7 = 7
        /// Empty in the sandbox. In production a little before the creation.
        case downloaded = 8
        case softwareBuild = 9
        case ageRating = 10
        case developerID = 11
        /// Also the moment at which the signer's certificate must be valid.
        case created = 12
        case clientVersion = 13
        case counter = 14
        case downloadID = 15
        case versionExternalIdentifier = 16
        /// One for each purchase.
        case purchase = 17
        /// When the customer first obtained the app. In the sandbox always 2013-08-01T07:00:00Z.
        case originallyPurchased = 18
        /// In the sandbox always 1.0.
        case originalApplicationVersion = 19
        case empty20 = 20
        /// Only for volume purchases.
        case expires = 21
        case organization = 23
        /// Always 3.
        case three = 25
        case preordered = 32
    }

    /// The bytes whose SHA-1 is in the receipt: the device's identifier, the opaque value, and the
    /// bundle id, encoded with its tag and length as in the receipt. Returns nil if one of them is
    /// missing.
    package func hashedBytes(guid: [UInt8]) -> [UInt8]? {
        guard let opaque = self[.opaqueValue]?.value, let bundleID = self[.bundleID]?.value else {
            return nil
        }
        return guid + opaque + bundleID
    }
}

/// A value made of numbered attributes, some of which have names.
package protocol ReceiptAttributes: Hashable, Sendable {
    associatedtype Field: RawRepresentable<Int64>
    var attributes: [ReceiptAttribute] { get set }
}

extension ReceiptAttributes {
    /// An attribute by its name; the first one if it is repeated.
    package subscript(_ field: Field) -> ReceiptAttribute? {
        attributes.first { $0.number == field.rawValue }
    }
}

/// The environment a receipt is from, and how the app was bought.
package struct ReceiptType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let production = Self(rawValue: "Production")
    package static let sandbox = Self(rawValue: "ProductionSandbox")
    package static let volume = Self(rawValue: "ProductionVPP")
    package static let volumeSandbox = Self(rawValue: "ProductionVPPSandbox")
    /// Signed by Xcode with its own certificate, so it proves nothing.
    package static let xcode = Self(rawValue: "Xcode")
}
