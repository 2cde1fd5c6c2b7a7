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
                title: "Wallet", content: "<p class=\"soft\">No consumables.</p>"
            ).markup
        }
        return all.enumerated().map { number, statement -> Markup in
            Panel(
                title: all.count == 1 ? "Wallet" : "Wallet of \(.bdi(statement.currency))",
                content: wallet(statement, in: frame) + acts(statement, number, in: frame)
            ).markup
        }.joined()
    }

    private func acts(_ statement: WalletStatement, _ number: Int, in frame: Frame) -> Markup {
        guard frame.viewer.mayHelp else { return "" }
        let dialogs =
            statement.isUnused
            ? [credit(statement, number)] : [credit(statement, number), debit(statement, number)]
        return """
            <div class="row end">\(dialogs.map(\.buttonMarkup).joined())</div>\
            \(dialogs.map { $0.dialogMarkup(in: frame) }.joined())
            """
    }

    /// The dialog for a credit. The dialog's form leads to ``CreditPage``.
    private func credit(_ statement: WalletStatement, _ number: Int) -> Dialog {
        let unit = Markup.bdi(statement.currency)
        return Dialog(
            id: "credit\(number)", button: "Add", title: "Add \(unit) to the wallet",
            sentences: """
                <p class="soft">\(name) has \(Figures.count(statement.balance)) \(unit). What you \
                add is a gift: no refund takes it away. The next page shows the new balance before \
                anything is added.</p>
                """, path: .credit(of: statement.currency, to: id),
            fields: fields("c", number), submit: "Show the new balance")
    }

    private func debit(_ statement: WalletStatement, _ number: Int) -> Dialog {
        let unit = Markup.bdi(statement.currency)
        return Dialog(
            id: "debit\(number)", button: "Take out", title: "Take \(unit) out of the wallet",
            sentences: """
                <p class="soft">\(name) has \(Figures.count(statement.balance)) \(unit). What you \
                take out is spent, and an event is recorded. You cannot undo this, but you can add \
                the same amount again.</p>
                """, path: .debit(of: statement.currency, from: id), fields: fields("d", number),
            submit: "Take \(unit) out", isGrave: true)
    }

    private func fields(_ prefix: Markup, _ number: Int) -> Markup {
        """
        <input type="hidden" name="key" value="\(.value(formKey))">\
        <div><label for="\(prefix)-a\(number)">How many</label><input id="\(prefix)-a\(number)" \
        name="amount" type="number" min="1" step="1" required></div>\
        \(Dialog.reasonField("\(prefix)-w\(number)", "on the statement, which their app can read"))
        """
    }

    private func wallet(_ statement: WalletStatement, in frame: Frame) -> Markup {
        guard !statement.isUnused else {
            return "<p class=\"soft\">No consumables.</p>"
        }
        let unit = Markup.bdi(statement.currency)
        return """
            <p><span class="big">\(Figures.count(statement.balance))</span> \(unit)</p>\
            \(summary(of: statement, in: frame))\(lines(of: statement, in: frame))
            """
    }

    /// The sums of a statement. Only for a statement that is complete here: sums of one page would
    /// be wrong.
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
            case .credit: "added by hand"
            default: line.kind.rawValue
            }
        let detail = line.reason ?? line.productID
        return detail.map { "\(.bdi($0)) <span class=\"muted\">\(.bdi(word))</span>" } ?? .bdi(word)
    }

    private static func signed(_ amount: Int64) -> String {
        (amount > 0 ? "+" : "") + Figures.count(amount)
    }
}

extension WalletStatement {
    /// Whether the wallet never had an entry.
    fileprivate var isUnused: Bool { items.isEmpty && balance == 0 }
}
