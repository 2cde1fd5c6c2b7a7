extension Phrases {
    static let french: [TextKey: Phrase] = [
        .subscribed: "Abonnement actif",
        .subscribedDays: .plural(
            one: "Abonnement actif : encore {count} jour",
            other: "Abonnement actif : encore {count} jours"),
        .subscribedRenews: "Abonnement actif : se renouvelle le {date}",
        .subscribedEndsAfterMonth: .plural(
            one: "Abonnement actif : prend fin après le mois {count}",
            other: "Abonnement actif : prend fin après le mois {count}"),
        .notSubscribed: "Aucun abonnement",
        .unlocked: "Débloqué définitivement",
        .paymentProblem: "Il y a un problème avec votre paiement",

        .buy: "Acheter",
        .subscribe: "S’abonner",
        .renew: "Prolonger",
        .switchPlan: "Changer",
        .waiting: "En attente",

        .renewsOn: "Se renouvelle le {date}",
        .endsOn: "Prend fin le {date}",
        .paidUntil: "Payé jusqu’au {date}",
        .changesOn: "Passe à {name} le {date}",
        .beginsOn: "Commence le {date}",
        .endsAfterMonth: .plural(
            one: "Prend fin après le mois {count}", other: "Prend fin après le mois {count}"),
        .familyShared: "Partagé avec vous par votre famille",
        .assigned: "Quelqu’un d’autre paie pour vous",
        .waitingForApproval: "En attente d’une autorisation",
        .waitingForServer: "Payé. Confirmation en cours.",
        .waitingForRestore: """
        Acheté avant votre connexion. Restaurez vos achats pour l’utiliser.
        """,
        .checking: "Vérification de vos achats",

        .days: .plural(one: "{count} jour", other: "{count} jours"),
        .weeks: .plural(one: "{count} semaine", other: "{count} semaines"),
        .months: .plural(one: "{count} mois", other: "{count} mois"),
        .years: .plural(one: "{count} an", other: "{count} ans"),
        .lengthAndLength: "{first} et {second}",
        .priceDaily: .plural(one: "{price} par jour", other: "{price} tous les {count} jours"),
        .priceWeekly: .plural(
            one: "{price} par semaine", other: "{price} toutes les {count} semaines"),
        .priceMonthly: .plural(one: "{price} par mois", other: "{price} tous les {count} mois"),
        .priceYearly: .plural(one: "{price} par an", other: "{price} tous les {count} ans"),
        .priceForLength: "{price} pour {length}",

        .offerFree: "Gratuit pendant {length}, puis {price}",
        .offerPaid: "{offer} pendant {length}, puis {price}",
        .offerInstead: "{offer} au lieu de {price}",
        .disclosure: """
        {price}. Renouvellement automatique jusqu’à résiliation. Résiliez au moins 24 heures \
        avant la fin d’une période, dans les réglages de votre compte Apple.
        """,

        .payments: .plural(one: "{count} paiement", other: "{count} paiements"),
        .planTotal: "{total} au total pour {length}",
        .planDisclosure: .plural(
            one: """
                {count} paiement de {price}, {total} au total. Vous vous engagez à le régler, même \
                si \
                vous résiliez avant. Renouvellement automatique pour {length} jusqu’à résiliation, \
                au \
                moins 24 heures avant la fin, dans les réglages de votre compte Apple.
                """,
            other: """
                {count} paiements de {price}, {total} au total. Vous vous engagez à tous les \
                régler, \
                même si vous résiliez avant. Renouvellement automatique pour {length} jusqu’à \
                résiliation, au moins 24 heures avant la fin, dans les réglages de votre compte \
                Apple.
                """),

        .restore: "Restaurer les achats",
        .restoreQuestion: "Restaurer ces achats ?",
        .restored: "Vos achats sont restaurés.",
        .restoredNothingNew: "Vous avez déjà tous vos achats.",
        .restoredNothing: "Ce compte Apple n’a aucun achat.",
        .restoreRefused: "Ces achats appartiennent à un autre compte de cette app.",
        .itemHad: "Vous avez déjà cet achat.",
        .itemLinks: "Cet achat sera ajouté à votre compte.",
        .itemMoves: "Cet achat sera retiré d’un autre compte et ajouté au vôtre.",
        .itemMovesFrom: "Cet achat sera retiré à {owner} et ajouté à votre compte.",
        .itemShares: "Un autre compte a cet achat. Vous l’aurez tous les deux.",
        .itemSharesWith: "{owner} a cet achat. Vous l’aurez tous les deux.",
        .itemRefused: "Cet achat appartient à un autre compte et y reste.",
        .itemRefusedOf: "Cet achat appartient à {owner} et y reste.",

        .purchasePending: "Votre achat attend une autorisation. Il arrivera ici tout seul.",
        .purchaseScheduled: "Le changement prend effet à la fin de la période en cours.",
        .purchaseHad: "Vous l’avez déjà. Rien n’a été débité.",
        .purchaseOfAnother: "Votre compte Apple le paie déjà pour un autre compte de cette app.",

        .manage: "Gérer l’abonnement",
        .termsOfUse: "Conditions d’utilisation",
        .privacyPolicy: "Confidentialité",
        .redeem: "Utiliser un code",
        .requestRefund: "Demander un remboursement",
        .accept: "Continuer",
        .cancel: "Annuler",
        .close: "Fermer",
        .done: "OK",
        .tryAgain: "Réessayer",
        .owned: "Vous l’avez",
        .shopFailed: "La boutique n’a pas pu être chargée.",
        .timesRemaining: .plural(
            one: "Utilisations restantes : {count}", other: "Utilisations restantes : {count}"),
        .consentQuestion: """
        L’App Store peut-il savoir dans quelle mesure vous avez utilisé cet achat ?
        """,
        .consentAgree: "Autoriser",
        .consentDecline: "Ne pas autoriser",

        .seats: .plural(one: "{count} place", other: "{count} places"),
        .seatsAtRenewal: .plural(
            one: "{count} place à partir de la prochaine période",
            other: "{count} places à partir de la prochaine période"),
        .seatsFree: .plural(one: "{count} libre", other: "{count} libres"),
        .listOfTwo: "{first}, {second}",
        .members: "Membres",
        .noMembers: "Personne n’a encore rejoint le groupe.",
        .memberUnnamed: "Membre",
        .joinedOn: "Membre depuis le {date}",
        .seatWaiting: "Attend une place libre",
        .invite: "Inviter",
        .inviteLink: "Envoyez ce lien à une personne. Il sert une fois, jusqu’au {date}.",
        .invitationOpen: "Invitation valable jusqu’au {date}",
        .withdrawInvitation: "Retirer",
        .removeMember: "Exclure",
        .removeQuestion: "Exclure ce membre ? Son accès prend fin aussitôt.",
        .yourSeatWaits: "Aucune place n’est libre pour vous en ce moment.",
        .leaveGroup: "Quitter le groupe",
        .leaveQuestion: "Quitter le groupe ? Votre accès prend fin aussitôt.",

        .failedForNow: "Cela n’a pas fonctionné. Réessayez plus tard.",
        .failed: "Cela n’a pas fonctionné. Contactez l’assistance de l’app.",
        .serverUnreachable: "Il n’y a pas de connexion. Réessayez plus tard.",
        .storeUnreachable: "L’App Store est injoignable. Réessayez plus tard.",
        .productUnknown: "Ce produit n’est pas en vente pour le moment.",
        .purchaseNotAllowed: "Les achats ne sont pas autorisés sur cet appareil.",
        .offerNotAccepted: "L’App Store n’a pas accepté cette offre. Rien n’a été débité.",
        .paidAndSafe: "Votre paiement est en sécurité. Votre achat arrivera dès que possible.",
        .chargeUnclear: """
        On ne sait pas encore si vous avez été débité. Si oui, votre achat arrivera tout seul.
        """,
        .accountOfAnother: """
        Votre compte Apple paie déjà pour un autre compte de cette app. Rien n’a été débité.
        """,
        .customerMissing: "Connectez-vous d’abord.",
        .customerChanged: "Quelque chose a changé entre-temps. Réessayez.",
        .walletBalanceTooLow: "Il n’en reste pas assez.",
        .contentNotAvailable: "Vous devez l’acheter avant de pouvoir l’ouvrir.",
        .seatsNotSold: "Cela n’est pas vendu pour autant de personnes. Rien n’a été débité.",
        .seatsUnchanged: "Vous avez déjà ce nombre de places. Rien n’a été débité.",
        .seatReduction:
            "Vous pouvez réduire les places dans l’App Store, pour la prochaine période.",
        .seatsTaken: "Aucune place n’est libre dans ce groupe.",
        .invitationUnknown: "Cette invitation n’est plus valable.",
        .purchaserNeedsNoSeat: "Vous payez pour ce groupe et n’avez pas besoin d’une place.",
    ]
}
