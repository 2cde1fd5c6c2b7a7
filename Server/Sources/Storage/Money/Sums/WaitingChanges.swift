import Ledger
import Reports

/// The changes of one purchase's movements that are not added to the stored sums and cohorts yet.
struct WaitingChanges: Hashable, Sendable {
    var sums: [SumChange] = []
    var cohorts: [CohortChange] = []

    init() {}

    /// The changes if the known movements of a purchase are replaced by others.
    ///
    /// - Parameters:
    ///   - old: the movements that are removed, with the days on which the sums count them.
    ///   - new: the movements that are added.
    ///   - same: the known movements that stay.
    init(from old: [DatedMovement], to new: [DatedMovement], keeping same: [DatedMovement] = []) {
        sums = SumChange.net(
            old.map { SumChange(removing: $0.movement, from: $0.day) }
                + new.map { SumChange(adding: $0.movement, on: $0.day) })
        // Most documents about a renewal change no movement that cohorts depend on.
        guard (old + new).contains(where: \.movement.category.isOfCohorts) else { return }
        cohorts = CohortChange.changes(
            from: (same + old).compactMap(\.ofCohorts), to: (same + new).compactMap(\.ofCohorts))
    }

    var isEmpty: Bool { sums.isEmpty && cohorts.isEmpty }
}

/// A movement, and its day by the clock that was configured when the movement was written.
struct DatedMovement: Hashable, Sendable {
    var movement: Movement
    var day: Int64

    fileprivate var ofCohorts: CohortMovement? { CohortMovement(movement, on: day) }
}

// MARK: - Bytes

extension WaitingChanges {
    /// The changes as one value. Several values, appended to each other, are also a valid value.
    var stored: [UInt8] {
        var writer = ByteWriter()
        for change in sums {
            writer.write(true)
            change.write(to: &writer)
        }
        for change in cohorts {
            writer.write(false)
            writer.write(change)
        }
        return writer.bytes
    }

    /// Adds changes that were stored.
    ///
    /// - Parameter bytes: values of ``stored``, one after the other.
    mutating func add(stored bytes: [UInt8]) throws(StorageFailure) {
        var reader = ByteReader(bytes)
        while !reader.isAtEnd {
            if try reader.flag() {
                sums.append(try SumChange(&reader))
            } else {
                cohorts.append(try CohortChange(&reader))
            }
        }
    }
}

extension CohortChange {
    fileprivate init(_ reader: inout ByteReader) throws(StorageFailure) {
        let cell = CohortCell(
            try reader.named(), Int(try reader.number()), beganOn: try reader.number(),
            in: try reader.text(), on: try reader.number())
        self.init(cell, try reader.number())
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ change: CohortChange) {
        write(change.cell.cohort.rawValue)
        write(Int64(change.cell.place))
        write(change.cell.beganDay)
        write(change.cell.currency)
        write(change.cell.day)
        write(change.number)
    }
}
