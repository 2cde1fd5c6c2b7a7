/// The building blocks of schemas (JSON Schema 2020-12). A type that describes a program's API
/// conforms to this protocol, so that it can name the building blocks without a prefix.
package protocol OpenAPISchemas {}

extension OpenAPISchemas {
    package static var text: OpenAPIValue { ["type": "string"] }
    package static var whole: OpenAPIValue { ["type": "integer"] }
    package static var number: OpenAPIValue { ["type": "number"] }
    package static var flag: OpenAPIValue { ["type": "boolean"] }
    package static var time: OpenAPIValue { ["type": "string", "format": "date-time"] }
    /// An object whose members are defined elsewhere.
    package static var foreign: OpenAPIValue { ["type": "object"] }

    /// A schema of the document's components.
    package static func reference(_ name: String) -> OpenAPIValue {
        ["$ref": .text("#/components/schemas/\(name)")]
    }

    package static func list(_ content: OpenAPIValue) -> OpenAPIValue {
        ["type": "array", "items": content]
    }

    package static func orNull(_ schema: OpenAPIValue) -> OpenAPIValue {
        ["anyOf": [schema, ["type": "null"]]]
    }

    /// A text that is one of these words.
    package static func words(_ words: [String]) -> OpenAPIValue {
        ["type": "string", "enum": .list(words.map { .text($0) })]
    }

    /// The raw values of an enumeration.
    package static func words<Word: RawRepresentable & CaseIterable>(
        of type: Word.Type
    ) -> OpenAPIValue where Word.RawValue == String {
        words(type.allCases.map(\.rawValue))
    }

    /// An object that requires all of these members, except those listed as absent.
    package static func object(
        _ members: KeyValuePairs<String, OpenAPIValue>, mayLack absent: Set<String> = []
    ) -> OpenAPIValue {
        object(of: members.map { OpenAPIValue.Member($0.key, $0.value) }, mayLack: absent)
    }

    /// An object that requires all of these members, except those listed as absent.
    ///
    /// - Parameter description: what the object is, if its name does not say it.
    package static func object(
        of members: [OpenAPIValue.Member], mayLack absent: Set<String>, description: String? = nil
    ) -> OpenAPIValue {
        let required = members.map(\.name).filter { !absent.contains($0) }
        return foreign.adding(description.map { ["description": .text($0)] })
            .adding(["required": .list(required.map { .text($0) })])
            .adding(["properties": .object(members)])
    }

    /// An object as a component, with its name.
    package static func structure(
        _ name: String, _ members: KeyValuePairs<String, OpenAPIValue>,
        mayLack absent: Set<String> = []
    ) -> OpenAPIValue.Member {
        OpenAPIValue.Member(name, object(members, mayLack: absent))
    }
}
