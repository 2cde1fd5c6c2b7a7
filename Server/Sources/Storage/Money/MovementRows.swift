import Ledger
import Reports

/// Movements of money and numbers, and their earlier versions.
package struct MovementRows: RowGroup {
    package let tx: DatabaseSession
}

/// The table `money_movements`: the changes that purchases made to numbers of reports, and when
/// each change was known.
extension MovementRows {
    private static let columns =
        ["app", "environment", "purchase", "at_ms", "kind", "transaction_id"]
        + ["known_at_ms", "replaced_at_ms", "day"] + SegmentColumns.names + sumColumns

    /// The columns that reports add up, in the order of ``totals(_:)``.
    static let sumColumns = [
        "gross", "refunded", "tax", "commission", "mrr", "payments", "active", "trials", "grace",
        "retry", "not_renewing", "mrr_tax", "mrr_commission", "mrr_of_four_weeks", "contracted",
        "promised", "seats",
    ]

    static let insertMovement =
        Insertion.statement(into: "money_movements", columns) + " ON CONFLICT "
        + "(app, environment, purchase, at_ms, kind, transaction_id, known_at_ms) DO NOTHING"

    static let deleteMovement =
        "DELETE FROM money_movements WHERE app = $1 AND environment = $2 AND purchase = $3 "
        + "AND at_ms = $4 AND kind = $5 AND transaction_id = $6 AND known_at_ms = $7"

    static let replaceMovement =
        "UPDATE money_movements SET replaced_at_ms = $1 WHERE app = $2 AND environment = $3 "
        + "AND purchase = $4 AND at_ms = $5 AND kind = $6 AND transaction_id = $7 "
        + "AND known_at_ms = $8"

    static let selectVersions =
        "SELECT \(columns.dropFirst(3).joined(separator: ", ")) FROM money_movements "
        + "WHERE app = $1 AND environment = $2 AND purchase = $3 "
        + "ORDER BY at_ms, kind, transaction_id, known_at_ms"

    /// The present and the earlier versions of a purchase's movements.
    package func versions(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [MovementHistory.Version] {
        try stored(of: purchase, in: app).map(\.version)
    }

    func stored(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [StoredMovement] {
        try connection.rows(
            Self.selectVersions, PurchaseRows.key(of: purchase, in: app), StoredMovement.init)
    }

    /// Reads ``sumColumns``.
    static func totals(_ row: inout ColumnReader) throws(StorageFailure) -> Totals {
        var numbers: [Int64] = []
        numbers.reserveCapacity(sumColumns.count)
        for _ in sumColumns { numbers.append(try row.integer()) }
        return Totals(numbers: numbers)
    }

    /// Replaces all versions of a purchase's movements.
    ///
    /// - Parameter stored: the versions stored at present.
    func replace(
        of purchase: PurchaseID, _ stored: [StoredMovement], by history: MovementHistory,
        in app: AppID
    ) throws(StorageFailure) {
        let key = PurchaseRows.key(of: purchase, in: app)
        let clock = rules.money(of: app).clock
        try connection.run(
            "DELETE FROM money_movements WHERE app = $1 AND environment = $2 AND purchase = $3",
            key)
        try connection.runEach(
            Self.insertMovement, history.versions.map { key + Self.values(of: $0, clock) })
        let changes = WaitingChanges(
            from: stored.filter { $0.version.replacedAt == nil }.map(\.dated),
            to: history.known.map { $0.movement.dated(by: clock) })
        guard !changes.isEmpty else { return }
        try connection.run(
            tx.sums.insertChanges, key + [.integer(0), .bytes(changes.stored)])
    }

    static func name(of version: MovementHistory.Version) -> [Value] {
        let movement = version.movement
        return [
            .integer(movement.at.milliseconds), .text(movement.category.rawValue),
            .text(movement.transaction.rawValue), .integer(version.knownAt.milliseconds),
        ]
    }

    static func values(
        of version: MovementHistory.Version, _ clock: WallClock
    ) -> [Value] {
        let movement = version.movement
        return name(of: version) + [
            .integer(version.replacedAt?.milliseconds),
            .integer(clock.dayNumber(at: movement.at)),
        ] + SegmentColumns.values(of: movement.segment)
            + Totals(movement.amounts, movement.counts).numbers.map { .integer($0) }
    }
}

/// A stored version of a movement.
struct StoredMovement: Hashable, Sendable {
    var version: MovementHistory.Version
    /// The day of the movement, by the clock that was configured when the row was written.
    var day: Int64

    var dated: DatedMovement { DatedMovement(movement: version.movement, day: day) }

    /// - Parameter row: see ``MovementRows/selectVersions``.
    init(_ row: inout ColumnReader) throws(StorageFailure) {
        let at = try row.instant()
        let category = try Movement.Category.stored(try row.text())
        let transaction = try row.transaction()
        let (knownAt, replacedAt) = (try row.instant(), try row.optionalInstant())
        day = try row.integer()
        let segment = try SegmentColumns.segment(&row)
        let totals = try MovementRows.totals(&row)
        var movement = Movement(
            category.kind, at: at, of: transaction, segment, totals.amounts, totals.counts)
        movement.isMeanwhile = category.isMeanwhile
        version = MovementHistory.Version(movement, knownAt: knownAt, replacedAt: replacedAt)
    }
}

extension Movement {
    func dated(by clock: WallClock) -> DatedMovement {
        DatedMovement(movement: self, day: clock.dayNumber(at: at))
    }
}

extension Movement.Category {
    static func stored(_ text: String) throws(StorageFailure) -> Self {
        guard let category = Self(rawValue: text) else {
            throw StorageFailure("unknown kind of movement \(text)")
        }
        return category
    }
}
