import PerennialContract

/// The page of `perennial dev` with an iPhone beside the answers of the App Store and the server.
package struct PhonePage: Sendable {
    package var state: PhoneState

    package init(_ state: PhoneState) { self.state = state }

    /// The file that the page loads in addition to the assets of every page.
    package static let script = Asset(
        name: "phone", fileExtension: "js", contentType: "text/javascript; charset=utf-8",
        bytes: PackageResources.phone_js)

    package func html(in frame: Frame) -> String {
        Layout(
            title: "The phone", section: .phone, heading: "", scripts: [Self.script],
            content: content(in: frame)
        ).html(in: frame)
    }

    private var introduction: Markup {
        let name = Markup.id(state.customer.customerID)
        return """
            <p class="lede">This is the iPhone of <b>\(name)</b>, a made-up customer. What she \
            buys goes through a simulated App Store to your server. Times are UTC; Apple counts \
            in California.</p>
            """
    }

    private func piece(_ name: PhonePiece.Name, _ hint: PhoneAct?) -> Markup {
        name.markup(state, hint)
    }

    private func content(in frame: Frame) -> Markup {
        let hint = PhoneTour(state).hint
        return """
            <h1 class="vh">The phone</h1>
            <form id="sim" method="post" action="\(frame.link(.phone))" \
            data-live-source="\(frame.link(.phone))/live" \
            data-customer="\(state.customer.customerID)">\(frame.csrf)
            \(clock(hint))
            <div class="stack">\(piece(.trouble, hint))<div class="row end guide">\(introduction)\
            <button \(button(.startOver, hint).attributes("btn s"))>Start over</button></div></div>
            <div class="stage">
            <section class="phone-col" aria-label="The phone of \(state.customer.customerID)">\
            <div class="phone">\(piece(.screen, hint))</div></section>
            <div class="stack">
            <div class="stack">
            \(truthPanel(hint))
            \(purchases(hint, in: frame))
            \(charts(hint, in: frame))
            \(code(hint, in: frame))
            </div>
            <section class="panel flush"><header><h2>On the wire</h2>\
            <p>newest act first</p></header>\
            \(piece(.wire, hint))</section>
            </div>
            </div></form>
            """
    }

    private func button(_ act: PhoneAct, _ hint: PhoneAct?) -> PhoneButton {
        PhoneButton(act: act, isHinted: act == hint)
    }

    private func clock(_ hint: PhoneAct?) -> Markup {
        """
        <div class="clock" role="group" aria-label="Virtual clock and tour">
        <div><span class="lab">Virtual time</span>\(piece(.now, hint))</div>
        <div><span class="lab">Let time pass</span>\(piece(.pass, hint))</div>
        \(piece(.due, hint))
        \(piece(.tour, hint))
        </div>
        """
    }

    private func truthPanel(_ hint: PhoneAct?) -> Markup {
        let look = PhoneAnswer(state).look
        return """
            <section class="panel answer\(look.isEmpty ? "" : " \(look)")" id="answer" \
            aria-label="The answer"><p class="line" role="status">\(piece(.line, hint))</p>\
            \(piece(.word, hint))</section>
            """
    }

    private func purchases(_ hint: PhoneAct?, in frame: Frame) -> Markup {
        let id = state.customer.customerID
        return """
            <section class="panel"><header><h2>Her purchases over time</h2>\
            <p><a href="\(frame.link(.customer(id)))">\(.id(id))’s page</a></p></header>\
            \(piece(.picture, hint))</section>
            """
    }

    private func charts(_ hint: PhoneAct?, in frame: Frame) -> Markup {
        """
        <section class="panel flush"><header><h2>What she adds to the charts</h2>\
        <p><a href="\(frame.link(.chart("mrr")))">All charts</a></p></header>\
        \(piece(.books, hint))</section>
        """
    }

    private func code(_ hint: PhoneAct?, in frame: Frame) -> Markup {
        let path = Paths.customer(state.customer.customerID)
        return """
            <section class="panel">\(piece(.others, hint))\
            <details open><summary>What her app gets: <code>GET \(path)</code></summary>\
            \(piece(.json, hint))</details>\
            <details><summary>The full answer, in a terminal</summary><pre>\(state.curl)</pre>\
            <button class="btn s" type="button" data-copy="\(state.curl)">Copy</button></details>\
            <div class="row"><a class="btn s" href="\(frame.link(.events))">Events</a>\
            <a class="btn s" href="\(frame.link(.webhooks))">Webhooks</a></div></section>
            """
    }
}
