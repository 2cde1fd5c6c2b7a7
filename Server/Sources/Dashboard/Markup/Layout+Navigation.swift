extension Layout {
    func navigation(in frame: Frame) -> Markup {
        let waiting = frame.deliveriesWaiting
        let open = frame.checksOpen
        return """
            <ul>\(entry(.overview, .overview, .home, "Overview", in: frame))</ul>\
            \(money(in: frame))<h2>People</h2>\
            <ul>\(entry(.customers, .customers, .person, "Customers", in: frame))</ul>\
            <h2>Traffic</h2><ul>\(entry(.events, .events, .lines, "Events", in: frame))\
            \(entry(.notifications, .notifications, .bell, "Notifications", in: frame))\
            \(entry(
                .webhooks, .webhooks, .arrow, "Webhooks", count: waiting,
                saying: waiting == 1 ? "delivery waits" : "deliveries wait", in: frame))</ul>\
            <h2>Set-up</h2><ul>\(entry(.products, .products, .box, "Products", in: frame))\
            \(entry(
                .checks, .checks, .pulse, "Health", count: open,
                saying: open == 1 ? "check needs attention" : "checks need attention", in: frame))\
            \(people(in: frame))</ul>\
            \(phone(in: frame))
            """
    }

    private func entry(
        _ section: Section, _ path: DashboardPath, _ icon: Icon, _ name: Markup, count: Int = 0,
        saying: Markup = "", in frame: Frame
    ) -> Markup {
        let number = Figures.count(count)
        let badge: Markup = """
            <span class="n">\(number)<span class="vh"> – \(number) \(saying)</span></span>
            """
        return """
            <li><a href="\(frame.link(path))"\(current(section))>\(icon.markup)\(name)\
            \(count > 0 ? badge : "")</a></li>
            """
    }

    private func money(in frame: Frame) -> Markup {
        guard frame.viewer.seesMoney else { return "" }
        return """
            <h2>Money</h2><ul>\(entry(.charts, .chart("mrr"), .chart, "Charts", in: frame))\
            \(entry(.reports, .reports, .page, "Apple’s reports", in: frame))</ul>
            """
    }

    /// The links about people: who may act here, and what they did.
    private func people(in frame: Frame) -> Markup {
        guard frame.viewer.mayConfigure else { return "" }
        let operators: Markup =
            frame.viewer.managesOperators
            ? entry(.operators, .operators, .person, "Team", in: frame) : ""
        return "\(operators)\(entry(.audit, .audit, .page, "Audit", in: frame))"
    }

    private func phone(in frame: Frame) -> Markup {
        guard frame.isSimulated else { return "" }
        return """
            <a class="dev" href="\(frame.link(.phone))"\(current(.phone))>\(Icon.phone.markup)\
            The phone</a>
            """
    }

    private func current(_ section: Section) -> Markup {
        section == self.section ? " aria-current=\"page\"" : ""
    }
}
