import PerennialContract
import RevenueCatWebhooks

/// A page of a list, as version 2 of RevenueCat's REST API sends it.
package struct RevenueCatList: Sendable {
    /// The path of the list, without its query.
    package var path: String
    /// The part of the query that the request for the next page must repeat, such as
    /// `environment=sandbox`.
    package var query: String?
    package var items: [RevenueCatValue]
    /// The id after which the next page begins. Nil on the last page.
    package var next: String?

    package init(path: String, items: [RevenueCatValue], next: String? = nil) {
        (self.path, self.items, self.next) = (path, items, next)
    }

    /// A page of a list, made from all objects of the list.
    ///
    /// - Parameter objects: all objects of the list. A client sends the id of an object as
    ///   `starting_after`.
    /// - Parameter after: the last id of the page before. Nil for the first page.
    /// - Returns: nil if no object has the id `after`.
    package static func page(
        of objects: [RevenueCatObject], path: String, after: String?, limit: Int
    ) -> RevenueCatList? {
        var rest = objects[...]
        if let after {
            guard let index = objects.firstIndex(where: { $0.id == after }) else { return nil }
            rest = objects[(index + 1)...]
        }
        let items = rest.prefix(limit)
        return RevenueCatList(
            path: path, items: items.map(\.value),
            next: rest.count > limit ? items.last?.id : nil)
    }

    package var value: RevenueCatValue {
        let begin = query.map { "\(path)?\($0)&" } ?? "\(path)?"
        let page = next.map { "\(begin)starting_after=\(Paths.percentEncoded($0))" }
        return .object([
            .init("object", .string("list")), .init("items", .list(items)),
            .init("next_page", .text(page)), .init("url", .string(path)),
        ])
    }
}

/// An object of version 2 of RevenueCat's REST API, and its id.
package struct RevenueCatObject: Hashable, Sendable {
    package var id: String
    package var members: [RevenueCatValue.Member]

    package init(_ type: String, _ id: String, _ members: [RevenueCatValue.Member]) {
        self.id = id
        self.members = [.init("object", .string(type))] + members
    }

    package var value: RevenueCatValue { .object(members) }
}
