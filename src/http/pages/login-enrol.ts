import { NewCredential } from '../../../routers/schemas/passkeys.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { type LoginTarget, loginTarget } from './login.ts';
import {
  attempt,
  type Caller,
  formField,
  isFormRejected,
  type PageContext,
  type Pages,
  queryParameter,
} from './page-context.ts';
import { formActionSources, loginPath, redirectTo } from './page-layout.ts';
import { inputField } from './parts.ts';
import { passkeyCreation, passkeysElsewhere } from './passkeys.ts';

/** `/login/enrol/`: sets up an authenticator app or a passkey after the password, if a policy requires one. */
export const loginEnrolPages: Pages = {
  'GET /login/enrol/': async (context) => {
    return sendEnrolment(context, await loginTarget(context, queryParameter(context, 'next')));
  },

  'POST /login/enrol/': async (context) => {
    const target = await loginTarget(context, formField(context, 'next'));
    const passkey = readCredential(formField(context, 'passkey'));
    const added = passkey ? { passkey } : { code: formField(context, 'code') };
    const { value, problem } = await context.submit((caller) => caller.sessions.enrol(added));
    if (value?.recovery_codes.length === 0) return redirectTo(context.reply, target.destination);
    if (value) return sendRecoveryCodes(context, target, value.recovery_codes, passkey ? 'passkey' : 'app');
    const isOver = problem.code === 'invalid-challenge';
    // The user has completed the login with another tab.
    const isLoggedIn = (isOver || isFormRejected(problem)) && (await context.currentUser());
    if (isLoggedIn && isOver) return redirectTo(context.reply, target.destination);
    return sendEnrolment(context, target, problem);
  },
};

const sendEnrolment = async (context: PageContext, target: LoginTarget, problem: Problem | null = null) => {
  const { next, destination } = target;
  const { value: enrolment, problem: refusal } = await attempt(() => context.reader.sessions.enrolment({}));
  if (enrolment) {
    const { body, ...parts } = await partsOf(context, target, enrolment, problem);
    return context.sendForm({
      ...parts,
      action: '/login/enrol/',
      problem,
      hidden: { next },
      body: html`${body}
<p class="aside"><a href="${loginPath(next ?? '/')}">Back to login</a></p>`,
      formAction: formActionSources(destination),
    });
  }
  if (refusal.code === 'passkeys-unavailable') throw refusal;
  if (await context.currentUser()) return redirectTo(context.reply, destination);
  return redirectTo(context.reply, loginPath(next ?? '/', problem ? 'late' : undefined));
};

type Enrolment = Awaited<ReturnType<Caller['sessions']['enrolment']>>;
type Parts = { title: string; lead: string; body: Html; hasScript?: boolean };

const partsOf = async (
  context: PageContext,
  { branding, next }: LoginTarget,
  { secret, otpauth_url, passkey }: Enrolment,
  problem: Problem | null,
): Promise<Parts> => {
  if (secret === null || otpauth_url === null)
    return {
      title: 'Add a passkey',
      lead: `To log in to ${branding.client_name}, you need a passkey. Your device, your phone, a security key or your password manager keeps it, and asks for your finger, your face or a PIN.`,
      hasScript: context.passkeysWork(),
      body: context.passkeysWork() ? passkeyCreation(passkey) : passkeysElsewhere(context, next),
    };
  return {
    title: 'Set up a second factor',
    lead: `To log in to ${branding.client_name}, you need an authenticator app in addition to your password, such as the one in your password manager or phone.`,
    body: html`<ol class="steps">
<li><p>Scan this with the app, or <a href="${otpauth_url}">open it in the app</a> on this device.</p>
${await qrCode(otpauth_url)}
<p class="aside">If you cannot scan it, type this secret: <strong class="secret">${inGroups(secret)}</strong></p></li>
<li>${inputField({
      name: 'code',
      label: 'Enter the code that the app shows',
      autocomplete: 'one-time-code',
      inputMode: 'numeric',
      value: '',
      errors: problem?.fields?.code,
      isFocused: problem !== null,
    })}</li>
</ol>
<button>Set up and log in</button>`,
  };
};

/** The new passkey that the script of the page has written into the form; undefined if it is malformed. */
const readCredential = (text: string) => {
  if (text === '') return undefined;
  try {
    return NewCredential.safeParse(JSON.parse(text)).data;
  } catch {
    // Not JSON.
    return undefined;
  }
};

const sendRecoveryCodes = (
  context: PageContext,
  { destination }: LoginTarget,
  codes: readonly string[],
  factor: 'app' | 'passkey',
) =>
  context.sendCard({
    title: 'Save your recovery codes',
    body: html`<p>You are logged in. Without the ${factor}, each of these codes logs you in once. They are shown only now: save them in your
password manager, or print them.</p>
<ul class="codes">${codes.map((code) => html`<li>${code}</li>`)}</ul>
<p><a class="button" href="${destination}">I have saved them: continue</a></p>`,
  });

/** In groups of four, which are easier to type. Apps ignore spaces. */
const inGroups = (secret: string): string => secret.match(/.{1,4}/g)?.join(' ') ?? secret;

/** Modules of white space around a QR code (ISO/IEC 18004). */
const QUIET_ZONE = 4;

/** Black on white in every color scheme: not all apps read it inverted. */
const qrCode = async (text: string): Promise<Html> => {
  // Most installations never show one.
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const modules = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])));
  return html`<svg class="qr" role="img" aria-label="QR code for your authenticator app" viewBox="0 0 ${size} ${size}"
width="200" height="200" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/>
<path d="${modules.join('')}" fill="#000"/></svg>`;
};
