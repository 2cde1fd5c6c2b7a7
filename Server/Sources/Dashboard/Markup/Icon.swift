/// Small drawings that stand in a line of text.
package enum Icon: Sendable {
    case menu, home, chart, page, person, lines, bell, arrow, box, pulse, phone, halfMoon
    case warning, check, about, download

    package var markup: Markup {
        "<svg class=\"i\" viewBox=\"0 0 16 16\" aria-hidden=\"true\">\(shape)</svg>"
    }

    private var shape: Markup {
        switch self {
        case .menu: "<path d=\"M2 4.5h12M2 8h12M2 11.5h12\"/>"
        case .home: "<path d=\"M2.5 9.5 8 3l5.5 6.5M4 8.5V13h8V8.5\"/>"
        case .chart: "<path d=\"M2 13.5h12M4 11V7.5M8 11V3M12 11V5.5\"/>"
        case .page: "<path d=\"M4 2h6l3 3v9H4zM6 8h5M6 11h5\"/>"
        case .person:
            """
            <circle cx="8" cy="5.2" r="2.7"/>\
            <path d="M2.8 14c.6-3 2.6-4.4 5.2-4.4s4.6 1.4 5.2 4.4"/>
            """
        case .lines: "<path d=\"M2 4h7M2 8h12M2 12h9\"/>"
        case .bell:
            """
            <path d="M8 2a4 4 0 0 1 4 4c0 3.5 1.5 4.5 1.5 5.5h-11C2.5 10.5 4 9.5 4 6a4 4 0 0 1 4-4z\
            M6.7 14h2.6"/>
            """
        case .arrow: "<path d=\"M2 8h9M8 4.5 11.5 8 8 11.5M14 3v10\"/>"
        case .box: "<path d=\"M8 2 13.5 5v6L8 14 2.5 11V5zM2.5 5 8 8l5.5-3M8 8v6\"/>"
        case .pulse: "<path d=\"M1.5 8h3L6.5 3l3 10 2-5h3\"/>"
        case .phone:
            """
            <rect x="4.5" y="1.5" width="7" height="13" rx="1.8"/><path d="M7.2 12.5h1.6"/>
            """
        case .halfMoon:
            """
            <circle cx="8" cy="8" r="5.5"/>\
            <path d="M8 2.5v11a5.5 5.5 0 0 0 0-11z" fill="currentColor"/>
            """
        case .warning: "<path d=\"M8 2.5 14.5 13.5h-13zM8 6.5v3M8 11.7v.1\"/>"
        case .check: "<path d=\"m3 8.5 3.2 3.2L13 4.5\"/>"
        case .about: "<circle cx=\"8\" cy=\"8\" r=\"6\"/><path d=\"M8 7.3v3.5M8 5v.1\"/>"
        case .download: "<path d=\"M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10\"/>"
        }
    }

    /// The sprout over an empty page.
    static let sprout: Markup = """
        <svg viewBox="0 0 88 64" fill="none" stroke="currentColor" stroke-width="2" \
        stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">\
        <path d="M8 48h24M56 48h24M32 48c3-5 7-7 12-7s9 2 12 7M44 41V22M44 30c-1-9-7-14-17-14 0 9 \
        7 \
        14 17 14zM44 24c0-10 6-16 16-16 0 10-6 16-16 16z"/>\
        <path d="M20 55h14M42 55h22M30 61h18" opacity=".6"/></svg>
        """

    static let brand: Markup = """
        <svg viewBox="0 0 24 24" fill="currentColor" aria-hidden="true"><path d="M11 13.2C10.7 8.8 \
        7.6 6.3 2.5 6.2c0 4.8 3.3 7.4 8.5 7zM13 10.4c0-4.9 3-7.8 8.5-8 0 5.3-2.9 8.2-8.5 8z"/>\
        <path d="M11.1 12h1.8v9.5h-1.8z"/><path d="M5 20.6h14v1.8H5z" opacity=".45"/></svg>
        """
}
