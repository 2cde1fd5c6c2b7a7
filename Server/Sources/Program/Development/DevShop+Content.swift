import Engine
import Foundation
import Ledger

extension DevShop {
    /// The content of the example: a bulletin in the middle of each month, for customers with
    /// `pro`. The first bulletin was published before the virtual clock begins. The product `guide`
    /// also includes this bulletin.
    static let bulletins = ContentSettings(
        items: [bulletin(2025, 12, soldAs: ["guide"])] + (1...3).map { bulletin(2026, $0) },
        opensSandbox: true)

    private static func bulletin(
        _ year: Int64, _ month: Int64, soldAs products: Set<ProductID> = []
    ) -> ContentSettings.Entry {
        let name = "\(year)-\(month < 10 ? "0" : "")\(month)"
        guard let day = WallClock.utc.midnight(year: year, month: month, day: 15) else {
            preconditionFailure("the fifteenth of \(name) is a day of every calendar")
        }
        return ContentSettings.Entry(
            Publication(
                id: PublicationID(rawValue: name), publishedAt: day, entitlement: "pro",
                products: products),
            title: "Bulletin of \(name)", file: "\(name).txt")
    }

    /// The example's content with its files. Writes files that are missing.
    func content() throws -> ContentSettings {
        let home = folder.appending(path: "bulletins")
        try Self.make(home)
        var content = Self.bulletins
        content.place = .folder(home.path)
        for item in content.items {
            guard let name = item.file else { continue }
            let file = home.appending(path: name)
            guard !FileManager.default.fileExists(atPath: file.path) else { continue }
            try Data("\(item.title): which birds are here now.\n".utf8).write(to: file)
        }
        return content
    }
}
