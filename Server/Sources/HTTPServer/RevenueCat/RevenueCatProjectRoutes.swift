import Engine
import Hummingbird
import Ledger
import RevenueCatWire
import Storage

/// The routes of version 2 of RevenueCat's REST API that read what an app sells.
struct RevenueCatProjectRoutes: RouteGroup {
    let server: PerennialServer

    private typealias Gate = RevenueCatProjectGate

    private var gate: RevenueCatProjectGate { RevenueCatProjectGate(server: server) }

    var all: [Route] {
        [
            list(Gate.root, "projects") { [$0.project] },
            list(Gate.project + "/apps", "apps") { [$0.app] },
            list(Gate.project + "/products", "products", \.products),
            list(Gate.project + "/entitlements", "entitlements", \.allEntitlements),
            list(Gate.project + "/offerings", "offerings", \.offerings),
            one(Gate.project + "/products/{object}", "product", \.products),
            one(Gate.project + "/entitlements/{object}", "entitlement", \.allEntitlements),
            one(Gate.project + "/offerings/{object}", "offering", \.offerings),
            part(Gate.project + "/entitlements/{object}", "products", of: "entitlement") {
                $0.products(of: EntitlementID(rawValue: $1))
            },
            part(Gate.project + "/offerings/{object}", "packages", of: "offering") {
                $0.packages(of: $1)
            },
        ]
    }

    /// A list of the whole project.
    private func list(
        _ path: String, _ name: String,
        _ objects: @escaping @Sendable (RevenueCatProject) -> [RevenueCatObject]
    ) -> Route {
        gate.keyed(.get, path, "revenueCatProject_\(name)", for: .read) { request, _, _, project in
            let path = path == Gate.root ? path : "\(project.path)/\(name)"
            return try gate.respond(objects(project), at: path, to: request)
        }
    }

    /// One object of a list of the whole project.
    private func one(
        _ path: String, _ name: String,
        _ objects: @escaping @Sendable (RevenueCatProject) -> [RevenueCatObject]
    ) -> Route {
        gate.keyed(.get, path, "revenueCatProject_\(name)", for: .read) { _, context, _, project in
            let id = try Gate.name("object", in: context)
            guard let object = objects(project).first(where: { $0.id == id }) else {
                throw RevenueCatMissing(what: name)
            }
            return try JSONResponse.ok(object.value)
        }
    }

    /// A list that belongs to one object.
    private func part(
        _ path: String, _ name: String, of kind: String,
        _ objects: @escaping @Sendable (RevenueCatProject, String) -> [RevenueCatObject]?
    ) -> Route {
        gate.keyed(
            .get, "\(path)/\(name)", "revenueCatProject_\(kind)_\(name)", for: .read
        ) { request, context, _, project in
            let id = try Gate.name("object", in: context)
            guard let found = objects(project, id) else { throw RevenueCatMissing(what: kind) }
            return try gate.respond(
                found, at: "\(project.path)/\(kind)s/\(id)/\(name)", to: request)
        }
    }
}
