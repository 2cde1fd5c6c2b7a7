/// The contents of an app receipt (since iOS 7): the payload of the signed file that every app has
/// on a device.
///
/// A receipt is a set of numbered attributes. All of them are kept, including unknown ones;
/// ``Field`` names the known ones.
package struct AppReceipt: ReceiptAttributes {
    /// All attributes except the purchases.
    package var attributes: [ReceiptAttribute]
    /// The purchases in the order of the receipt.
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

    /// The numbers of attributes whose meaning is known. Apple documents some of them; the others
    /// were derived from receipts and Apple's responses about them.
    package enum Field: Int64, Hashable, Sendable, CaseIterable {
        case receiptType = 0
        /// The app's Apple id. 0 in the sandbox.
        case appAppleID = 1
        case bundleID = 2
        /// The app's version: `CFBundleVersion` or, on the Mac, the short version.
        case applicationVersion = 3
        /// Random bytes. They are one of the inputs of the device hash.
        case opaqueValue = 4
        /// The SHA-1 of ``AppReceipt/hashedBytes(guid:)``.
        case deviceHash = 5
        case opaque6 = 6
        case opaque7 = 7
        /// When the receipt was downloaded. Empty in the sandbox; in production a little before the
        /// creation.
        case downloaded = 8
        case softwareBuild = 9
        case ageRating = 10
        case developerID = 11
        /// When the receipt was created. The signer's certificate must be valid at this moment.
        case created = 12
        case clientVersion = 13
        case counter = 14
        case downloadID = 15
        case versionExternalIdentifier = 16
        /// A purchase. A receipt has one such attribute for each purchase.
        case purchase = 17
        /// When the customer first obtained the app. In the sandbox, always 2013-08-01T07:00:00Z.
        case originallyPurchased = 18
        /// The version of the app that the customer first obtained. In the sandbox, always 1.0.
        case originalApplicationVersion = 19
        case empty20 = 20
        /// When the licence for the app ends. Only for volume purchases.
        case expires = 21
        case organization = 23
        /// An unknown attribute, which is always 3.
        case three = 25
        case preordered = 32
    }

    /// The bytes whose SHA-1 is in the receipt: the device's identifier, the opaque value, and the
    /// bundle id. The bundle id includes its tag and its length, as in the receipt. Returns nil if
    /// one of them is missing.
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
    /// The first attribute with the given name. Returns nil if there is none.
    package subscript(_ field: Field) -> ReceiptAttribute? {
        attributes.first { $0.number == field.rawValue }
    }
}

/// The environment of a receipt, and how the app was bought.
package struct ReceiptType: OpenEnumeration {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let production = Self(rawValue: "Production")
    package static let sandbox = Self(rawValue: "ProductionSandbox")
    package static let volume = Self(rawValue: "ProductionVPP")
    package static let volumeSandbox = Self(rawValue: "ProductionVPPSandbox")
    /// The receipt is signed by Xcode with its own certificate, so it proves nothing.
    package static let xcode = Self(rawValue: "Xcode")
}
