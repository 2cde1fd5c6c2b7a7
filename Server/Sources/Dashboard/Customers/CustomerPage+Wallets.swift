import PerennialContract

extension CustomerPage {
    func walletPanels(in frame: Frame) -> Markup {
        let known = Set(wallets.map(\.currency))
        let bare = customer.wallets.filter { !known.contains($0.key) }.sorted { $0.key < $1.key }
            .map {
                WalletStatement(
                    currency: $0.key, balance: $0.value.balance, items: [], nextCursor: nil)
            }
        let all = wallets + bare
        guard !all.isEmpty else {
            return Panel(
                title: "Wallet", content: "<p class=\"soft\">Nothing bought to be used up.</p>"
            ).markup
        }
        return all.enumerated().map { number, statement -> Markup in
            Panel(
                title: all.count == 1 ? "Wallet" : "Wallet of \(.bdi(statement.currency))",
                content: wallet(statement, in: frame) + debit(statement, number, in: frame)
            ).markup
        }.joined()
    }

    private func debit(_ statement: WalletStatement, _ number: Int, in frame: Frame) -> Markup {
        guard frame.viewer.mayHelp else { return "" }
        let unit = Markup.bdi(statement.currency)
        let dialog = Dialog(
            id: "debit\(number)", button: "Take out", title: "Take \(unit) out of the wallet",
            sentences: """
                <p class="soft">\(name) has \(Figures.count(statement.balance)) \(unit). What you \
                take out is spent: their app is told by an event. It cannot be undone, because \
                only a purchase fills a wallet.</p>
                """, path: .debit(of: statement.currency, from: id),
            fields: """
                <input type="hidden" name="key" value="\(.value(formKey))">\
                <div><label for="d-a\(number)">How many</label><input id="d-a\(number)" \
                name="amount" type="number" min="1" step="1" required></div>\
                \(Dialog.reasonField("d-w\(number)"))
                """, submit: "Take \(unit) out for good", isGrave: true)
        return """
            <div class="row end">\(dialog.buttonMarkup)</div>\(dialog.dialogMarkup(in: frame))
            """
    }

    private func wallet(_ statement: WalletStatement, in frame: Frame) -> Markup {
        let unit = Markup.bdi(statement.currency)
        return """
            <p><span class="big">\(Figures.count(statement.balance))</span> \(unit)</p>\
            \(summary(of: statement, in: frame))\(lines(of: statement, in: frame))
            """
    }

    /// Only of a statement that is here as a whole: sums of one page would say something wrong.
    private func summary(of statement: WalletStatement, in frame: Frame) -> Markup {
        guard let last = statement.items.first else { return "" }
        let about: Markup = last.reason.map { ", “\(.bdi($0))”" } ?? ""
        let amount = Figures.count(last.amount.magnitude)
        let lastLine: Markup = "Last: \(amount) on \(frame.day(last.at))\(about)."
        guard statement.nextCursor == nil else {
            return "<p class=\"muted small\">\(lastLine)</p>"
        }
        let incoming = statement.items.filter { $0.amount > 0 }.map(\.amount).reduce(0, +)
        let outgoing = statement.items.filter { $0.amount < 0 }.map(\.amount).reduce(0, +)
        return """
            <p class="muted small">\(Figures.count(incoming)) came in, \
            \(Figures.count(outgoing.magnitude)) went out. \(lastLine)</p>
            """
    }

    private func lines(of statement: WalletStatement, in frame: Frame) -> Markup {
        guard !statement.items.isEmpty else { return "" }
        let unit = Markup.bdi(statement.currency)
        let rows = statement.items.map { line -> Markup in
            Table.row(
                .init("\(frame.day(line.at))"),
                [
                    .init(Self.what(line)), .init("\(Self.signed(line.amount))", "num"),
                    .init("\(Figures.count(line.balance))", "num"),
                ])
        }
        let table = Table(
            name: "Wallet of \(id), \(statement.currency)",
            columns: [.init("On"), .init("What"), .number(unit), .number("Balance")], rows: rows,
            classes: "")
        return """
            <details><summary>In and out</summary>\(table.markup)\
            \(older(of: statement, in: frame))</details>
            """
    }

    private func older(of statement: WalletStatement, in frame: Frame) -> Markup {
        guard let cursor = statement.nextCursor else { return "" }
        let path = DashboardPath.customer(id).with("wallet", statement.currency)
            .with("entries", cursor)
        return "<p class=\"row end\"><a class=\"btn s\" href=\"\(frame.link(path))\">Older</a></p>"
    }

    private static func what(_ line: WalletStatement.Line) -> Markup {
        let word =
            switch line.kind {
            case .purchase: "bought"
            case .refund: "given back"
            case .debit: "spent"
            default: line.kind.rawValue
            }
        let detail = line.reason ?? line.productID
        return detail.map { "\(.bdi($0)) <span class=\"muted\">\(.bdi(word))</span>" } ?? .bdi(word)
    }

    private static func signed(_ amount: Int64) -> String {
        (amount > 0 ? "+" : "") + Figures.count(amount)
    }
}
