import AppStoreFormats

/// A filter of transactions, as defined on the page "Get Transaction History". If a name has
/// several values, a transaction must match one of them.
struct HistoryQuery: Sendable {
    private static let productTypes: [String: ProductType] = [
        "AUTO_RENEWABLE": .autoRenewable, "NON_RENEWABLE": .nonRenewing,
        "CONSUMABLE": .consumable, "NON_CONSUMABLE": .nonConsumable,
    ]

    let revision: Revision?
    let isDescending: Bool
    private let products: Set<String>
    private let types: Set<ProductType>
    private let groups: Set<String>
    private let ownership: OwnershipType?
    private let start: AppStoreDate?
    private let end: AppStoreDate?
    /// Whether to list only revoked transactions (true), only others (false), or all (nil).
    private let isRevoked: Bool?

    init(_ call: APICall) throws(APIError) {
        revision = try call.revision()
        switch call.value("sort") {
        case nil, "ASCENDING"?: isDescending = false
        case "DESCENDING"?: isDescending = true
        default: throw .invalidSort
        }
        products = Set(try call.words("productId", else: .invalidProductID))
        var types: Set<ProductType> = []
        for name in call.values("productType") {
            guard let type = Self.productTypes[name] else { throw .invalidProductType }
            types.insert(type)
        }
        self.types = types
        groups = Set(
            try call.words("subscriptionGroupIdentifier", else: .invalidSubscriptionGroup))
        ownership = try Self.ownership(call.value("inAppOwnershipType"))
        start = try call.date("startDate", else: .invalidStartDate)
        end = try call.date("endDate", else: .invalidEndDate)
        if let start, let end, end <= start { throw .invalidEndDate }
        let isExcluded = try call.bool("excludeRevoked", else: .invalidExcludeRevoked)
        let revoked = try call.bool("revoked", else: .invalidRevoked)
        // The old and the new filter must not contradict each other.
        if isExcluded == true, revoked == true { throw .invalidRevoked }
        isRevoked = revoked ?? (isExcluded == true ? false : nil)
    }

    private static func ownership(_ text: String?) throws(APIError) -> OwnershipType? {
        guard let text else { return nil }
        let type = OwnershipType(rawValue: text)
        guard [.purchased, .familyShared].contains(type) else { throw .invalidOwnershipType }
        return type
    }

    func includes(_ transaction: TransactionPayload) -> Bool {
        Self.isAmong(products, transaction.productId) && Self.isAmong(types, transaction.type)
            && Self.isAmong(groups, transaction.subscriptionGroupIdentifier)
            && (ownership == nil || ownership == transaction.inAppOwnershipType)
            && (isRevoked == nil || isRevoked == (transaction.revocationDate != nil))
            && isInTime(transaction.purchaseDate)
    }

    private static func isAmong<Value: Hashable>(_ wanted: Set<Value>, _ value: Value?) -> Bool {
        wanted.isEmpty || value.map(wanted.contains) ?? false
    }

    /// Whether a purchase date is in the query's time: the start is included, the end is not.
    private func isInTime(_ purchased: AppStoreDate?) -> Bool {
        guard let purchased else { return start == nil && end == nil }
        return start.map { $0 <= purchased } ?? true && end.map { purchased < $0 } ?? true
    }
}

extension APICall {
    /// The revision in the query. Returns nil if the query contains none.
    func revision() throws(APIError) -> Revision? {
        guard let text = value("revision") else { return nil }
        guard let revision = Revision(text) else { throw .invalidRequestRevision }
        return revision
    }

    fileprivate func words(_ name: String, else error: APIError) throws(APIError) -> [String] {
        let values = values(name)
        guard values.allSatisfy({ !$0.isEmpty }) else { throw error }
        return values
    }
}
