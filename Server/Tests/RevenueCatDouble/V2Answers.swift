import AppStoreFormats

/// The reading half of API version 2, for one project.
struct V2Answers {
    /// The default and the allowed number of objects of a page.
    private static let limitUsual = 20
    private static let limits = 1...1000

    let books: Books
    let faults: RevenueCatDouble.TransportFaults
    let target: RequestTarget

    private var project: RevenueCatDouble.Project { books.project }

    /// The answer for a path below `/v2/projects/{project_id}`.
    func answer() throws(V2Failure) -> RevenueCatDouble.Answer {
        let path = target.segments.dropFirst(2)
        guard path.first == project.id else { throw .missing("project_id") }
        let rest = Array(path.dropFirst())
        switch (rest.first, rest.count) {
        case ("entitlements", 1):
            return try page(
                project.entitlements.map {
                    .init(id: $0.id, json: V2Objects.entitlement($0, of: project))
                })
        case ("products", 1):
            return try page(
                project.products.map {
                    .init(id: $0.id, json: V2Objects.product($0, of: project))
                })
        case ("customers", 1): return try customers()
        case ("customers", 2...3):
            return try customer(rest[1], rest.count > 2 ? rest[2] : nil)
        default: throw .missing("path")
        }
    }

    private func customer(
        _ id: String, _ part: String?
    ) throws(V2Failure) -> RevenueCatDouble.Answer {
        guard let place = books.place(of: id) else { throw .missing("customer_id") }
        let objects = V2Objects(
            opinion: books.opinion(at: place), customer: books.customers[place])
        switch part {
        case nil: return .init(200, objects.singleCustomer(url: target.rawPath))
        case "active_entitlements"?: return try page(objects.activeEntitlements)
        case "subscriptions"?: return try page(objects.subscriptions.filter(isOfEnvironment))
        case "purchases"?: return try page(objects.purchases.filter(isOfEnvironment))
        case "aliases"?:
            return try page(
                books.aliases(at: place).map { alias in
                    .init(
                        id: alias.id,
                        json: [
                            "object": "customer.alias", "id": .string(alias.id),
                            "created_at": alias.added.json,
                        ])
                })
        case "virtual_currencies"?: return try page(balances(of: books.customers[place]))
        default: throw .missing("path")
        }
    }

    /// The balances of a customer. Empty ones only if the request asks for them.
    private func balances(of customer: KnownCustomer) -> [V2Objects.Entry] {
        let includesEmpty = target.query["include_empty_balances"] == "true"
        return customer.balances.sorted { $0.key < $1.key }
            .filter { includesEmpty || $0.value != 0 }
            .map { code, balance in
                .init(
                    id: code,
                    json: [
                        "object": "virtual_currency_balance", "currency_code": .string(code),
                        "balance": .integer(balance),
                    ])
            }
    }

    private func isOfEnvironment(_ entry: V2Objects.Entry) -> Bool {
        target.query["environment"].map { entry.json["environment"]?.string == $0 } ?? true
    }

    // MARK: - Pages

    private func limit() throws(V2Failure) -> Int {
        guard let text = target.query["limit"] else { return Self.limitUsual }
        guard let limit = Int(text), Self.limits.contains(limit) else {
            throw .parameter("limit", "limit must be between 1 and 1000.")
        }
        return limit
    }

    /// A page of a short list. The cursor is the id of the last object of the page before.
    private func page(
        _ entries: [V2Objects.Entry]
    ) throws(V2Failure) -> RevenueCatDouble.Answer {
        let limit = try limit()
        var rest = entries[...]
        if let cursor = target.query["starting_after"] {
            guard let place = entries.firstIndex(where: { $0.id == cursor }) else {
                throw .parameter("starting_after", "No object of the list has this id.")
            }
            rest = entries[(place + 1)...]
        }
        let items = Array(rest.prefix(limit))
        let last = rest.count > limit ? items.last?.id : nil
        return .init(200, list(items.map(\.json), last: last))
    }

    /// `next_page` names no limit, so a caller that follows it gets the usual number of objects.
    private func list(_ items: [JSON], last: String?) -> JSON {
        let next = last.map { target.rawPath + "?starting_after=" + RequestTarget.encoded($0) }
        return V2Objects.list(items, url: target.rawPath, nextPage: next)
    }

    /// A page of all customers, in the order of their creation. Some are left out, and some are
    /// repeated on the next page, as the faults say. A repeated customer never ends a page, so that
    /// a cursor is unambiguous.
    private func customers() throws(V2Failure) -> RevenueCatDouble.Answer {
        let limit = try limit()
        var start = 0
        if let cursor = target.query["starting_after"] {
            guard let place = books.place(of: cursor) else {
                throw .parameter("starting_after", "No customer has this id.")
            }
            start = place + 1
        }
        let all = books.customers
        let earlier = all[..<start].suffix(limit).filter {
            isListed($0) && faults.repeats($0.originalID)
        }
        let repeated = earlier.suffix(limit / 2)
        var items: [KnownCustomer] = []
        var hasMore = false
        for customer in all[start...] where isListed(customer) {
            guard items.count < limit - repeated.count else {
                hasMore = true
                break
            }
            items.append(customer)
        }
        let objects = (repeated + items).map { customer in
            V2Objects(
                opinion: Opinion(project: project, now: books.now, lines: [], grants: []),
                customer: customer
            ).customerObject
        }
        return .init(200, list(objects, last: hasMore ? items.last?.originalID : nil))
    }

    private func isListed(_ customer: KnownCustomer) -> Bool {
        !customer.isMerged && !faults.omits(customer.originalID)
    }
}
