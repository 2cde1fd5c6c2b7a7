import AppStoreFormats
import SwiftASN1

/// A receipt of Xcode's local StoreKit testing, for development, parsed but not trusted. Such a
/// receipt uses BER with indefinite lengths and content in pieces, and a self-signed certificate.
struct XcodeReceipt {
    /// The maximum size of a file in bytes. The largest published receipt has 1748.
    private static let bytesMax = 65_536

    let content: [UInt8]
    /// The certificate in DER.
    let certificate: ArraySlice<UInt8>
    let signature: ArraySlice<UInt8>

    /// Returns nil if the file does not have the structure of such a receipt.
    init?(_ file: [UInt8]) {
        guard file.count <= Self.bytesMax, let root = try? BER.parse(file),
            let signed = Self.children(of: root).last.map(Self.children)?.first
                .map(Self.children), signed.count >= 5,
            let wrapped = Self.children(of: signed[2]).last.map(Self.children)?.first,
            let content = try? ASN1OctetString(berEncoded: wrapped),
            let certificate = Self.children(of: signed[3]).first,
            let signer = Self.children(of: signed[4]).first,
            let last = Self.children(of: signer).last,
            let signature = try? ASN1OctetString(berEncoded: last)
        else { return nil }
        self.content = Array(content.bytes)
        self.certificate = certificate.encodedBytes
        self.signature = signature.bytes
    }

    /// What the receipt says. It is evidence only in development.
    var payload: AppReceipt? { try? AppReceipt(parsing: content) }

    var isFromXcode: Bool { payload?[.receiptType]?.text == ReceiptType.xcode.rawValue }

    static func isXcodeReceipt(_ file: [UInt8]) -> Bool { Self(file)?.isFromXcode ?? false }

    private static func children(of node: ASN1Node) -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else { return [] }
        return Array(nodes)
    }
}
