// Creates a passkey during a login, or logs in with one: by a button, and on the login page also from the accounts that the browser offers in the field for the email
// address (conditional UI). `[data-passkey]` states the purpose, where the answer goes, and which pages follow.

const area = document.querySelector('[data-passkey]');
const button = area.querySelector('button');
const message = area.querySelector('[role=alert]');
const { passkey: purpose, answer: answerPath, next, late, options: creation } = area.dataset;

const NOT_USED = 'No passkey was used. Try again, or log in another way.';
const REFUSED = 'This passkey was not accepted. Try again, or log in another way.';
const UNREACHABLE = 'The service could not be reached. Try again.';
const UNSUPPORTED = 'This browser has no passkeys. Log in another way.';
const NOT_CREATED = 'No passkey was created. Try again.';
const EXISTS = 'This device already has a passkey of your account. Log in with it.';
const CREATION_UNSUPPORTED = 'This browser has no passkeys. Use another one.';

/** Options are requested again before they expire, because a form may be open for long. */
const RENEWAL_MS = 15_000;

const post = async (path, body) => {
  const response = await fetch(path, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const content = await response.json();
  if (response.ok) return content;
  throw Object.assign(new Error(content.detail), { code: String(content.type).split(':').at(-1) });
};

/** Creates a passkey, and sends it with the form around the button. */
const create = async () => {
  message.textContent = '';
  try {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(creation));
    const credential = await navigator.credentials.create({ publicKey });
    area.querySelector('[name=passkey]').value = JSON.stringify(credential);
    area.closest('form').submit();
  } catch (error) {
    message.textContent = error.name === 'InvalidStateError' ? EXISTS : NOT_CREATED;
  }
};

/** What happened, in one sentence. Failures of the browser have names, problems of the service have codes. */
const describe = (error) => {
  if (error.code === 'invalid-passkey') return REFUSED;
  if (error instanceof DOMException) return NOT_USED;
  return typeof error.code === 'string' ? error.message : UNREACHABLE;
};

/** A browser waits for one passkey at a time: each attempt replaces the one before. */
let current = new AbortController();

/** Whether the service is checking a passkey: a second answer to the same challenge would be refused. */
let isAnswering = false;

/** @returns `done` if another page follows; `replaced` or `expired` if no passkey was chosen; else `failed` or `refused` */
const logIn = async (mediation) => {
  current.abort('replaced');
  const attempt = new AbortController();
  current = attempt;
  const { signal } = attempt;
  let passkey;
  try {
    const options = await post('/api/v1/session/passkey/options/', { purpose });
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    const expiry = setTimeout(() => attempt.abort('expired'), options.timeout - RENEWAL_MS);
    passkey = await navigator.credentials
      .get({ publicKey, mediation, signal })
      .finally(() => clearTimeout(expiry));
  } catch (error) {
    if (signal.aborted) return signal.reason;
    return fail(error, mediation !== 'conditional', 'failed');
  }
  isAnswering = true;
  try {
    await post(answerPath, { passkey });
    location.assign(next);
    return 'done';
  } catch (error) {
    isAnswering = false;
    return fail(error, true, 'refused');
  }
};

/** Shows a failure, unless the user has not asked for anything yet. */
const fail = (error, isShown, outcome) => {
  if (error.code === 'invalid-challenge') {
    // The time for the whole login is over.
    location.assign(late);
    return 'done';
  }
  if (isShown) message.textContent = describe(error);
  return outcome;
};

/** Lets the browser offer passkeys in the field for the email address. */
const offer = async () => {
  if (purpose !== 'login' || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  const outcome = await logIn('conditional');
  if (outcome === 'expired' || outcome === 'refused') await offer();
};

let isBusy = false;

// The button is never disabled, so that it keeps the focus.
const useButton = async () => {
  if (isBusy || isAnswering) return;
  isBusy = true;
  message.textContent = '';
  const outcome = await logIn('optional');
  if (outcome === 'done') return;
  if (outcome === 'expired') message.textContent = NOT_USED;
  isBusy = false;
  await offer();
};

const press = creation ? create : useButton;

// Browsers from before 2025 cannot read options as JSON.
if (window.PublicKeyCredential?.parseRequestOptionsFromJSON) {
  button.hidden = false;
  // A browser does not focus what was hidden.
  if (button.autofocus) button.focus();
  button.addEventListener('click', () => void press());
  if (!creation) void offer();
} else message.textContent = creation ? CREATION_UNSUPPORTED : UNSUPPORTED;
