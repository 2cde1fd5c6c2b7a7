import PerennialContract

extension CustomerActs {
    /// The words for how a purchase was delivered.
    private static let deliveries = [
        "delivered", "quality_issue", "wrong_product", "server_outage", "other",
    ]

    /// There is one dialog for all open questions of Apple, because one consent answers all of
    /// them.
    var consumption: Dialog {
        let purchases = askedPurchases
        let fields = purchases.enumerated().map { use(of: $1, number: $0 + 1, purchases.count) }
        return Dialog(
            id: "refund", button: "Answer Apple about a refund",
            title: purchases.count == 1
                ? "Answer Apple about \(.bdi(purchases[0].productID))"
                : "Answer Apple about \(Figures.count(purchases.count)) purchases",
            sentences: """
                <p class="soft">Apple asks how \(purchases.count == 1 ? "it was" : "each was") \
                used, and decides alone. The answer is sent only if \(name) has \
                consented\(purchases.count == 1 ? "" : ", and then for all of them at once"). \
                What was sent cannot be taken back. The consent is kept, so that later questions \
                are answered, too.</p>
                """, path: .act("consumption", on: id),
            fields: """
                <div><label for="c-c">\(name) consented</label>\
                <select id="c-c" name="consented"><option value="no">no: send nothing</option>\
                <option value="yes"\(page.consumption?.consented == true ? " selected" : "")>yes\
                </option></select></div>\
                \(fields.joined())
                """, submit: "Answer Apple")
    }

    /// The open questions of Apple, one for each purchase.
    private var askedPurchases: [ConsumptionQuestion] {
        var seen: Set<String> = []
        return page.waitingQuestions.filter { seen.insert($0.transactionID).inserted }
    }

    /// The fields about a purchase. Fields that are left unchanged are empty, so that what the
    /// app's server has reported is kept. The names of the first purchase's fields have no suffix.
    /// The names of the other purchases' fields end with the purchase's number: `delivery_2`.
    private func use(
        of question: ConsumptionQuestion, number: Int, _ count: Int
    ) -> Markup {
        let known = page.consumption?.purchases.last {
            $0.transactionID == question.transactionID
        }
        let options = Self.deliveries.map { word -> Markup in
            let isKnown = word == known?.delivery ?? Self.deliveries[0]
            let remark: Markup = isKnown && known != nil ? ", as reported" : ""
            return """
                <option value="\(.value(isKnown ? "" : word))"\(isKnown ? " selected" : "")>\
                \(Markup(text: word.replacing("_", with: " ")))\(remark)</option>
                """
        }
        let used: Markup =
            known?.usedPercent.map { "\(Self.percent($0)), as reported" } ?? "what is known here"
        let ending: Markup = number == 1 ? "" : "_\(number)"
        let what: Markup =
            count == 1
            ? ""
            : """
            <p><b>\(.bdi(question.productID))</b> \
            <span class="muted small">\(.bdi(question.transactionID))</span></p>
            """
        return """
            \(what)<input type="hidden" name="transaction_id\(ending)" \
            value="\(.value(question.transactionID))"><div class="fields"><div>\
            <label for="c-d\(ending)">It was</label>\
            <select id="c-d\(ending)" name="delivery\(ending)">\(options.joined())</select></div>\
            <div><label for="c-u\(ending)">Used, in per cent (empty: \(used))</label>\
            <input id="c-u\(ending)" name="used_percent\(ending)" type="number" min="0" max="100" \
            step="any"></div></div>
            """
    }

    private static func percent(_ value: Double) -> String {
        value == value.rounded() ? "\(Int(value))" : "\(value)"
    }
}
