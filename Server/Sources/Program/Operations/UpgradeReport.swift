import Storage
import StoragePostgres

/// The output of `check --upgrade`: what the next start of this program does with the database.
/// Each line is ok, a note, or says what to do.
struct UpgradeReport {
    private(set) var lines: [String] = []
    private(set) var isOK = true

    init(_ options: ProcessOptions) async {
        let path = options.configPath
        do {
            let settings = try options.settings(try ConfigurationFile(path: path))
            let plan = try await DatabaseAddress.upgradePlan(of: settings.database)
            lines =
                UpgradeText(
                    plan: plan, place: DatabaseAddress.withoutPassword(settings.database),
                    isOnServer: DatabaseAddress.isServer(settings.database)
                ).lines
        } catch let failure as ConfigurationFailure {
            for complaint in failure.complaints { fail(complaint.text(file: path)) }
        } catch {
            fail("\(error)")
        }
    }

    private mutating func fail(_ text: String) {
        isOK = false
        lines.append("DO    \(text)")
    }
}

/// The lines about an ``UpgradePlan``.
struct UpgradeText {
    var plan: UpgradePlan
    /// The database's address without its password.
    var place: String
    /// Whether the database is a PostgreSQL, which several servers can use.
    var isOnServer: Bool

    var lines: [String] {
        let (version, own) = (plan.version, Schema.version)
        if version == 0 {
            return ["ok    database \(place) is empty: the first key or start adds its tables"]
        }
        let begin = "ok    database \(place) has schema version \(version), this program \(own): "
        guard !plan.steps.isEmpty else {
            guard version > own else { return [begin + "the next start changes no table"] }
            return [
                begin + "this program can use it, and its next start changes no table. Do not run "
                    + "`perennial rebuild` or `perennial migrate` with this program."
            ]
        }
        var lines = [begin + "the next start runs \(plan.steps.count.counted("step"))"]
        for step in plan.steps { lines.append(text(of: step)) }
        lines.append(duration)
        lines += locks
        lines += [disk, older]
        lines.append(
            "note  back up first, with the program that runs now: docs/operations.md, Upgrade")
        return lines
    }

    // MARK: - Steps

    private func text(of step: UpgradePlan.Step) -> String {
        let changes = Self.text(of: step.changes)
        let isAdding = step.effect == .adds
        return "\(isAdding ? "ok   " : "note ") step \(step.version), \(step.name): "
            + (changes.isEmpty ? "changes no table" : changes) + "; "
            + (isAdding ? "only adds" : "excludes older programs")
    }

    /// What the statements do. New tables, and new indexes, are listed together.
    private static func text(of changes: [SchemaChange]) -> String {
        let tables = changes.filter { $0.kind == .createsTable }.map(\.name)
        let indexes = changes.filter {
            if case .createsIndex = $0.kind { true } else { false }
        }.map(\.name)
        let others = changes.filter { !(tables + indexes).contains($0.name) }.map(\.text)
        return
            ([list(tables, "table"), list(indexes, "index", "indexes")].compactMap(\.self)
            + others).joined(separator: ", ")
    }

    private static func list(_ names: [String], _ noun: String, _ plural: String? = nil) -> String?
    {
        guard !names.isEmpty else { return nil }
        let word = names.count == 1 ? noun : plural ?? noun + "s"
        return "creates the \(word) \(names.joined(separator: ", "))"
    }

    private var readTables: [String] { Set(plan.steps.flatMap(\.read)).sorted() }

    /// How long the steps take, and how that is known.
    private var duration: String {
        guard !readTables.isEmpty else {
            return
                "ok    duration: under a second, because no step reads a row of an existing table"
        }
        let total = readTables.compactMap { plan.tables[$0]?.readingTime }.reduce(.zero, +)
        let tables = readTables.compactMap { name in
            plan.tables[name].map { size in
                "\(Self.grouped(size.rows)) rows\(size.isLimit ? " or more" : "") of \(name) ("
                    + "\(Self.grouped(Int64(size.measuredRows))) of them took "
                    + "\(Int(size.measuredTime / .milliseconds(1))) ms)"
            }
        }
        let waiting =
            isOnServer && total >= PostgresDriver.Limits().lockWait
            ? ". Requests that write to these tables wait meanwhile, and are refused after "
                + "\(PostgresDriver.Limits().lockWait.components.seconds) s: choose a quiet hour"
            : ""
        return "note  duration: at least \(Self.text(of: total)), because the steps read "
            + tables.joined(separator: ", ")
            + "; sorting an index or writing rows takes longer than reading\(waiting)"
    }

    /// The waits for locks. Only PostgreSQL has several writers.
    private var locks: [String] {
        guard isOnServer else { return [] }
        let tables = Set(plan.steps.flatMap(\.locked)).sorted()
        guard !tables.isEmpty else { return ["ok    locks: on no table that servers use"] }
        return [
            "note  locks: on \(tables.joined(separator: ", ")). A long transaction there, such as "
                + "a backup or a VACUUM, delays the start: it waits \(Database.stepLockSeconds) s "
                + "(lock_timeout), lets requests pass, and tries again, at most "
                + "\(Database.stepAttemptsMax) times"
        ]
    }

    private var disk: String {
        guard !readTables.isEmpty else { return "ok    disk: no step copies rows" }
        let sizes = readTables.compactMap { plan.tables[$0]?.bytes }
        // On SQLite, the size of each table is the size of the whole file.
        let bytes = isOnServer ? sizes.reduce(0, +) : sizes.max() ?? 0
        return "note  disk: up to \(bytes / 1_000_000 + 1) MB must be free"
    }

    // MARK: - Older programs

    private var older: String {
        let oldest = plan.oldestVersion
        let reasons = plan.steps.compactMap { step -> String? in
            if case .excludes(let before, let reason) = step.effect, before > plan.version {
                return reason
            }
            return nil
        }.joined(separator: "; ")
        switch (isOnServer, plan.isRolling) {
        case (true, true):
            return "ok    older servers: those of schema version \(oldest) or later answer during "
                + "the start and after it, and can start again"
        case (true, false):
            return "note  older servers: stop those of a schema version before \(oldest) before "
                + "this start, because \(reasons)"
        case (false, true):
            return "ok    going back: programs of schema version \(oldest) or later can use the "
                + "database after the start"
        case (false, false):
            return "note  going back: programs of a schema version before \(oldest) cannot use the "
                + "database after the start; to go back, restore the backup"
        }
    }

    // MARK: - Numbers

    private static func text(of duration: Duration) -> String {
        let seconds = Int(duration / .seconds(1))
        if seconds < 1 { return "a part of a second" }
        return seconds < 120 ? "\(seconds) s" : "\(seconds / 60) minutes"
    }

    /// A number with a comma between thousands.
    static func grouped(_ number: Int64) -> String {
        guard number >= 1_000 else { return "\(number)" }
        let rest = "\(number % 1_000)"
        return grouped(number / 1_000) + "," + String(repeating: "0", count: 3 - rest.count) + rest
    }
}
