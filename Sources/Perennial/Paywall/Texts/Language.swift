import Foundation

/// A language in which the SDK has texts.
enum Language: String, CaseIterable, Sendable {
    case english = "en"
    case german = "de"
    case french = "fr"
    case spanish = "es"
    case japanese = "ja"

    /// The language of a locale, or English if the SDK has no texts in that language.
    init(_ locale: Locale) {
        let code = Self.subtags(of: locale).first ?? ""
        self = Self(rawValue: code.lowercased()) ?? .english
    }

    /// The given locale if it has this language; otherwise this language in the given locale's
    /// region. So the dates in an English sentence are English, too.
    func locale(near locale: Locale) -> Locale {
        let subtags = Self.subtags(of: locale)
        if subtags.first?.lowercased() == rawValue { return locale }
        let region = subtags.dropFirst().first(where: Self.isRegion)
        return Locale(identifier: region.map { "\(rawValue)_\($0)" } ?? rawValue)
    }

    var categories: Set<PluralCategory> { self == .japanese ? [.other] : [.one, .other] }

    func category(of count: Int) -> PluralCategory {
        switch self {
        case .english, .german, .spanish: count == 1 ? .one : .other
        case .french: count == 0 || count == 1 ? .one : .other
        case .japanese: .other
        }
    }

    var phrases: [TextKey: Phrase] {
        switch self {
        case .english: Phrases.english
        case .german: Phrases.german
        case .french: Phrases.french
        case .spanish: Phrases.spanish
        case .japanese: Phrases.japanese
        }
    }

    /// The parts of an identifier, such as `zh`, `Hant` and `TW` of `zh-Hant_TW@calendar=roc`.
    ///
    /// The language is read from the identifier, because `Locale.language` begins with iOS 16.
    private static func subtags(of locale: Locale) -> [String] {
        let name = locale.identifier.prefix { $0 != "@" }
        return name.split { $0 == "_" || $0 == "-" }.map(String.init)
    }

    private static func isRegion(_ subtag: String) -> Bool {
        subtag.count == 2 && subtag.allSatisfy(\.isUppercase)
            || subtag.count == 3 && subtag.allSatisfy(\.isNumber)
    }
}

/// The phrases, with one file for each language.
enum Phrases {}
