extension Phrases {
    static let spanish: [TextKey: Phrase] = [
        .subscribed: "Suscripción activa",
        .subscribedDays: .plural(
            one: "Suscripción activa: queda {count} día",
            other: "Suscripción activa: quedan {count} días"),
        .subscribedRenews: "Suscripción activa: se renueva el {date}",
        .subscribedEndsAfterMonth: .plural(
            one: "Suscripción activa: termina tras el mes {count}",
            other: "Suscripción activa: termina tras el mes {count}"),
        .notSubscribed: "Sin suscripción",
        .unlocked: "Desbloqueado para siempre",
        .paymentProblem: "Hay un problema con tu pago",

        .buy: "Comprar",
        .subscribe: "Suscribirse",
        .renew: "Renovar",
        .switchPlan: "Cambiar",
        .waiting: "En espera",

        .renewsOn: "Se renueva el {date}",
        .endsOn: "Termina el {date}",
        .paidUntil: "Pagado hasta el {date}",
        .changesOn: "Cambia a {name} el {date}",
        .beginsOn: "Empieza el {date}",
        .endsAfterMonth: .plural(
            one: "Termina tras el mes {count}", other: "Termina tras el mes {count}"),
        .familyShared: "Tu familia lo comparte contigo",
        .assigned: "Otra persona paga por ti",
        .waitingForApproval: "A la espera de autorización",
        .waitingForServer: "Pagado. Se está confirmando.",
        .waitingForRestore: """
        Comprado antes de iniciar sesión. Restaura tus compras para usarlo.
        """,
        .checking: "Comprobando tus compras",

        .days: .plural(one: "{count} día", other: "{count} días"),
        .weeks: .plural(one: "{count} semana", other: "{count} semanas"),
        .months: .plural(one: "{count} mes", other: "{count} meses"),
        .years: .plural(one: "{count} año", other: "{count} años"),
        .lengthAndLength: "{first} y {second}",
        .priceDaily: .plural(one: "{price} al día", other: "{price} cada {count} días"),
        .priceWeekly: .plural(one: "{price} a la semana", other: "{price} cada {count} semanas"),
        .priceMonthly: .plural(one: "{price} al mes", other: "{price} cada {count} meses"),
        .priceYearly: .plural(one: "{price} al año", other: "{price} cada {count} años"),
        .priceForLength: "{price} por {length}",

        .offerFree: "Gratis durante {length}, después {price}",
        .offerPaid: "{offer} durante {length}, después {price}",
        .offerInstead: "{offer} en lugar de {price}",
        .disclosure: """
        {price}. Se renueva automáticamente hasta que la canceles. Cancélala al menos 24 horas \
        antes del final de un periodo, en los ajustes de tu cuenta de Apple.
        """,

        .payments: .plural(one: "{count} pago", other: "{count} pagos"),
        .planTotal: "{total} en total por {length}",
        .planDisclosure: .plural(
            one: """
                {count} pago de {price}, {total} en total. Te comprometes a hacerlo, aunque la \
                canceles antes. Se renueva automáticamente por {length} hasta que la canceles, al \
                menos 24 horas antes del final, en los ajustes de tu cuenta de Apple.
                """,
            other: """
                {count} pagos de {price}, {total} en total. Te comprometes a hacerlos todos, \
                aunque \
                la canceles antes. Se renueva automáticamente por {length} hasta que la canceles, \
                al \
                menos 24 horas antes del final, en los ajustes de tu cuenta de Apple.
                """),

        .restore: "Restaurar compras",
        .restoreQuestion: "¿Restaurar estas compras?",
        .restored: "Tus compras se han restaurado.",
        .restoredNothingNew: "Ya tienes todas tus compras.",
        .restoredNothing: "Esta cuenta de Apple no tiene compras.",
        .restoreRefused: "Estas compras pertenecen a otra cuenta de esta app.",
        .itemHad: "Ya tienes esta compra.",
        .itemLinks: "Esta compra se añadirá a tu cuenta.",
        .itemMoves: "Esta compra se quitará a otra cuenta y se añadirá a la tuya.",
        .itemMovesFrom: "Esta compra se quitará a {owner} y se añadirá a tu cuenta.",
        .itemShares: "Otra cuenta tiene esta compra. La tendrán ambas cuentas.",
        .itemSharesWith: "{owner} tiene esta compra. La tendrán ambas cuentas.",
        .itemRefused: "Esta compra pertenece a otra cuenta y se queda allí.",
        .itemRefusedOf: "Esta compra pertenece a {owner} y se queda allí.",

        .purchasePending: "Tu compra necesita autorización. Llegará aquí por sí sola.",
        .purchaseScheduled: "El cambio se aplicará cuando termine el periodo actual.",
        .purchaseHad: "Ya lo tienes. No se ha cobrado nada.",
        .purchaseOfAnother: "Tu cuenta de Apple ya lo paga para otra cuenta de esta app.",

        .manage: "Gestionar suscripción",
        .termsOfUse: "Condiciones de uso",
        .privacyPolicy: "Privacidad",
        .redeem: "Canjear código",
        .requestRefund: "Solicitar un reembolso",
        .accept: "Continuar",
        .cancel: "Cancelar",
        .close: "Cerrar",
        .done: "Aceptar",
        .tryAgain: "Reintentar",
        .owned: "Ya lo tienes",
        .shopFailed: "No se ha podido cargar la tienda.",
        .timesRemaining: .plural(
            one: "Usos restantes: {count}", other: "Usos restantes: {count}"),
        .consentQuestion: "¿Puede saber el App Store cuánto has usado esta compra?",
        .consentAgree: "Permitir",
        .consentDecline: "No permitir",

        .seats: .plural(one: "{count} plaza", other: "{count} plazas"),
        .seatsAtRenewal: .plural(
            one: "{count} plaza a partir del próximo periodo",
            other: "{count} plazas a partir del próximo periodo"),
        .seatsFree: .plural(one: "{count} libre", other: "{count} libres"),
        .listOfTwo: "{first}, {second}",
        .members: "Miembros",
        .noMembers: "Todavía no se ha unido nadie.",
        .memberUnnamed: "Miembro",
        .joinedOn: "Miembro desde el {date}",
        .seatWaiting: "Espera una plaza libre",
        .invite: "Invitar",
        .inviteLink: "Envía este enlace a una persona. Sirve una vez, hasta el {date}.",
        .invitationOpen: "Invitación válida hasta el {date}",
        .withdrawInvitation: "Retirar",
        .removeMember: "Eliminar",
        .removeQuestion: "¿Eliminar a este miembro? Su acceso termina al momento.",
        .yourSeatWaits: "Ahora mismo no hay ninguna plaza libre para ti.",
        .leaveGroup: "Dejar el grupo",
        .leaveQuestion: "¿Dejar el grupo? Tu acceso termina al momento.",

        .failedForNow: "No ha funcionado. Inténtalo más tarde.",
        .failed: "No ha funcionado. Contacta con el soporte de la app.",
        .serverUnreachable: "No hay conexión. Inténtalo más tarde.",
        .storeUnreachable: "No se puede acceder al App Store. Inténtalo más tarde.",
        .productUnknown: "Esto no está a la venta en este momento.",
        .purchaseNotAllowed: "Las compras no están permitidas en este dispositivo.",
        .offerNotAccepted: "El App Store no ha aceptado esta oferta. No se ha cobrado nada.",
        .paidAndSafe: "Tu pago está a salvo. Tu compra llegará lo antes posible.",
        .chargeUnclear: """
        Aún no se sabe si se te ha cobrado. En ese caso, tu compra llegará por sí sola.
        """,
        .accountOfAnother: """
        Tu cuenta de Apple ya paga otra cuenta de esta app. No se ha cobrado nada.
        """,
        .customerMissing: "Primero inicia sesión.",
        .customerChanged: "Algo ha cambiado entretanto. Inténtalo de nuevo.",
        .walletBalanceTooLow: "No queda suficiente.",
        .contentNotAvailable: "Tienes que comprarlo para poder abrirlo.",
        .seatsNotSold: "No se vende para tantas personas. No se ha cobrado nada.",
        .seatsUnchanged: "Ya tienes ese número de plazas. No se ha cobrado nada.",
        .seatReduction: "Puedes reducir las plazas en el App Store, para el próximo periodo.",
        .seatsTaken: "No hay ninguna plaza libre en este grupo.",
        .invitationUnknown: "Esta invitación ya no es válida.",
        .purchaserNeedsNoSeat: "Tú pagas este grupo y no necesitas una plaza propia.",
    ]
}
