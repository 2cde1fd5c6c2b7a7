import PerennialContract
import Testing

@testable import Dashboard

@Suite struct MarkupTests {
    @Test func `a text is escaped one Unicode scalar at a time`() {
        let table = [
            ("<script>", "&lt;script&gt;"), ("a & b", "a &amp; b"),
            ("\"'`", "&quot;&#39;&#96;"), ("\"\u{301}", "&quot;\u{301}"),
            ("\u{0}\t\n\u{7F}", "[U+0]\t\n[U+7F]"), ("👩‍👩‍👧‍👦 שלום", "👩‍👩‍👧‍👦 שלום"), ("", ""),
        ]
        for (text, html) in table { #expect(Markup(text: text).html == html) }
    }

    @Test func `interpolated values are escaped, and interpolated literals are markup`() {
        let text = "<i>"
        let markup: Markup = "<b>\(text)\(true ? "<br>" : "")\(Markup("<u>"))</b>"
        #expect(markup.html == "<b>&lt;i&gt;<br><u></b>")
        let nested: Markup = "\(true ? "<a>\(text)</a>" : "")"
        #expect(nested.html == "<a>&lt;i&gt;</a>")
    }

    @Test func `a text from outside is isolated, and its direction controls are shown`() {
        #expect(Markup.bdi("שלום").html == "<bdi>שלום</bdi>")
        #expect(Markup.bdi("\u{202E}a\u{2069}").html == "<bdi>[U+202E]a[U+2069]</bdi>")
    }

    @Test func `every character of a customer's id is shown`() {
        let table = [
            ("anna", "anna"), ("anna\u{200B}", "anna[U+200B]"), ("an\u{AD}na", "an[U+AD]na"),
            ("a\u{A0}b", "a[U+A0]b"), ("a b", "a b"), ("\u{FEFF}a", "[U+FEFF]a"),
            ("a\u{3164}", "a[U+3164]"), ("a\u{2800}", "a[U+2800]"), ("安娜", "安娜"),
            ("a\u{E0041}", "a[U+E0041]"), ("👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"), ("a\u{200D}b", "a[U+200D]b"),
            ("[U+200B]", "[U+5B]U+200B]"), ("[U+x]", "[U+x]"),
        ]
        for (id, shown) in table {
            #expect(Markup.id(id).html == "<bdi>\(shown)</bdi>")
            #expect(VisibleText.decoded(shown) == id, "it can be typed")
        }
        // Spaces in our own sentences are kept.
        #expect(Markup.bdi("9.99\u{A0}USD\u{200B}").html == "<bdi>9.99\u{A0}USD[U+200B]</bdi>")
    }

    @Test func `money has its sign and currency, with a minus sign instead of a hyphen`() {
        let table = [
            ("9.99", "USD", "$9.99", "+\u{A0}$9.99"), ("-9.99", "USD", "−$9.99", "−\u{A0}$9.99"),
            ("1234567.8", "EUR", "€1,234,567.80", "+\u{A0}€1,234,567.80"),
            ("59.204", "EUR", "€59.20", "+\u{A0}€59.20"),
            ("-59.205", "EUR", "−€59.21", "−\u{A0}€59.21"),
            ("59.204", "KWD", "KWD\u{A0}59.204", "+\u{A0}KWD\u{A0}59.204"),
            ("9900.4", "KRW", "₩9,900", "+\u{A0}₩9,900"),
            // A small amount is never written as zero.
            ("0.004", "USD", "$0.004", "+\u{A0}$0.004"),
            (
                "99999999999999999999.999", "USD", "$99,999,999,999,999,999,999.999",
                "+\u{A0}$99,999,999,999,999,999,999.999"
            ),
            ("4500.00", "JPY", "¥4,500", "+\u{A0}¥4,500"), ("0.00", "USD", "$0.00", "$0.00"),
            ("4.00", "CHF", "CHF\u{A0}4.00", "+\u{A0}CHF\u{A0}4.00"),
            ("3.50", "CAD", "CA$3.50", "+\u{A0}CA$3.50"),
        ]
        for (amount, currency, plain, signed) in table {
            let money = Money(amount: amount, currency: currency)
            #expect(Figures.money(money) == plain)
            #expect(Figures.signedMoney(money) == signed)
        }
    }

    @Test func `numbers are grouped by thousands`() {
        #expect(Figures.count(12_408) == "12,408")
        #expect(Figures.count(-1_000) == "−1,000")
        #expect(Figures.change(87) == "+\u{A0}87")
        #expect(Figures.change(0) == "0")
        #expect(Figures.count(1, "delivery", "deliveries") == "1 delivery")
        #expect(Figures.count(Int64.min) == "−9,223,372,036,854,775,808")
        #expect(Figures.percent(thousandths: 378) == "37.8\u{A0}%")
    }

    @Test func `a time is shown with its date, and a time of today only with its hour`() {
        let frame = Samples().frame
        let table = [
            ("2026-11-24T08:51:19Z", "08:51 UTC", "08:51", "24 Nov"),
            ("2026-11-23T22:14:00Z", "23 Nov 2026, 22:14 UTC", "23 Nov 22:14", "23 Nov"),
            ("2025-01-01T00:00:00Z", "1 Jan 2025, 00:00 UTC", "1 Jan 2025", "1 Jan 2025"),
        ]
        for (time, long, short, day) in table {
            let at = Samples.at(time)
            #expect(frame.time(at) == long)
            #expect(frame.shortTime(at) == short)
            #expect(frame.day(at) == day)
        }
        #expect(CivilTime(frame.now).weekdayName == "Tuesday")
        #expect(CivilTime(Timestamp(milliseconds: -1)).weekdayName == "Wednesday")
        #expect(CivilTime(Timestamp(milliseconds: -1)).date == "31 Dec 1969")
    }

    @Test func `a path can contain any id, and keeps the environment`() {
        #expect(DashboardPath.customer("a/b ?#").text == "/customers/a%2Fb%20%3F%23")
        #expect(DashboardPath.overview.in(.sandbox).text == "/?environment=sandbox")
        #expect(
            DashboardPath.events.with("customer_id", "a&b").in(.sandbox).text
                == "/events?customer_id=a%26b&environment=sandbox")
        #expect(DashboardPath.events.with("what", "").with("from", nil).text == "/events")
    }

    @Test func `the path of an asset changes with its content`() {
        let one = Asset(name: "a", fileExtension: "css", contentType: "text/css", bytes: [1])
        let other = Asset(name: "a", fileExtension: "css", contentType: "text/css", bytes: [2])
        #expect(one.path != other.path)
        #expect(one.path.hasPrefix("/assets/a-"))
        #expect(one.path.count == "/assets/a-.css".count + 16)
    }

    @Test func `markup is put inside other markup only if it is not empty`() {
        func item(_ markup: Markup) -> String { markup.inside { "<li>\($0)</li>" }.html }
        #expect(item("") == "")
        #expect(item("<b>1</b>") == "<li><b>1</b></li>")
        #expect(item(Markup(text: "<")) == "<li>&lt;</li>")
    }
}
