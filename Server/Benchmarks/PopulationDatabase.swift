import Foundation

/// The database of very many customers, which stays in the bench's folder for the next run.
struct PopulationDatabase {
    private let programs: Programs
    private let customers: Int

    init(_ programs: Programs, customers: Int) {
        (self.programs, self.customers) = (programs, customers)
    }

    /// Returns the database's path. Creates the database if there is none with the current schema.
    func path() async throws -> String {
        let bench = programs.bench
        let partial = try bench.freshDatabase("partial.sqlite")
        _ = try programs.createKey(partial)
        let prefix = "customers-\(customers)-"
        let name = prefix + (try await Population.schemaName(of: partial)) + ".sqlite"
        let path = bench.path(name)
        guard !FileManager.default.fileExists(atPath: path) else { return path }
        try bench.remove { $0.hasPrefix(prefix) }
        let maker = DocumentMaker(authority: bench.authority)
        try await Population(customers, maker).fill(partial)
        try DatabaseFiles.checkpoint(partial)
        // Renamed only when complete.
        try FileManager.default.moveItem(atPath: partial, toPath: path)
        return path
    }
}
