import Foundation
import Testing

@testable import Perennial

@Suite struct WordingTests {
    private func placeholders(_ text: String) -> Set<String> {
        Set(text.matches(of: #/\{([^}]*)\}/#).map { String($0.1) })
    }

    @Test(arguments: Language.allCases)
    func `every language has every text, with the same placeholders`(_ language: Language) {
        for key in TextKey.allCases {
            guard let phrase = language.phrases[key], let english = Phrases.english[key] else {
                Issue.record("\(language.rawValue) has no \(key.rawValue)")
                continue
            }
            let expected = placeholders(english.form(.other))
            #expect(placeholders(phrase.form(.other)) == expected, "\(language) \(key)")
            // The singular may leave out its number: "a month".
            let one = placeholders(phrase.form(.one))
            #expect(one.union(["count"]) == expected.union(["count"]), "\(language) \(key)")
            #expect(phrase.forms.values.allSatisfy { !$0.isEmpty && !$0.contains("\n") })
        }
    }

    @Test(arguments: Language.allCases)
    func `a text with a number has each plural form of its language`(_ language: Language) {
        for (key, phrase) in language.phrases {
            let counts = placeholders(phrase.form(.other)).contains("count")
            let expected = counts ? language.categories : [.other]
            #expect(Set(phrase.forms.keys) == expected, "\(language) \(key)")
        }
    }

    @Test func `each placeholder of a text can be filled in`() {
        let known = Set(TextKey.Placeholder.allCases.map(\.rawValue))
        for phrase in Language.allCases.flatMap({ $0.phrases.values }) {
            #expect(phrase.forms.values.allSatisfy { placeholders($0).isSubset(of: known) })
        }
    }

    @Test func `a locale gets its language, or else English with the locale's date format`() {
        let rows: [(String, Language, String)] = [
            ("en_US", .english, "en_US"), ("de_AT", .german, "de_AT"), ("fr", .french, "fr"),
            ("es-419", .spanish, "es-419"), ("ja_JP@calendar=japanese", .japanese, "ja_JP"),
            ("pt_BR", .english, "en_BR"), ("zh-Hant_TW", .english, "en_TW"), ("", .english, "en"),
            ("deu_DE", .english, "en_DE"),
        ]
        for (name, language, located) in rows {
            let locale = Locale(identifier: name)
            #expect(Language(locale) == language, "\(name)")
            #expect(Language(locale).locale(near: locale).identifier.hasPrefix(located), "\(name)")
        }
    }

    @Test func `a number in a text chooses the plural form`() {
        func days(_ count: Int, _ locale: String) -> String {
            Wording(locale: Locale(identifier: locale)).text(.days, count: count)
        }
        #expect([0, 1, 2].map { days($0, "en") } == ["0 days", "1 day", "2 days"])
        #expect([0, 1, 2].map { days($0, "de") } == ["0 Tage", "1 Tag", "2 Tage"])
        #expect([0, 1, 2].map { days($0, "fr") } == ["0 jour", "1 jour", "2 jours"])
        #expect([0, 1, 2].map { days($0, "es") } == ["0 días", "1 día", "2 días"])
        #expect([0, 1, 2].map { days($0, "ja") } == ["0日間", "1日間", "2日間"])
        #expect(Wording(locale: Locale(identifier: "de_DE")).number(12_345) == "12.345")
    }

    @Test func `the shop uses the customer's language and the store's prices`() {
        let term = RageShop.term(until: RageShop.date("2027-05-24T12:00:00Z"))
        func shop(_ locale: String) -> [String?] {
            let paywall = RageShop.paywallContent(term, in: locale)
            let plan = RageShop.paywallContent(RageShop.plan(), in: locale).rows[5]
            let trial = RageShop.paywallContent(RageShop.snapshot(), in: locale).rows[5].trial
            return [paywall.headline.text, paywall.rows[3].actionTitle, plan.status, trial]
        }
        #expect(
            shop("de_DE") == [
                "Abonniert: noch 12 Tage", "Verlängern", "Verlängert sich am 24. Mai 2027",
                "1 Woche kostenlos, danach 9,99 € im Monat",
            ])
        #expect(
            shop("fr_FR") == [
                "Abonnement actif : encore 12 jours", "Prolonger", "Se renouvelle le 24 mai 2027",
                "Gratuit pendant 1 semaine, puis 9,99 € par mois",
            ])
        #expect(
            shop("es_ES") == [
                "Suscripción activa: quedan 12 días", "Renovar", "Se renueva el 24 de mayo de 2027",
                "Gratis durante 1 semana, después 9,99 € al mes",
            ])
        #expect(
            shop("ja_JP") == [
                "登録中：残り12日", "延長", "2027年5月24日に更新", "1週間無料、その後は9,99 €／1か月",
            ])
        #expect(
            shop("pt_BR") == [
                "Subscribed: 12 days left", "Renew", "Renews on 24 May 2027",
                "1 week free, then 9,99 € a month",
            ])
    }

    @Test func `values that are inserted into a text are not searched for placeholders`() {
        let english = Wording(locale: Locale(identifier: "en"))
        #expect(
            english.text(.itemRefusedOf, [.owner: "{count}{"])
                == "This purchase belongs to {count}{ and stays there.")
    }

    @Test func `the preview of a restore states the effect on each purchase and its present owner`()
    {
        func sentence(_ effect: Perennial.RestorePreview.Effect, _ hint: String?) -> String {
            Perennial.RestorePreview.ShownPurchase(
                purchase: "1", product: "monthly", isActive: true, effect: effect, ownerHint: hint
            ).explanation(in: Locale(identifier: "en"))
        }
        #expect(sentence(.nothing, nil) == "You have this purchase already.")
        #expect(sentence(.links, nil) == "This purchase will be added to your account.")
        #expect(
            sentence(.moves, "b…@e…")
                == "This purchase will be taken from b…@e… and added to your account.")
        #expect(sentence(.moves, nil).contains("from another account"))
        #expect(sentence(.shares, "b…@e…").hasPrefix("b…@e… has this purchase."))
        #expect(
            sentence(.refused, nil)
                == "This purchase belongs to another account and stays there.")
    }

    @Test func `a failure first tells the customer whether they were charged`() {
        func sentence(
            _ code: Perennial.Failure.Code, _ charged: Perennial.Failure.Charged = .no,
            isTemporary: Bool = false
        ) -> String {
            Perennial.Failure(code, remedy: "", isTemporary: isTemporary, charged: charged)
                .text(in: Locale(identifier: "en"))
        }
        #expect(sentence(.serverUnreachable).hasPrefix("There is no connection."))
        #expect(sentence(.serverUnreachable, .yes).hasPrefix("Your payment is safe."))
        #expect(sentence(.purchaseResultUnknown, .unclear).hasPrefix("It is not known yet"))
        #expect(sentence(.init(rawValue: "new"), isTemporary: true).hasSuffix("try again later."))
        #expect(sentence(.init(rawValue: "new")).contains("support"))
        let failure: any Error = Perennial.Failure(.productUnknown, remedy: "Check the id.")
        #expect(!failure.localizedDescription.contains("Check the id."))
    }
}
