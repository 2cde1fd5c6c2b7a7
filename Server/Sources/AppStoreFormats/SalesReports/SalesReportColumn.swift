/// One column of a report: its name, and how its cells are read into a row and written from it.
package struct SalesReportColumn<Row>: Sendable {
    package let name: String
    /// The names of the column in the form in which names are compared. There are several, because
    /// versions spell a column differently.
    private(set) var keys: [String]
    /// The text of a blank cell as Apple writes it: one space, or nothing.
    private(set) var blank = ""
    /// What a cell must contain, for messages.
    package let expected: String
    /// Reads a cell into a row. Returns false if the cell does not contain a valid value.
    let read: @Sendable (ArraySlice<UInt8>, inout Row) -> Bool
    /// The text of the row's value. Returns nil if the value is blank but must not be. The text of
    /// a blank value is empty.
    let write: @Sendable (Row) -> String?

    private init(
        _ name: String, _ expected: String,
        read: @escaping @Sendable (ArraySlice<UInt8>, inout Row) -> Bool,
        write: @escaping @Sendable (Row) -> String?
    ) {
        self.name = name
        self.expected = expected
        self.read = read
        self.write = write
        keys = [SalesReportLayout.key(name)]
    }
}

extension SalesReportColumn {
    /// This column with one difference: Apple writes its blank cells as one space.
    var spaced: Self {
        var column = self
        column.blank = " "
        return column
    }

    func named(also name: String) -> Self {
        var column = self
        column.keys.append(SalesReportLayout.key(name))
        return column
    }

    // MARK: - Kinds of columns

    /// A column of texts, which may be blank.
    static func text(_ name: String, _ path: WritableKeyPath<Row, String> & Sendable) -> Self {
        Self(name, "a text") { cell, row in
            row[keyPath: path] = SalesReportCell.text(cell)
            return true
        } write: {
            $0[keyPath: path]
        }
    }

    /// A column of words. Apple may add new words.
    static func word<Word: OpenEnumeration>(
        _ name: String, _ path: WritableKeyPath<Row, Word> & Sendable
    ) -> Self where Word.RawValue == String {
        Self(name, "a text that is not blank") { cell, row in
            guard !SalesReportCell.isBlank(cell) else { return false }
            row[keyPath: path] = Word(rawValue: SalesReportCell.text(cell))
            return true
        } write: {
            let text = $0[keyPath: path].rawValue
            return text.isEmpty ? nil : text
        }
    }

    /// A column of words or blank cells. Apple may add new words.
    static func word<Word: OpenEnumeration>(
        _ name: String, _ path: WritableKeyPath<Row, Word?> & Sendable
    ) -> Self where Word.RawValue == String {
        Self(name, "a text") { cell, row in
            let text = SalesReportCell.text(cell)
            row[keyPath: path] = text.isEmpty ? nil : Word(rawValue: text)
            return true
        } write: {
            $0[keyPath: path]?.rawValue ?? ""
        }
    }

    /// A column with `Yes` or a blank cell.
    static func flag(_ name: String, _ path: WritableKeyPath<Row, Bool> & Sendable) -> Self {
        Self(name, "Yes, or a blank cell") { cell, row in
            let isYes = cell.elementsEqual("Yes".utf8)
            row[keyPath: path] = isYes
            return isYes || SalesReportCell.isBlank(cell)
        } write: {
            $0[keyPath: path] ? "Yes" : ""
        }
    }

    /// A column of whole numbers.
    static func count(_ name: String, _ path: WritableKeyPath<Row, Int64> & Sendable) -> Self {
        required(name, path, "a whole number", SalesReportCell.count, String.init)
    }

    /// A column of whole numbers or blank cells.
    static func count(_ name: String, _ path: WritableKeyPath<Row, Int64?> & Sendable) -> Self {
        optional(name, path, "a whole number", SalesReportCell.count, String.init)
    }

    /// A column of Apple's numbers for an app, a product, a group or a subscriber.
    static func identifier(
        _ name: String, _ path: WritableKeyPath<Row, Int64> & Sendable
    ) -> Self {
        required(
            name, path, "an identifier of digits only", SalesReportCell.identifier, String.init)
    }

    /// A column of Apple's numbers or blank cells.
    static func identifier(
        _ name: String, _ path: WritableKeyPath<Row, Int64?> & Sendable
    ) -> Self {
        optional(
            name, path, "an identifier of digits only", SalesReportCell.identifier, String.init)
    }

    /// A column of amounts, in thousandths of the currency's unit.
    static func amount(_ name: String, _ path: WritableKeyPath<Row, Int64> & Sendable) -> Self {
        required(
            name, path, "an amount such as 12.34", SalesReportCell.amount,
            SalesReportCell.text(amount:))
    }

    /// A column of quantities that may have decimals, in thousandths.
    static func quantity(_ name: String, _ path: WritableKeyPath<Row, Int64> & Sendable) -> Self {
        required(
            name, path, "a number such as 12 or 12.5", SalesReportCell.amount,
            SalesReportCell.text(quantity:))
    }

    /// A column of days in the form `2026-01-31`.
    static func day(_ name: String, _ path: WritableKeyPath<Row, CivilDate> & Sendable) -> Self {
        required(name, path, "a day such as 2026-01-31", SalesReportCell.day) {
            SalesReportCell.text(day: $0, isSlashed: false)
        }
    }

    /// A column of days in the form `2026-01-31`, or blank cells.
    static func day(_ name: String, _ path: WritableKeyPath<Row, CivilDate?> & Sendable) -> Self {
        optional(name, path, "a day such as 2026-01-31", SalesReportCell.day) {
            SalesReportCell.text(day: $0, isSlashed: false)
        }
    }

    /// A column of days in the form `01/31/2026`.
    static func slashedDay(
        _ name: String, _ path: WritableKeyPath<Row, CivilDate> & Sendable
    ) -> Self {
        required(name, path, "a day such as 01/31/2026", SalesReportCell.day) {
            SalesReportCell.text(day: $0, isSlashed: true)
        }
    }

    // MARK: - What they have in common

    private static func required<Value>(
        _ name: String, _ path: WritableKeyPath<Row, Value> & Sendable, _ expected: String,
        _ value: @escaping @Sendable (ArraySlice<UInt8>) -> Value?,
        _ text: @escaping @Sendable (Value) -> String
    ) -> Self {
        Self(name, expected) { cell, row in
            guard let value = value(cell) else { return false }
            row[keyPath: path] = value
            return true
        } write: {
            text($0[keyPath: path])
        }
    }

    private static func optional<Value>(
        _ name: String, _ path: WritableKeyPath<Row, Value?> & Sendable, _ expected: String,
        _ value: @escaping @Sendable (ArraySlice<UInt8>) -> Value?,
        _ text: @escaping @Sendable (Value) -> String
    ) -> Self {
        Self(name, expected + ", or a blank cell") { cell, row in
            guard !SalesReportCell.isBlank(cell) else {
                row[keyPath: path] = nil
                return true
            }
            row[keyPath: path] = value(cell)
            return row[keyPath: path] != nil
        } write: {
            $0[keyPath: path].map(text) ?? ""
        }
    }
}
