/// An action: a button, and the dialog that it opens, which describes the effect.
struct Dialog {
    /// The id of the dialog, unique on the page.
    var id: Markup
    var button: Markup
    var title: Markup
    /// What will happen, to whom, and whether it can be undone.
    var sentences: Markup
    var path: DashboardPath
    var fields: Markup = ""
    /// The text of the button that confirms. This text repeats the verb and the name.
    var submit: Markup
    /// Whether the action cannot be undone.
    var isGrave = false
    /// The classes of the button.
    var buttonClasses: Markup = "btn s"

    var buttonMarkup: Markup {
        """
        <button class="\(buttonClasses)\(isGrave ? " bad" : "")" type="button" \
        popovertarget="\(id)">\(button)</button>
        """
    }

    func dialogMarkup(in frame: Frame) -> Markup {
        """
        <dialog popover id="\(id)" aria-labelledby="\(id)-h"><h2 id="\(id)-h">\(title)</h2>\
        \(sentences)<form method="post" action="\(frame.link(path))">\(frame.csrf)\(fields)\
        <div class="row"><button class="btn" type="button" popovertarget="\(id)" \
        popovertargetaction="hide">Cancel</button>\
        <button class="btn \(isGrave ? "bad" : "go")" \
        type="submit"><span>\(submit)</span></button></div>\
        </form></dialog>
        """
    }

    /// The field for the operator's reason, which is stored with the operator's name.
    ///
    /// - Parameter note: who else can read the reason.
    static func reasonField(
        _ id: Markup, _ note: Markup = "stored with your name; the customer never sees it"
    ) -> Markup {
        """
        <div><label for="\(id)">Why (\(note))</label>\
        <input id="\(id)" name="reason" required maxlength="500" placeholder="ticket 4711"></div>
        """
    }
}

/// A select of a form.
struct Choice {
    var id: Markup
    var name: Markup
    var label: Markup
    /// The values with their labels. The empty value means all.
    var options: [(value: String, label: String)]
    var selected: String

    var markup: Markup {
        let items = options.map { option -> Markup in
            """
            <option value="\(.value(option.value))"\(option.value == selected ? " selected" : "")>\
            \(option.label)</option>
            """
        }
        return """
            <div><label for="\(id)">\(label)</label>\
            <select id="\(id)" name="\(name)">\(items.joined())</select></div>
            """
    }
}
