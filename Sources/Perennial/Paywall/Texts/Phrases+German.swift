extension Phrases {
    static let german: [TextKey: Phrase] = [
        .subscribed: "Abonniert",
        .subscribedDays: .plural(
            one: "Abonniert: noch {count} Tag", other: "Abonniert: noch {count} Tage"),
        .subscribedRenews: "Abonniert: verlängert sich am {date}",
        .subscribedEndsAfterMonth: .plural(
            one: "Abonniert: endet nach Monat {count}",
            other: "Abonniert: endet nach Monat {count}"),
        .notSubscribed: "Nicht abonniert",
        .unlocked: "Dauerhaft freigeschaltet",
        .paymentProblem: "Es gibt ein Problem mit deiner Zahlung",

        .buy: "Kaufen",
        .subscribe: "Abonnieren",
        .renew: "Verlängern",
        .switchPlan: "Wechseln",
        .waiting: "Wartet",

        .renewsOn: "Verlängert sich am {date}",
        .endsOn: "Endet am {date}",
        .paidUntil: "Bezahlt bis {date}",
        .changesOn: "Wechselt am {date} zu {name}",
        .beginsOn: "Beginnt am {date}",
        .endsAfterMonth: .plural(
            one: "Endet nach Monat {count}", other: "Endet nach Monat {count}"),
        .familyShared: "Von deiner Familie mit dir geteilt",
        .assigned: "Jemand anderes zahlt für dich",
        .waitingForApproval: "Wartet auf Zustimmung",
        .waitingForServer: "Bezahlt. Wird gerade bestätigt.",
        .waitingForRestore: """
        Vor deiner Anmeldung gekauft. Stelle deine Käufe wieder her, um es zu nutzen.
        """,
        .checking: "Deine Käufe werden geprüft",

        .days: .plural(one: "{count} Tag", other: "{count} Tage"),
        .weeks: .plural(one: "{count} Woche", other: "{count} Wochen"),
        .months: .plural(one: "{count} Monat", other: "{count} Monate"),
        .years: .plural(one: "{count} Jahr", other: "{count} Jahre"),
        .lengthAndLength: "{first} und {second}",
        .priceDaily: .plural(one: "{price} am Tag", other: "{price} alle {count} Tage"),
        .priceWeekly: .plural(one: "{price} in der Woche", other: "{price} alle {count} Wochen"),
        .priceMonthly: .plural(one: "{price} im Monat", other: "{price} alle {count} Monate"),
        .priceYearly: .plural(one: "{price} im Jahr", other: "{price} alle {count} Jahre"),
        .priceForLength: "{price} für {length}",

        .offerFree: "{length} kostenlos, danach {price}",
        .offerPaid: "{offer} für {length}, danach {price}",
        .offerInstead: "{offer} statt {price}",
        .disclosure: """
        {price}. Verlängert sich automatisch, bis du kündigst. Kündige spätestens 24 Stunden vor \
        dem Ende eines Zeitraums in den Einstellungen deines Apple Accounts.
        """,

        .payments: .plural(one: "{count} Zahlung", other: "{count} Zahlungen"),
        .planTotal: "Insgesamt {total} für {length}",
        .planDisclosure: .plural(
            one: """
                {count} Zahlung von {price}, insgesamt {total}. Du verpflichtest dich dazu, auch \
                wenn \
                du vorher kündigst. Verlängert sich automatisch um {length}, bis du kündigst: \
                spätestens 24 Stunden vor dem Ende, in den Einstellungen deines Apple Accounts.
                """,
            other: """
                {count} Zahlungen von {price}, insgesamt {total}. Du verpflichtest dich zu allen, \
                auch wenn du vorher kündigst. Verlängert sich automatisch um {length}, bis du \
                kündigst: spätestens 24 Stunden vor dem Ende, in den Einstellungen deines Apple \
                Accounts.
                """),

        .restore: "Käufe wiederherstellen",
        .restoreQuestion: "Diese Käufe wiederherstellen?",
        .restored: "Deine Käufe sind wiederhergestellt.",
        .restoredNothingNew: "Du hast bereits alle deine Käufe.",
        .restoredNothing: "Zu diesem Apple Account gibt es keine Käufe.",
        .restoreRefused: "Diese Käufe gehören zu einem anderen Konto dieser App.",
        .itemHad: "Du hast diesen Kauf bereits.",
        .itemLinks: "Dieser Kauf wird deinem Konto hinzugefügt.",
        .itemMoves: "Dieser Kauf wird einem anderen Konto entzogen und deinem hinzugefügt.",
        .itemMovesFrom: "Dieser Kauf wird {owner} entzogen und deinem Konto hinzugefügt.",
        .itemShares: "Ein anderes Konto hat diesen Kauf. Ihr werdet ihn beide haben.",
        .itemSharesWith: "{owner} hat diesen Kauf. Ihr werdet ihn beide haben.",
        .itemRefused: "Dieser Kauf gehört zu einem anderen Konto und bleibt dort.",
        .itemRefusedOf: "Dieser Kauf gehört {owner} und bleibt dort.",

        .purchasePending:
            "Dein Kauf braucht noch eine Zustimmung. Er kommt dann von selbst hier an.",
        .purchaseScheduled: "Der Wechsel gilt ab dem Ende des laufenden Zeitraums.",
        .purchaseHad: "Das hast du bereits. Es wurde nichts berechnet.",
        .purchaseOfAnother: """
        Dein Apple Account bezahlt dies bereits für ein anderes Konto dieser App.
        """,

        .manage: "Abo verwalten",
        .termsOfUse: "Nutzungsbedingungen",
        .privacyPolicy: "Datenschutz",
        .redeem: "Code einlösen",
        .requestRefund: "Erstattung anfordern",
        .accept: "Fortfahren",
        .cancel: "Abbrechen",
        .close: "Schließen",
        .done: "OK",
        .tryAgain: "Erneut versuchen",
        .owned: "Das hast du",
        .shopFailed: "Das Angebot konnte nicht geladen werden.",
        .timesRemaining: .plural(one: "Noch {count} Mal", other: "Noch {count} Mal"),
        .consentQuestion: "Darf der App Store erfahren, wie viel von diesem Kauf du genutzt hast?",
        .consentAgree: "Erlauben",
        .consentDecline: "Nicht erlauben",

        .seats: .plural(one: "{count} Platz", other: "{count} Plätze"),
        .seatsAtRenewal: .plural(
            one: "{count} Platz ab dem nächsten Zeitraum",
            other: "{count} Plätze ab dem nächsten Zeitraum"),
        .seatsFree: .plural(one: "{count} frei", other: "{count} frei"),
        .listOfTwo: "{first}, {second}",
        .members: "Mitglieder",
        .noMembers: "Noch ist niemand beigetreten.",
        .memberUnnamed: "Mitglied",
        .joinedOn: "Beigetreten am {date}",
        .seatWaiting: "Wartet auf einen freien Platz",
        .invite: "Einladen",
        .inviteLink: "Schicke diesen Link einer Person. Er gilt einmal, bis zum {date}.",
        .invitationOpen: "Einladung, gültig bis zum {date}",
        .withdrawInvitation: "Zurückziehen",
        .removeMember: "Entfernen",
        .removeQuestion: "Dieses Mitglied entfernen? Sein Zugang endet sofort.",
        .yourSeatWaits: "Im Moment ist kein Platz für dich frei.",
        .leaveGroup: "Gruppe verlassen",
        .leaveQuestion: "Gruppe verlassen? Dein Zugang endet sofort.",

        .failedForNow: "Das hat nicht geklappt. Versuche es bitte später noch einmal.",
        .failed: "Das hat nicht geklappt. Wende dich bitte an den Support der App.",
        .serverUnreachable: "Es gibt keine Verbindung. Versuche es bitte später noch einmal.",
        .storeUnreachable:
            "Der App Store ist nicht erreichbar. Versuche es bitte später noch einmal.",
        .productUnknown: "Das wird im Moment nicht verkauft.",
        .purchaseNotAllowed: "Auf diesem Gerät sind Käufe nicht erlaubt.",
        .offerNotAccepted: """
        Der App Store hat dieses Angebot nicht angenommen. Es wurde nichts berechnet.
        """,
        .paidAndSafe:
            "Deine Zahlung ist sicher. Was du gekauft hast, kommt so bald wie möglich an.",
        .chargeUnclear: """
        Es ist noch nicht bekannt, ob etwas berechnet wurde. Wenn ja, kommt dein Kauf von selbst \
        an.
        """,
        .accountOfAnother: """
        Dein Apple Account bezahlt bereits für ein anderes Konto dieser App. Es wurde nichts \
        berechnet.
        """,
        .customerMissing: "Bitte melde dich zuerst an.",
        .customerChanged: "Inzwischen hat sich etwas geändert. Versuche es bitte noch einmal.",
        .walletBalanceTooLow: "Es ist nicht mehr genug übrig.",
        .contentNotAvailable: "Du musst dies erst kaufen, bevor du es öffnen kannst.",
        .seatsNotSold: "Für so viele Personen wird das nicht verkauft. Es wurde nichts berechnet.",
        .seatsUnchanged: "So viele Plätze hast du bereits. Es wurde nichts berechnet.",
        .seatReduction: "Plätze kannst du im App Store für den nächsten Zeitraum abgeben.",
        .seatsTaken: "In dieser Gruppe ist kein Platz frei.",
        .invitationUnknown: "Diese Einladung gilt nicht mehr.",
        .purchaserNeedsNoSeat: "Du zahlst für diese Gruppe und brauchst keinen eigenen Platz.",
    ]
}
