/// A raging face, drawn with characters.
public struct Face: Hashable, Sendable {
    public var name: String
    public var drawing: String

    public static let all = [
        Face(name: "rage", drawing: "(ノಠ益ಠ)ノ"),
        Face(name: "disapproval", drawing: "ಠ_ಠ"),
        Face(name: "table", drawing: #"(╯°□°)╯ ┻━┻"#),
        Face(name: "okay", drawing: "(  ._.)"),
        Face(name: "like a boss", drawing: "(⌐■_■)"),
        Face(name: "whatever", drawing: #"¯\_(ツ)_/¯"#),
        Face(name: "troll", drawing: "( ͡° ͜ʖ ͡°)"),
    ]
}
