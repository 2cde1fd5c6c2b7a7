import Ledger
import Reports

/// The table `money_movements`: what each purchase changed in the numbers, and when that was known.
extension DatabaseSession {
    private static let columns =
        ["app", "environment", "purchase", "at_ms", "kind", "transaction_id"]
        + ["known_at_ms", "replaced_at_ms", "day"] + SegmentColumns.names + sumColumns

    /// The columns that reports add up, in the order of ``totals(_:at:)``.
    static let sumColumns = [
        "gross", "refunded", "tax", "commission", "mrr", "payments", "active", "trials", "grace",
        "retry", "not_renewing", "mrr_tax", "mrr_commission", "mrr_of_four_weeks", "contracted",
        "promised",
    ]

    private static let insertMovement =
        Insertion.statement(into: "money_movements", columns) + " ON CONFLICT "
        + "(app, environment, purchase, at_ms, kind, transaction_id, known_at_ms) DO NOTHING"

    /// What is known of a purchase's movements, and what was known before.
    package func movementVersions(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [MovementHistory.Version] {
        let shown = Self.columns.dropFirst(3).joined(separator: ", ")
        return try connection.rows(
            "SELECT \(shown) FROM money_movements WHERE app = $1 AND environment = $2 "
                + "AND purchase = $3 ORDER BY at_ms, kind, transaction_id, known_at_ms",
            Self.key(of: purchase, in: app)
        ).map { (row) throws(StorageFailure) in
            MovementHistory.Version(
                try Self.movement(row), knownAt: Instant(milliseconds: try row.integer(3)),
                replacedAt: try row.optionalInteger(4).map { Instant(milliseconds: $0) })
        }
    }

    private static func movement(_ row: Row) throws(StorageFailure) -> Movement {
        guard let kind = Movement.Kind(rawValue: try row.text(1)) else {
            throw StorageFailure("unknown kind of movement \(try row.text(1))")
        }
        let totals = try totals(row, at: 6 + SegmentColumns.names.count)
        return Movement(
            kind, at: Instant(milliseconds: try row.integer(0)),
            of: TransactionID(rawValue: try row.text(2)),
            try SegmentColumns.segment(row, at: 6), totals.amounts, totals.counts)
    }

    /// Reads ``sumColumns`` from the given column on.
    static func totals(_ row: Row, at column: Int) throws(StorageFailure) -> Totals {
        var numbers: [Int64] = []
        for index in sumColumns.indices { numbers.append(try row.integer(column + index)) }
        var amounts = Movement.Amounts(
            gross: numbers[0], refunded: numbers[1], tax: numbers[2], commission: numbers[3],
            mrr: numbers[4])
        (amounts.mrrTax, amounts.mrrCommission) = (numbers[11], numbers[12])
        amounts.mrrOfFourWeeks = numbers[13]
        (amounts.contracted, amounts.promised) = (numbers[14], numbers[15])
        return Totals(
            amounts,
            Movement.Counts(
                payments: numbers[5], active: numbers[6], trials: numbers[7], grace: numbers[8],
                retry: numbers[9], notRenewing: numbers[10]))
    }

    /// Records what a document changes: marks versions as replaced, and inserts new ones.
    func record(
        _ change: MovementHistory.Change, of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) {
        guard !change.isEmpty else { return }
        let key = Self.key(of: purchase, in: app)
        let (known, neverKnown) = change.replaced.partitioned { $0.knownAt < change.at }
        try connection.runEach(
            "DELETE FROM money_movements WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "AND at_ms = $4 AND kind = $5 AND transaction_id = $6 AND known_at_ms = $7",
            neverKnown.map { key + Self.name(of: $0) })
        try connection.runEach(
            "UPDATE money_movements SET replaced_at_ms = $1 WHERE app = $2 AND environment = $3 "
                + "AND purchase = $4 AND at_ms = $5 AND kind = $6 AND transaction_id = $7 "
                + "AND known_at_ms = $8",
            known.map { [.integer(change.at.milliseconds)] + key + Self.name(of: $0) }
                + change.restored.map { [.null] + key + Self.name(of: $0) })
        try insert(
            change.added.map { MovementHistory.Version($0, knownAt: change.at) }, of: purchase,
            in: app)
    }

    /// Replaces all versions of a purchase's movements.
    func replaceMovements(
        of purchase: PurchaseID, by history: MovementHistory, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM money_movements WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app))
        try insert(history.versions, of: purchase, in: app)
    }

    private func insert(
        _ versions: [MovementHistory.Version], of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) {
        let clock = rules.money(of: app).clock
        let key = Self.key(of: purchase, in: app)
        try connection.runEach(
            Self.insertMovement, versions.map { key + Self.values(of: $0, clock) })
    }

    private static func name(of version: MovementHistory.Version) -> [Value] {
        let movement = version.movement
        return [
            .integer(movement.at.milliseconds), .text(movement.kind.rawValue),
            .text(movement.transaction.rawValue), .integer(version.knownAt.milliseconds),
        ]
    }

    private static func values(
        of version: MovementHistory.Version, _ clock: WallClock
    ) -> [Value] {
        let movement = version.movement
        let amounts = movement.amounts
        let counts = movement.counts
        return name(of: version) + [
            .integer(version.replacedAt?.milliseconds),
            .integer(clock.dayNumber(at: movement.at)),
        ] + SegmentColumns.values(of: movement.segment)
            + [
                amounts.gross, amounts.refunded, amounts.tax, amounts.commission, amounts.mrr,
                counts.payments, counts.active, counts.trials, counts.grace, counts.retry,
                counts.notRenewing, amounts.mrrTax, amounts.mrrCommission, amounts.mrrOfFourWeeks,
                amounts.contracted, amounts.promised,
            ].map { .integer($0) }
    }
}

extension Array {
    /// The elements that satisfy a condition, and the others.
    fileprivate func partitioned(by isWanted: (Element) -> Bool) -> ([Element], [Element]) {
        reduce(into: ([], [])) { parts, element in
            if isWanted(element) { parts.0.append(element) } else { parts.1.append(element) }
        }
    }
}
