#if canImport(SwiftUI)
    public import Foundation
    public import Perennial
    public import SwiftUI

    extension Perennial {
        /// The seats of a subscription that the customer has bought for several people: the number
        /// of seats, the members who have joined, and a button that invites. Members join in your
        /// app with the token of an invitation: see ``Perennial/claimSeat(_:)``.
        ///
        /// If the App Store invites the members, the button shows the App Store's sheet. This sheet
        /// exists since iOS 27.3 and macOS 27.3.
        public struct GroupView: View {
            private let subscription: Subscription
            private let link: (String) -> URL?
            @EnvironmentObject private var model: AccessModel
            @Environment(\.locale) private var locale
            @State private var group: SeatGroup?
            @State private var invitation: SeatInvitation?
            @State private var notice: String?

            /// - Parameters:
            ///   - subscription: one of ``Snapshot/groups``.
            ///   - link: returns the link for an invitation's token. An invited person opens the
            ///     link in your app.
            public init(_ subscription: Subscription, link: @escaping (String) -> URL?) {
                self.subscription = subscription
                self.link = link
            }

            public var body: some View {
                VStack(alignment: .leading, spacing: 12) {
                    if let group {
                        content(of: group, SeatScreen(group, wording))
                    } else {
                        ProgressView()
                    }
                }
                .task(id: subscription) { await load() }
                .notice($notice, wording)
            }

            private var wording: Wording { Wording(locale: locale) }

            @ViewBuilder private func content(
                of group: SeatGroup, _ screen: SeatScreen
            ) -> some View {
                Text(verbatim: screen.seats).font(.headline)
                if let renewal = screen.renewal { Text(verbatim: renewal).font(.subheadline) }
                if group.host == .apple { AppleInvitation(product: group.product) }
                if group.host == .developer {
                    Text(verbatim: wording.text(.members)).font(.headline)
                    if screen.members.isEmpty {
                        Text(verbatim: wording.text(.noMembers)).font(.subheadline)
                    }
                }
                ForEach(screen.members) { row in
                    MemberRow(row: row) {
                        change { perennial async throws(Failure) in
                            try await perennial.removeSeat(row.id)
                        }
                    }
                }
                ForEach(screen.invitations) { row in
                    InvitationRow(row: row) {
                        change { perennial async throws(Failure) in
                            try await perennial.withdrawInvitation(row.id, of: group.id)
                        }
                    }
                }
                if let invitation { NewInvitation(invitation: invitation, link: link) }
                if screen.invites { inviteButton(group) }
                Perennial.ManageButton()
            }

            private func inviteButton(_ group: SeatGroup) -> some View {
                Button {
                    change { perennial async throws(Failure) in
                        invitation = try await perennial.inviteToSeat(of: group.id)
                    }
                } label: {
                    Text(verbatim: wording.text(.invite))
                }
            }

            private func load() async {
                do throws(Failure) {
                    group = try await model.perennial.seats(of: subscription.id)
                } catch {
                    notice = error.text(in: locale)
                }
            }

            private func change(
                by changing: @escaping @MainActor (Perennial) async throws(Failure) -> Void
            ) {
                Task {
                    do throws(Failure) { try await changing(model.perennial) } catch {
                        notice = error.text(in: locale)
                        return
                    }
                    await load()
                }
            }
        }
    }

    /// The row of one member, with a button that removes the member after a confirmation.
    private struct MemberRow: View {
        let row: SeatScreen.MemberRow
        let remove: () -> Void
        @Environment(\.locale) private var locale
        @State private var isAsking = false

        var body: some View {
            let wording = Wording(locale: locale)
            HStack {
                VStack(alignment: .leading, spacing: 2) {
                    Text(verbatim: row.title)
                    Text(verbatim: row.status).font(.caption).foregroundColor(.secondary)
                }
                Spacer()
                Button {
                    isAsking = true
                } label: {
                    Text(verbatim: wording.text(.removeMember))
                }
            }
            .alert(Text(verbatim: wording.text(.removeQuestion)), isPresented: $isAsking) {
                Button(wording.text(.removeMember), role: .destructive) { remove() }
                Button(wording.text(.cancel), role: .cancel) {}
            }
        }
    }

    private struct InvitationRow: View {
        let row: SeatScreen.InvitationRow
        let withdraw: () -> Void
        @Environment(\.locale) private var locale

        var body: some View {
            HStack {
                Text(verbatim: row.title).font(.subheadline)
                Spacer()
                Button {
                    withdraw()
                } label: {
                    Text(verbatim: Wording(locale: locale).text(.withdrawInvitation))
                }
            }
        }
    }

    /// The link of a new invitation, which is shown only once.
    private struct NewInvitation: View {
        let invitation: Perennial.SeatInvitation
        let link: (String) -> URL?
        @Environment(\.locale) private var locale

        var body: some View {
            let wording = Wording(locale: locale)
            VStack(alignment: .leading, spacing: 4) {
                Text(verbatim: wording.text(about: invitation)).font(.subheadline)
                if let url = invitation.token.flatMap(link) {
                    Text(verbatim: url.absoluteString).textSelection(.enabled)
                }
            }
        }
    }
#endif
