/// A table in a region that scrolls.
struct Table {
    struct Column {
        var title: Markup
        var classes: Markup

        init(_ title: Markup, _ classes: Markup = "") {
            self.title = title
            self.classes = classes
        }

        static func number(_ title: Markup) -> Column { Column(title, "num") }
    }

    /// The name of the region, for screen readers.
    var name: Markup
    var columns: [Column]
    /// Rows, as `Row` makes them.
    var rows: [Markup]
    var foot: Markup = ""
    /// `fold`: entries of several lines on a phone. `roomy`: scrolls on a phone. `dense`: has so
    /// many columns that they are narrower in a window of medium width.
    var classes: Markup = "fold"
    /// The id of the table's body, whose rows are live.
    var bodyID: Markup = ""

    var markup: Markup {
        let heads = columns.map { column -> Markup in
            "<th scope=\"col\"\(Self.attribute("class", column.classes))>\(column.title)</th>"
        }
        let live: Markup = bodyID.isEmpty ? "" : " id=\"\(bodyID)\" data-rows"
        return """
            <div class="scroll" role="region" tabindex="0" aria-label="\(name)">\
            <table\(Self.attribute("class", classes))><caption class="vh">\(name)</caption>\
            <thead><tr>\(heads.joined())</tr></thead><tbody\(live)>\(rows.joined(by: "\n"))</tbody>\
            \(foot.isEmpty ? "" : "<tfoot>\(foot)</tfoot>")</table></div>
            """
    }

    /// The class for a table that does not fold. On a phone, a table with few columns fits.
    static func classes(columns: Int) -> Markup {
        columns > columnsMax ? "roomy dense" : columns > 3 ? "roomy" : ""
    }

    /// More columns of money do not fit beside the navigation.
    private static let columnsMax = 7

    static func attribute(_ name: Markup, _ value: Markup) -> Markup {
        value.isEmpty ? "" : " \(name)=\"\(value)\""
    }

    struct Cell {
        var content: Markup
        var classes: Markup

        init(_ content: Markup, _ classes: Markup = "") {
            self.content = content
            self.classes = classes
        }
    }

    /// A row, whose first cell is its heading.
    static func row(id: String? = nil, _ head: Cell, _ cells: [Cell]) -> Markup {
        let rest = cells.map { cell -> Markup in
            "<td\(attribute("class", cell.classes))>\(cell.content)</td>"
        }
        return """
            <tr\(attribute("id", Markup(text: id ?? "")))>\
            <th scope="row"\(attribute("class", head.classes))>\(head.content)</th>\
            \(rest.joined())</tr>
            """
    }
}

/// A box with a heading.
struct Panel {
    var title: Markup
    /// The content beside the heading: a link or a few words.
    var side: Markup = ""
    var content: Markup
    /// The classes of the panel: `flush` for tables.
    var classes: Markup = ""
    var id: Markup = ""

    var markup: Markup {
        """
        <section class="panel\(classes.isEmpty ? "" : " \(classes)")"\
        \(Table.attribute("id", id))><header><h2>\(title)</h2>\
        \(side.isEmpty ? "" : "<p>\(side)</p>")</header>\(content)</section>
        """
    }
}
