// Forms with data-passkey need an authenticator. Their button is off without this file.
'use strict';
(() => {
  const bytes = t => Uint8Array.from(atob(t.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt(0));
  const text = b => btoa(String.fromCharCode(...new Uint8Array(b || []))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  const list = t => t.split(' ').filter(Boolean).map(id => ({ type: 'public-key', id: bytes(id) }));
  const timeout = 300000, userVerification = 'required';
  const why = {
    NotAllowedError: 'Nothing was sent: you ended it, or it took too long. Try again.',
    InvalidStateError: 'This device has a passkey for you already.',
    NotSupportedError: 'This device cannot make a passkey.',
    SecurityError: 'The browser makes no passkeys at this address.',
  };
  const make = d => navigator.credentials.create({ publicKey: {
    challenge: bytes(d.challenge), rp: { id: d.host, name: 'Perennial' },
    user: { id: bytes(d.user), name: d.name, displayName: d.name },
    pubKeyCredParams: [-7, -8, -257].map(alg => ({ type: 'public-key', alg })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification },
    excludeCredentials: list(d.ids), attestation: 'none', timeout,
  } });
  const sign = d => navigator.credentials.get({ publicKey: {
    challenge: bytes(d.challenge), rpId: d.host, allowCredentials: list(d.ids), userVerification, timeout,
  } });
  async function use(form) {
    const d = form.dataset, button = form.querySelector('[type=submit]'), say = form.querySelector('[data-say]');
    button.disabled = true; say.hidden = true;
    try {
      const made = await (d.passkey === 'make' ? make(d) : sign(d)), r = made.response;
      const sent = { credential: made.rawId, client: r.clientDataJSON, attestation: r.attestationObject,
        authenticator: r.authenticatorData, signature: r.signature, user: r.userHandle };
      for (const field of form.querySelectorAll('[data-sent]')) field.value = text(sent[field.name]);
      form.submit();
    } catch (e) {
      say.querySelector('div').textContent = why[e.name] || String(e.message || e);
      say.hidden = button.disabled = false;
    }
  }
  for (const form of document.querySelectorAll('form[data-passkey]')) {
    const d = form.dataset;
    if (!window.PublicKeyCredential) {
      form.querySelector('[data-say] div').textContent = 'This browser has no passkeys.';
      form.querySelector('[data-say]').hidden = false;
      continue;
    }
    form.querySelector('[type=submit]').disabled = false;
    form.addEventListener('submit', e => { e.preventDefault(); use(form); });
    if ('now' in d) use(form);
  }
})();
