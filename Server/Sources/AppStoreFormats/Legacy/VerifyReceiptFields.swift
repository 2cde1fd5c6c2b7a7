// The JSON encodings of verifyReceipt and version 1 notifications. These encodings differ from
// those of newer documents: nearly every value is a string.

/// A value that Apple writes as a string: `"1"`, `"true"`. Proxies and old fixtures write it
/// without quotes, so both forms are read.
package struct Quoted<Value: LosslessStringConvertible & Hashable & Sendable>: WireValue {
    package var value: Value

    package init(_ value: Value) { self.value = value }

    package init?(json: JSON) {
        let text: String
        switch json {
        case .string(let string): text = string
        case .integer(let number): text = String(number)
        case .bool(let bool): text = String(bool)
        default: return nil
        }
        guard let value = Value(text) else { return nil }
        self.value = value
    }

    package var json: JSON { .string(String(value)) }
}

/// A boolean that Apple has written in several ways: `true`, `1`, `"1"`, `"true"`, and the
/// corresponding forms of false. Written as a boolean.
package struct LooseFlag: WireValue {
    package var value: Bool

    package init(_ value: Bool) { self.value = value }

    package init?(json: JSON) {
        switch json {
        case .bool(let bool): value = bool
        case .integer(0), "0", "false": value = false
        case .integer(1), "1", "true": value = true
        default: return nil
        }
    }

    package var json: JSON { .bool(value) }
}

extension FieldVisitor {
    /// Visits a value that is written as a string.
    mutating func quoted<Value: LosslessStringConvertible & Hashable & Sendable>(
        _ key: String, _ value: inout Value?
    ) {
        var quoted = value.map { Quoted($0) }
        field(key, &quoted)
        value = quoted?.value
    }

    /// Visits an enumeration of numbers that are written as strings.
    mutating func quoted<Value: OpenEnumeration>(
        _ key: String, _ value: inout Value?
    ) where Value.RawValue == Int64 {
        var number = value?.rawValue
        quoted(key, &number)
        value = number.map { Value(rawValue: $0) }
    }

    mutating func flag(_ key: String, _ value: inout Bool?) {
        var flag = value.map { LooseFlag($0) }
        field(key, &flag)
        value = flag?.value
    }

    /// Visits a date in three formats. If the three differ, the milliseconds count.
    mutating func dates(_ key: String, _ value: inout AppStoreDate?) {
        dates(
            &value, greenwich: key, milliseconds: key + "_ms", pacific: key + "_pst")
    }

    /// Visits a date in three formats under the keys of transaction receipts, where the plain key
    /// contains the milliseconds.
    mutating func formattedDates(_ key: String, _ value: inout AppStoreDate?) {
        dates(
            &value, greenwich: key + "_formatted", milliseconds: key,
            pacific: key + "_formatted_pst")
    }

    private mutating func dates(
        _ value: inout AppStoreDate?, greenwich: String, milliseconds: String, pacific: String
    ) {
        var text = value.map { DateText(moment: $0, text: ReceiptDate.greenwich($0)) }
        var number = value?.milliseconds
        var local = value.map { DateText(moment: $0, text: ReceiptDate.pacific($0)) }
        field(greenwich, &text)
        quoted(milliseconds, &number)
        field(pacific, &local)
        value = number.map { AppStoreDate(milliseconds: $0) } ?? text?.moment ?? local?.moment
    }
}

/// A date in a readable format. A text that is not a date remains in `unknown`.
private struct DateText: WireValue {
    let moment: AppStoreDate
    let text: String

    init(moment: AppStoreDate, text: String) {
        self.moment = moment
        self.text = text
    }

    /// Reads a date. Some documents contain milliseconds under the key of a readable date.
    init?(json: JSON) {
        guard let text = json.string,
            let moment = Int64(text).map({ AppStoreDate(milliseconds: $0) })
                ?? ReceiptDate.moment(text)
        else { return nil }
        self.init(moment: moment, text: text)
    }

    var json: JSON { .string(text) }
}
