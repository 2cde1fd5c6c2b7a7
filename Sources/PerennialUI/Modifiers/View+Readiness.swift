#if canImport(SwiftUI)
    import Perennial
    import StoreKit
    public import SwiftUI
    #if canImport(_StoreKit_SwiftUI)
        import _StoreKit_SwiftUI
    #endif

    extension View {
        /// Sets whether the App Store may interrupt the app. While this value is false, messages of
        /// the App Store wait, and so do products that the customer chose in the App Store. Use the
        /// modifier once, before ``perennial(_:)``.
        public func perennialReady(_ isReady: Bool = true) -> some View {
            modifier(RequestModifier(isReady: isReady)).modifier(MessagesIfAny(isReady: isReady))
        }
    }

    /// Buys the product that the customer chose in the App Store.
    private struct RequestModifier: ViewModifier {
        let isReady: Bool
        @EnvironmentObject private var model: AccessModel
        @Environment(\.locale) private var locale
        @State private var notice: String?

        func body(content: Content) -> some View {
            content.notice($notice, Wording(locale: locale)).task(id: isReady) {
                guard isReady else { return }
                for await request in model.perennial.requests { await buy(request) }
            }
        }

        private func buy(_ request: Perennial.PurchaseRequest) async {
            let perennial = model.perennial
            // A product that was chosen in the App Store waits until the present purchase has
            // ended.
            await model.waitUntilFree()
            notice = await model.buy(.init(product: request.product), Wording(locale: locale)) {
                () async throws(Perennial.Failure) in
                var options = Perennial.PurchaseOptions()
                if let id = request.offerID {
                    let offers = try await perennial.offers(for: request.product)
                    guard let offer = offers.first(where: { $0.id == id }) else {
                        throw Perennial.Failure(
                            .offerNotAccepted, remedy: "The App Store does not list this offer.")
                    }
                    options.offer = offer
                }
                return try await perennial.purchase(request.product, options)
            }
        }
    }

    /// Shows the App Store's messages, on systems where an app can choose when they are shown.
    private struct MessagesIfAny: ViewModifier {
        let isReady: Bool

        func body(content: Content) -> some View {
            #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
                if #available(iOS 16.0, *) {
                    content.modifier(MessageModifier(isReady: isReady))
                } else {
                    content
                }
            #else
                content
            #endif
        }
    }

    #if canImport(UIKit) && !os(tvOS) && !os(watchOS)
        /// Shows the App Store's messages. An app that reads the messages must show them itself, so
        /// they are collected from the start.
        @available(iOS 16.0, *)
        private struct MessageModifier: ViewModifier {
            /// The maximum number of waiting messages. The App Store has four kinds of messages.
            private static let waitingMax = 16

            let isReady: Bool
            /// A copy of `isReady`. The loop over messages always sees its present value.
            @State private var mayShow = false
            @State private var waiting: [StoreKit.Message] = []
            @Environment(\.displayStoreKitMessage) private var display

            func body(content: Content) -> some View {
                content
                    .onAppear { showWaiting(isReady) }
                    .onChange(of: isReady) { showWaiting($0) }
                    .task {
                        for await message in StoreKit.Message.messages {
                            waiting.append(message)
                            waiting = waiting.suffix(Self.waitingMax)
                            showWaiting(mayShow)
                        }
                    }
            }

            private func showWaiting(_ isReady: Bool) {
                mayShow = isReady
                guard isReady else { return }
                let messages = waiting
                waiting = []
                for message in messages {
                    do {
                        try display(message)
                    } catch {
                        // The App Store could not show the message now. The message waits for the
                        // next opportunity.
                        waiting.append(message)
                    }
                }
            }
        }
    #endif
#endif
