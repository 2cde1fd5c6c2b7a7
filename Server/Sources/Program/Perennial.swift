import ArgumentParser
import NIOCore
import NIOPosix

@main
struct Perennial: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "perennial",
        abstract: "What may this customer use right now, and why?",
        subcommands: [
            DevCommand.self, ServeCommand.self, SimulateCommand.self, CheckCommand.self,
            ExplainCommand.self, RebuildCommand.self, KeysCommand.self, MigrateCommand.self,
            ReconcileCommand.self,
        ])

    // Tasks run on the threads that read and write the sockets: else each request is handed to
    // another thread and back, which takes longer than most answers. Where the runtime does not
    // allow it, nothing changes but the speed.
    static func main() async {
        NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
        await main(nil)
    }
}
