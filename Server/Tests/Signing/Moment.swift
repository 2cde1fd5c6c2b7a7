import AppStoreFormats
import Foundation

/// Named moments, for tests and for certificates.
package struct Moment: Hashable, Comparable, Sendable {
    package static let year2020 = Moment(seconds: 1_577_836_800)
    package static let year2025 = Moment(seconds: 1_735_689_600)
    package static let year2026 = Moment(seconds: 1_767_225_600)
    package static let year2027 = Moment(seconds: 1_798_761_600)
    package static let year2028 = Moment(seconds: 1_830_297_600)
    package static let year2040 = Moment(seconds: 2_208_988_800)

    package var seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    package var date: Date { Date(timeIntervalSince1970: Double(seconds)) }
    package var onWire: AppStoreDate { AppStoreDate(milliseconds: seconds * 1000) }

    package static func + (moment: Moment, seconds: Int64) -> Moment {
        Moment(seconds: moment.seconds + seconds)
    }
    package static func < (one: Self, other: Self) -> Bool { one.seconds < other.seconds }
}
