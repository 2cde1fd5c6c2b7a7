import AppStoreFormats
import Foundation

/// Documents of our own simulator, as files. The part of a file's name before the first hyphen or
/// dot names its form.
struct Corpus {
    struct Document {
        var name: String
        var form: Form
        var bytes: [UInt8]
    }

    private(set) var documents: [Document] = []
    /// The certificates under which the documents are signed, in DER.
    private(set) var roots: [[UInt8]] = []

    /// - Parameter folder: nil for the corpus in the repository.
    init(folder: String?) throws {
        let usual = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Corpus")
        let url = folder.map { URL(fileURLWithPath: $0) } ?? usual
        for name in try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() {
            let bytes = Array(try Data(contentsOf: url.appendingPathComponent(name)))
            let word = String(name.prefix { $0 != "." && $0 != "-" })
            if word == "root" {
                roots.append(bytes)
            } else if let form = Form(rawValue: word) {
                documents.append(Document(name: name, form: form, bytes: bytes))
            }
        }
        // The payloads of app receipts, extracted from them.
        for receipt in documents where receipt.form == .receipt {
            guard let content = Self.content(of: receipt.bytes) else { continue }
            documents.append(
                Document(name: "payload of \(receipt.name)", form: .payload, bytes: content))
        }
    }

    /// Finds the first ASN.1 set that can be read as a receipt. This search suffices, because the
    /// simulator made the file.
    private static func content(of file: [UInt8]) -> [UInt8]? {
        for start in file.indices where file[start] == 0x31 {
            guard file.count > start + 4, file[start + 1] == 0x82 else { continue }
            let length = Int(file[start + 2]) << 8 | Int(file[start + 3])
            guard start + 4 + length <= file.count else { continue }
            let bytes = Array(file[start..<start + 4 + length])
            if let receipt = try? AppReceipt(parsing: bytes), !receipt.attributes.isEmpty {
                return bytes
            }
        }
        return nil
    }
}
