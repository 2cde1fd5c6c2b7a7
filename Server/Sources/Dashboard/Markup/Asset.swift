/// A file that pages load. The file's path changes with its content, so browsers may cache it
/// permanently.
package struct Asset: Hashable, Sendable {
    package let path: String
    package let bytes: [UInt8]
    package let contentType: String
    /// 16 hexadecimal digits that distinguish versions of our own files. The digits have no
    /// security purpose.
    package let hash: String

    package init(name: String, fileExtension: String, contentType: String, bytes: [UInt8]) {
        hash = Self.hash(of: bytes)
        path = "/assets/\(name)-\(hash).\(fileExtension)"
        self.bytes = bytes
        self.contentType = contentType
    }

    package static let style = Asset(
        name: "style", fileExtension: "css", contentType: "text/css; charset=utf-8",
        bytes: PackageResources.style_css)
    package static let script = Asset(
        name: "script", fileExtension: "js", contentType: "text/javascript; charset=utf-8",
        bytes: PackageResources.script_js)
    package static let icon = Asset(
        name: "icon", fileExtension: "svg", contentType: "image/svg+xml",
        bytes: PackageResources.icon_svg)

    /// The files that every page loads.
    package static let common = [style, script, icon]

    /// The header `Cache-Control` of every asset.
    package static let cacheControl = "public, max-age=31536000, immutable"

    /// FNV-1a with 64 bits.
    private static func hash(of bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
