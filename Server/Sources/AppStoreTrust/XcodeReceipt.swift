import AppStoreFormats
import SwiftASN1

/// A receipt of Xcode's own store, in development, taken apart but not trusted. It is written with
/// lengths that are found by their end, and content in pieces (BER), under a certificate that
/// signs for itself.
struct XcodeReceipt {
    /// Bytes of a file that is looked at. Those published have up to 1748.
    private static let bytesMax = 65_536

    let content: [UInt8]
    /// In DER.
    let certificate: ArraySlice<UInt8>
    let signature: ArraySlice<UInt8>

    /// Nil for what has not the shape of one, and for what is no receipt at all.
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

    /// What it says; nothing in it is evidence of anything but in development.
    var payload: AppReceipt? { try? AppReceipt(parsing: content) }

    var isOfXcode: Bool { payload?[.receiptType]?.text == ReceiptType.xcode.rawValue }

    static func isOne(_ file: [UInt8]) -> Bool { Self(file)?.isOfXcode ?? false }

    private static func children(of node: ASN1Node) -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else { return [] }
        return Array(nodes)
    }
}
